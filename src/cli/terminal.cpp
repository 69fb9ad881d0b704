#include "terminal.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace flat::cli {
namespace {

/// The standard's codes for the terminal's own colours, which suit its background.
std::string_view code_of(Style style) {
    switch (style) {
    case Style::plain: return "";
    case Style::strong: return "1";
    case Style::faint: return "2";
    case Style::good: return "32";
    case Style::bad: return "31";
    }
    return "";
}

/// The NO_COLOR convention: set, and not empty.
bool colours_unwanted() {
    const char *value = std::getenv("NO_COLOR");
    return value != nullptr && *value != '\0';
}

} // namespace

Look Look::of(int descriptor) {
    Look look;
    look.terminal = isatty(descriptor) == 1;
    look.colours = look.terminal && !colours_unwanted();
    winsize size{};
    if (look.terminal && ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) look.width = size.ws_col;
    return look;
}

std::string Look::dress(std::string_view text, Style style) const {
    if (!colours || style == Style::plain) return std::string(text);
    return fmt::format("\x1b[{}m{}\x1b[0m", code_of(style), text);
}

std::string wrapped(const std::string &text, std::size_t width) {
    std::string out;
    std::size_t column = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        const std::string word = text.substr(at, end - at);
        if (column > 0 && column + 1 + word.size() > width) {
            out += "\n  ";
            column = 2;
        } else if (column > 0) {
            out += ' ';
            ++column;
        }
        out += word;
        column += word.size();
        at = end + 1;
    }
    return out + "\n";
}

} // namespace flat::cli
