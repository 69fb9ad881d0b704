// How the program's output looks on a terminal: its colours and its width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace flat::cli {

enum class Style { plain, strong, faint, good, bad };

/// How to write to one stream.
struct Look {
    bool terminal = false; // a person may be watching
    bool colours = false;  // on a terminal, and NO_COLOR is not set
    std::size_t width = 100;

    /// For standard output or standard error, by descriptor.
    static Look of(int descriptor);

    std::string dress(std::string_view text, Style style) const;
};

/// No table is wider, however wide the terminal is: it must fit a page and a mail.
constexpr std::size_t widest = 100;

/// Wraps words to lines of at most `width` columns. Lines after the first are indented; a longer word has its own line.
std::string wrapped(const std::string &text, std::size_t width);

} // namespace flat::cli
