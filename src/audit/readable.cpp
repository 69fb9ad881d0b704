#include "readable.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <unictype.h>
#include <unistr.h>
#include <uniwidth.h>

namespace flat::audit {
namespace {

struct Character {
    std::string_view bytes;
    ucs4_t number; // U+FFFD for what is not UTF-8
};

/// The first character of `text`, which is not empty.
Character first_of(std::string_view text) {
    static_assert(sizeof(uint8_t) == sizeof(char));
    ucs4_t number = 0;
    const int length = u8_mbtouc(&number, reinterpret_cast<const uint8_t *>(text.data()), text.size());
    return {text.substr(0, static_cast<std::size_t>(length)), number};
}

/// Whether the character ends a line, commands a terminal, or turns the order of what follows around.
bool commands(ucs4_t number) {
    constexpr std::uint32_t kinds =
        UC_CATEGORY_MASK_Cc | UC_CATEGORY_MASK_Cf | UC_CATEGORY_MASK_Zl | UC_CATEGORY_MASK_Zp;
    return uc_is_general_category_withtable(number, kinds);
}

std::size_t columns_of(const Character &character) {
    return static_cast<std::size_t>(std::max(0, uc_width(character.number, "UTF-8")));
}

std::vector<Character> characters_of(std::string_view text) {
    std::vector<Character> all;
    for (; !text.empty(); text.remove_prefix(all.back().bytes.size())) all.push_back(first_of(text));
    return all;
}

} // namespace

std::string readable(std::string_view bytes) {
    constexpr ucs4_t replacement = 0xFFFD;
    std::string text;
    for (const Character &each : characters_of(bytes)) {
        if (each.number == replacement)
            text += "\uFFFD";
        else if (commands(each.number))
            text += '?';
        else
            text += each.bytes;
    }
    return text;
}

std::size_t columns_in(std::string_view text) {
    std::size_t columns = 0;
    for (const Character &each : characters_of(text)) columns += columns_of(each);
    return columns;
}

std::string without_end(std::string_view text, std::size_t columns) {
    if (columns_in(text) <= columns) return std::string(text);
    std::size_t taken = 1;
    std::string kept;
    for (const Character &each : characters_of(text)) {
        taken += columns_of(each);
        if (taken > columns) break;
        kept += each.bytes;
    }
    return kept + "…";
}

std::string without_beginning(std::string_view text, std::size_t columns) {
    std::size_t left = columns_in(text);
    if (left <= columns) return std::string(text);
    while (left >= columns) { // one more for the "…"
        const Character first = first_of(text);
        left -= columns_of(first);
        text.remove_prefix(first.bytes.size());
        if (text.empty()) break;
    }
    return "…" + std::string(text);
}

} // namespace flat::audit
