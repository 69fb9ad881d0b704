// An engine as `flatline top` shows it: lines of a screen, or of a document.
#pragma once

#include "engine_page.hpp"
#include "terminal.hpp"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace flat::cli {

/// Parts of a line, each in one style. All text is ASCII: a character is a column.
using StyledLine = std::vector<std::pair<std::string, Style>>;

std::size_t columns_of(const StyledLine &line);

/// The name of a function by its address in the process that is looked at.
using NameOfFunction = std::function<std::string(std::uint64_t address)>;

/// An engine, and how it was at the look before, if there was one.
struct EngineLook {
    EnginePage now;
    std::optional<EnginePage> before;
    double seconds = 0; // between the two
};

/// The lines for one engine, none wider than `width` columns, which is at least 80. Without a look before, tails and
/// rates of submitters are those since the engine's start.
std::vector<StyledLine> top_lines(const EngineLook &look, const NameOfFunction &name_of, std::size_t width);

/// "1.2 us", of at most 7 columns.
std::string short_time(std::uint64_t ns);

/// "1.2k", of at most 5 columns.
std::string short_count(double count);

/// The same engines as a document, flatline.top/1.
std::string top_document(std::uint64_t process, const std::string &program, const std::vector<EngineLook> &engines,
                         const NameOfFunction &name_of);

} // namespace flat::cli
