// Counts the instructions that a function really executes, by letting a child make one step after the other. x86-64.
//
// The child, forked, runs the calls; the parent stops it at the first instruction of each function that is watched,
// steps until that call has returned, and counts. It shares nothing with src/prove.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace flat::test {

struct Watched {
    std::string name;
    const void *entry = nullptr;
    std::uint64_t calls = 0;
    std::uint64_t most = 0; // instructions in one call, with what it calls inside the code
};

/// An instruction outside of the code, as in a memcpy of another file, does not count.
struct CodeRange {
    std::uintptr_t start = 0, end = 0;
};

/// This system lets nobody trace its own child.
struct CannotTrace : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Runs `calls` in a child and fills `watched`: the calls that it makes between watch(true) and watch(false) count.
/// Throws CannotTrace, or std::runtime_error where the child ends otherwise than by returning from `calls`.
void step_through(std::vector<Watched> &watched, const std::vector<CodeRange> &code,
                  const std::function<void()> &calls);

/// To be called in the child only.
void watch(bool on);

} // namespace flat::test
