#include "command_words.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

namespace flat::cli {
namespace {

constexpr std::array<std::string_view, 3> verbs_with_command{"audit", "guard", "run"};

bool is_list(std::string_view word) { return word.empty() || (word.front() == '[' && word.back() == ']'); }

} // namespace

CommandWords::CommandWords(int argc, char **argv) : own_(argv, argv + argc) {
    splits_ = argc > 1 && std::ranges::find(verbs_with_command, argv[1]) != verbs_with_command.end();
    if (splits_) {
        const auto dashes = std::ranges::find(own_, std::string_view("--"));
        if (dashes != own_.end()) behind_.assign(dashes + 1, own_.end());
        own_.erase(dashes, own_.end());
        has_list_ = std::ranges::any_of(own_, [](const char *word) { return is_list(word); });
    }
    own_.push_back(nullptr);
}

void CommandWords::complete(std::vector<std::string> &command) const {
    if (!splits_) return;
    if (!command.empty() && !behind_.empty())
        throw std::runtime_error(
            fmt::format("\"{}\" stands in front of --: put the program and its arguments behind it", command.front()));
    if (!command.empty() && has_list_)
        throw std::runtime_error("an argument is empty or in brackets: put -- in front of the program");
    if (!behind_.empty()) command = behind_;
}

} // namespace flat::cli
