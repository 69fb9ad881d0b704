#include "number_text.hpp"

#include <array>
#include <charconv>

namespace flat::plan {

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

std::string shown(std::string_view text, std::size_t most) {
    std::string shown;
    for (const char each : text.substr(0, most)) shown += each >= ' ' && each <= '~' ? each : '?';
    return text.size() > most ? shown + "..." : shown;
}

} // namespace flat::plan
