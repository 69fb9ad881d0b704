#include "suppressions.hpp"

#include <algorithm>
#include <optional>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>
#include <fnmatch.h>

namespace flat::guarded {
namespace {

std::string trimmed(const std::string &text) {
    const std::size_t first = text.find_first_not_of(" \t\r"), last = text.find_last_not_of(" \t\r");
    return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

std::optional<guard_kind> kind_named(const std::string &word) {
    for (int i = 0; i < GUARD_KINDS; i++)
        if (word_of(static_cast<guard_kind>(i)) == word) return static_cast<guard_kind>(i);
    return std::nullopt;
}

std::string all_kinds() {
    std::string kinds = word_of(static_cast<guard_kind>(0));
    for (int i = 1; i < GUARD_KINDS; i++)
        kinds += (i + 1 < GUARD_KINDS ? ", " : " or ") + word_of(static_cast<guard_kind>(i));
    return kinds;
}

/// A function's name in front of its parameters, which may have parentheses themselves.
std::string without_parameters(const std::string &function) {
    const std::size_t end = function.rfind(')');
    if (end == std::string::npos) return function;
    int depth = 0;
    for (std::size_t i = end + 1; i-- > 0;) {
        if (function[i] == ')') depth++;
        if (function[i] == '(' && --depth == 0) return function.substr(0, i);
    }
    return function;
}

bool has(const std::string &function, const std::string &pattern) {
    return fnmatch(pattern.c_str(), function.c_str(), 0) == 0 ||
           fnmatch(pattern.c_str(), without_parameters(function).c_str(), 0) == 0;
}

} // namespace

Suppressions::Suppressions(const std::string &text, const std::string &name) {
    std::istringstream in(text);
    int number = 0;
    for (std::string line; std::getline(in, line);) {
        number++;
        line = trimmed(line.substr(0, line.find('#')));
        if (line.empty()) continue;
        const std::size_t colon = line.find(':');
        const std::optional<guard_kind> kind = kind_named(trimmed(line.substr(0, colon)));
        const std::string function = colon == std::string::npos ? "" : trimmed(line.substr(colon + 1));
        if (!kind || function.empty())
            throw std::runtime_error(fmt::format("{}:{}: this is no suppression: write KIND:FUNCTION, where KIND is {}",
                                                 name, number, all_kinds()));
        lines_.push_back({*kind, function});
    }
}

bool Suppressions::matches(const Violation &violation) {
    bool matched = false;
    for (Line &line : lines_) {
        if (line.kind != violation.kind) continue;
        if (std::none_of(violation.stack.begin(), violation.stack.end(),
                         [&](const symbols::SourceFrame &frame) { return has(frame.function, line.function); }))
            continue;
        line.used = matched = true;
    }
    return matched;
}

std::vector<std::string> Suppressions::unused() const {
    std::vector<std::string> found;
    for (const Line &line : lines_)
        if (!line.used) found.push_back(word_of(line.kind) + ":" + line.function);
    return found;
}

} // namespace flat::guarded
