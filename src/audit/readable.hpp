// Names of functions, files and threads may hold any byte. What is shown of them is one line of UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace flat::audit {

/// The same text, with U+FFFD for what is not UTF-8, and '?' for characters that end a line, command a terminal, or
/// turn the order of what follows around.
std::string readable(std::string_view bytes);

/// The columns that readable text takes on a terminal.
std::size_t columns_in(std::string_view text);

/// Readable text of at most `columns` columns, which is at least 1: if it is longer, "…" stands for its end or its
/// beginning.
std::string without_end(std::string_view text, std::size_t columns);
std::string without_beginning(std::string_view text, std::size_t columns);

} // namespace flat::audit
