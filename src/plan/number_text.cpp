#include "number_text.hpp"

#include <array>
#include <charconv>
#include <utility>

namespace flat::plan {
namespace {

/// In nanoseconds, the largest first.
constexpr std::array<std::pair<std::string_view, std::uint64_t>, 4> duration_units{
    {{"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}}};

} // namespace

std::optional<std::uint64_t> number_from(std::string_view text) {
    std::uint64_t number = 0;
    const char *end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || stopped != end) return std::nullopt;
    return number;
}

std::optional<std::uint64_t> bytes_from(std::string_view text) {
    constexpr std::array<std::string_view, 3> suffixes{"Kk", "Mm", "Gg"};
    const std::size_t digits = text.find_first_not_of("0123456789");
    if (digits == std::string_view::npos) return number_from(text);
    const std::optional<std::uint64_t> number = number_from(text.substr(0, digits));
    const std::string_view rest = text.substr(digits + 1);
    if (!number || !(rest.empty() || rest == "iB")) return std::nullopt;
    unsigned shift = 0;
    for (std::size_t i = 0; i < suffixes.size(); ++i) {
        if (suffixes[i].find(text[digits]) != std::string_view::npos) shift = static_cast<unsigned>(10 * (i + 1));
    }
    if (shift == 0 || *number > UINT64_MAX >> shift) return std::nullopt;
    return *number << shift;
}

std::optional<std::uint64_t> duration_from(std::string_view text) {
    const std::size_t digits = text.find_first_not_of("0123456789");
    if (digits == std::string_view::npos) return std::nullopt;
    const std::optional<std::uint64_t> number = number_from(text.substr(0, digits));
    std::string_view unit = text.substr(digits);
    if (unit.starts_with(' ')) unit.remove_prefix(1);
    for (const auto &[name, ns] : duration_units) {
        if (number && unit == name && *number <= UINT64_MAX / ns) return *number * ns;
    }
    return std::nullopt;
}

std::string duration_text(std::uint64_t ns) {
    std::size_t unit = 0;
    while (ns % duration_units[unit].second != 0) ++unit;
    return std::to_string(ns / duration_units[unit].second) + std::string(duration_units[unit].first);
}

std::string shown(std::string_view text, std::size_t most) {
    std::string shown;
    for (const char each : text.substr(0, most)) shown += each >= ' ' && each <= '~' ? each : '?';
    return text.size() > most ? shown + "..." : shown;
}

} // namespace flat::plan
