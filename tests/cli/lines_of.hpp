// What tests look for in the text of a table.
#pragma once

#include <string>

namespace test {

// The first line from `from` on that contains `part`; "" iff none does.
inline std::string line_with(const std::string &part, const std::string &text, std::size_t from = 0) {
    const std::size_t at = text.find(part, from);
    if (at == std::string::npos) return "";
    const std::size_t begin = text.rfind('\n', at) + 1;
    return text.substr(begin, text.find('\n', at) - begin);
}

inline bool has(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

} // namespace test
