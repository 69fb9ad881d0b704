#include "folded_stacks.hpp"

#include "flame.hpp"
#include "readable.hpp"
#include "whole_ns.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace flat::audit {

std::string folded_stacks(const Findings &findings) {
    std::map<std::string, double> ns_of;
    for (const StackTime &stack : findings.stacks) {
        std::string line;
        for (const std::string *name : way_to(stack)) {
            std::string word = readable(*name);
            std::ranges::replace(word, ';', ':');
            line += (line.empty() ? "" : ";") + word;
        }
        ns_of[line] += stack.total_ns;
    }
    std::string text;
    for (const auto &[line, ns] : ns_of) text += fmt::format("{} {}\n", line, whole_ns(ns));
    return text;
}

} // namespace flat::audit
