// What a call leaves behind in the process: threads, open files, mappings.
#ifndef FLATLINE_TESTS_ENGINE_PROCESS_HPP
#define FLATLINE_TESTS_ENGINE_PROCESS_HPP

#include "sanitizers.hpp"

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace test {

struct left_behind {
    std::size_t threads, files, mappings;
    bool operator==(const left_behind &) const = default;
};

inline std::size_t entries_of(const char *folder) {
    std::size_t count = 0;
    for (const auto &entry : std::filesystem::directory_iterator(folder)) count += !entry.path().empty();
    return count;
}

// A sanitizer maps memory of its own at any time, so under one mappings are not counted. ThreadSanitizer has a thread
// of its own from the process's first further thread on.
inline left_behind look_at_process() {
    if (thread_sanitizer) std::thread([] {}).join();
    left_behind found{entries_of("/proc/self/task"), entries_of("/proc/self/fd"), 0};
    if (address_sanitizer || thread_sanitizer) return found;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) found.mappings++;
    return found;
}

// Whether the process is as before. A thread that was joined is in /proc for a moment more.
inline bool is_as_before(const left_behind &before) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!(look_at_process() == before)) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

} // namespace test

#endif
