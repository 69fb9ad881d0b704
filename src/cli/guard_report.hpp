// What `flatline guard` found, as text and as a document.
#pragma once

#include "terminal.hpp"

#include "guard/findings.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace flat::cli {

/// A run under guard after its end.
struct GuardedRun {
    std::vector<std::string> command{};
    int status = 0;                      // as a shell has it
    std::uint64_t entries = 0;           // of sections, by all threads
    std::uint32_t threads = 0;           // that have entered one
    std::vector<std::string> told{};     // the kinds that could be told on this machine
    std::vector<std::string> untold{};   // the others, each with the reason
    std::vector<std::string> warnings{}; // what makes the findings incomplete or doubtful
    std::vector<guarded::Violation> violations{};
    std::uint64_t suppressed = 0;                   // violations that are not among those
    std::vector<std::string> unused_suppressions{}; // lines of the file that matched nothing
};

std::string guard_text(const GuardedRun &run, const Look &look);

/// "flatline.guard/1".
std::string guard_document(const GuardedRun &run);

} // namespace flat::cli
