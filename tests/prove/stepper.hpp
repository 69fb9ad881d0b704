// Counts the instructions that a function executes, by single-stepping a child process. x86-64 only.
//
// The forked child runs the calls. The parent stops it at the first instruction of each watched function, steps until
// the call has returned, and counts the steps. It shares no code with src/prove.
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
    std::uint64_t most = 0; // instructions in one call, including callees inside the code
};

/// Instructions outside this range, such as those of a memcpy in another file, do not count.
struct CodeRange {
    std::uintptr_t start = 0, end = 0;
};

/// This system does not let a process trace its child.
struct CannotTrace : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Runs `calls` in a child and fills `watched`. Only calls between watch(true) and watch(false) count. A call of a
/// function that begins at an address in `apart` counts none of its instructions, unless it is the watched call itself.
/// Throws CannotTrace, or std::runtime_error if the child ends without returning from `calls`.
void step_through(std::vector<Watched> &watched, const std::vector<CodeRange> &code, const std::function<void()> &calls,
                  const std::vector<std::uintptr_t> &apart = {});

/// Must be called in the child only.
void watch(bool on);

} // namespace flat::test
