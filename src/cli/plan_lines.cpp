#include "plan_lines.hpp"

#include "bench/catalogue.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace flat::cli {

std::string size_text(std::uint64_t bytes) {
    constexpr std::array<std::string_view, 3> units{"KiB", "MiB", "GiB"};
    std::size_t unit = 0;
    while (unit < units.size() && bytes >= 1024 && bytes % 1024 == 0) {
        bytes /= 1024;
        ++unit;
    }
    return fmt::format("{} {}", bench::grouped(bytes), unit == 0 ? "B" : units[unit - 1]);
}

double percent_of(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string about(std::string_view what, const std::string &sentence, const Look &look, Style style) {
    constexpr std::size_t label = 11;
    const std::size_t width = std::clamp<std::size_t>(look.width, 50, widest) - label;
    constexpr char bond = '\x1f'; // between a number and its %, which stay on one line
    std::string text = sentence;
    for (std::size_t at = text.find(" %"); at != std::string::npos; at = text.find(" %", at)) text[at] = bond;
    text = wrapped(text, width);
    text.pop_back();
    std::ranges::replace(text, bond, ' ');
    for (std::size_t at = text.find("\n  "); at != std::string::npos; at = text.find("\n  ", at + label))
        text.replace(at, 3, "\n" + std::string(label, ' '));
    return look.dress(fmt::format("{:<{}}", what, label), Style::faint) + look.dress(text, style) + "\n";
}

std::string section(const std::string &title, const std::string &text, const Look &look) {
    return text.empty() ? "" : look.dress(title, Style::strong) + "\n" + text + "\n";
}

} // namespace flat::cli
