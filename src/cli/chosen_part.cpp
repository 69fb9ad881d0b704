#include "chosen_part.hpp"

#include "plan/number_text.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace flat::cli {
namespace {

std::string_view name_of(const audit::ThreadEntry &entry) {
    return {entry.name, strnlen(entry.name, sizeof entry.name)};
}

bool is_of(const audit::ThreadEntry &entry, audit::ProgramRun program) {
    return audit::ProgramRun{entry.process, entry.program} == program;
}

} // namespace

std::string thread_name(const audit::ThreadEntry &entry) {
    return fmt::format("{} ({})", name_of(entry), entry.thread);
}

ChosenPart::ChosenPart(const audit::History &history, audit::ProgramRun program, PartNames names)
    : names_(std::move(names)) {
    std::map<std::int32_t, std::uint32_t> first; // serial number by the system's
    for (const auto &[serial, entry] : history.threads()) {
        if (!is_of(entry, program)) continue;
        same_[serial] = first.try_emplace(entry.thread, serial).first->second;
        threads_.insert({entry.process, entry.thread});
    }
    if (!names_.thread.empty()) thread_ = thread_named(history, program);
}

std::uint32_t ChosenPart::thread_named(const audit::History &history, audit::ProgramRun program) const {
    const std::string &wanted = names_.thread;
    std::set<std::uint32_t> found;
    for (const auto &[serial, entry] : history.threads())
        if (is_of(entry, program) &&
            (wanted == name_of(entry) || wanted == std::to_string(entry.thread) || wanted == thread_name(entry)))
            found.insert(same_thread(serial));
    if (found.size() == 1) return *found.begin();
    if (found.empty())
        throw std::runtime_error(fmt::format("--thread: {} is no thread of the recorded program: flatline plan without "
                                             "--thread lists its threads",
                                             plan::shown(wanted)));
    throw std::runtime_error(fmt::format("--thread: {} threads are called {}: give the number of one of them",
                                         found.size(), plan::shown(wanted)));
}

std::string ChosenPart::chosen_thread(const audit::History &history) const {
    return thread_ ? thread_name(history.threads().at(*thread_)) : "";
}

void ChosenPart::require_requests(const std::vector<std::string> &phases, std::uint64_t requests) const {
    if (!names_.phase.empty() && std::ranges::find(phases, names_.phase) == phases.end()) {
        std::vector<std::string> known;
        for (const std::string &name : phases) known.push_back(plan::shown(name));
        throw std::runtime_error(fmt::format("--phase: the recording has no phase {}: it has {}",
                                             plan::shown(names_.phase), fmt::join(known, ", ")));
    }
    if (requests > 0) return;
    if (names_.is_whole())
        throw std::runtime_error("the recording has no allocation: record a program that allocates by malloc or "
                                 "operator new");
    throw std::runtime_error(
        "nothing was allocated in what was chosen of the recording: choose another phase or thread");
}

} // namespace flat::cli
