// A call that runs in its own process and can be stopped after any instruction, like a thread that is suspended there.
// The process is forked, so that it sees everything at the same addresses. It shares only memory that was mapped as
// shared with the test. x86-64 only.
#pragma once

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <set>
#include <stdexcept>
#include <string>

#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

namespace test {

/// This system does not let a process trace its child.
struct cannot_trace : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Instructions, by their addresses: those that calls have executed, and those before which a call was stopped. Where
/// calls of one kind are stopped after one instruction more each time, the first are all among the second, unless the
/// calls do not take the same way.
struct instructions {
    std::set<std::uintptr_t> executed, stopped_before;
};

class stopped_call {
  public:
    /// Stops before the first instruction of `function(first, second)`, which returns a number from 0 to 127.
    template <class First, class Second>
    stopped_call(int (*function)(First *, Second *), First *first, Second *second) : child_(fork()) {
        if (child_ < 0) fail("no process");
        auto *volatile call = function; // prevents inlining
        if (child_ == 0) {
            if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(255);
            (void)std::raise(SIGSTOP);
            _exit(call(first, second));
        }
        const int status = wait_for_it();
        if (!WIFSTOPPED(status)) throw cannot_trace("a child cannot be traced here");
        if (ptrace(PTRACE_SETOPTIONS, child_, nullptr, PTRACE_O_EXITKILL) != 0) fail("no option");
        while (registers().rip != reinterpret_cast<std::uintptr_t>(function)) step_once();
        stack_after_ = registers().rsp + sizeof(std::uintptr_t);
    }
    stopped_call(const stopped_call &) = delete;
    stopped_call &operator=(const stopped_call &) = delete;
    ~stopped_call() {
        if (child_ <= 0) return;
        (void)kill(child_, SIGKILL);
        (void)waitpid(child_, nullptr, 0);
    }

    /// Executes one instruction. Returns false if it was the last one and the call has returned.
    bool step() {
        step_once();
        return registers().rsp != stack_after_;
    }

    /// Executes `count` instructions, or as many as are left. Returns false iff the call returned earlier.
    bool step(unsigned count) {
        while (count > 0 && step()) count--;
        return count == 0;
    }

    /// The same, and adds to `seen`.
    bool step(unsigned count, instructions &seen) {
        bool goes_on = true;
        for (; count > 0 && goes_on; count--) {
            seen.executed.insert(registers().rip);
            goes_on = step();
        }
        if (goes_on) seen.stopped_before.insert(registers().rip);
        return goes_on;
    }

    /// Lets the call run to its end, and returns its result.
    int finish() {
        if (ptrace(PTRACE_CONT, child_, nullptr, nullptr) != 0) fail("cannot go on");
        const int status = wait_for_it();
        if (!WIFEXITED(status)) fail("did not end");
        child_ = 0;
        return WEXITSTATUS(status);
    }

  private:
    [[noreturn]] static void fail(const std::string &what) {
        throw std::runtime_error("stopped call: " + what + ": " + std::strerror(errno));
    }

    int wait_for_it() {
        int status = 0;
        if (waitpid(child_, &status, 0) != child_) fail("cannot wait");
        return status;
    }

    user_regs_struct registers() {
        user_regs_struct found{};
        if (ptrace(PTRACE_GETREGS, child_, nullptr, &found) != 0) fail("no registers");
        return found;
    }

    void step_once() {
        if (ptrace(PTRACE_SINGLESTEP, child_, nullptr, nullptr) != 0) fail("cannot step");
        const int status = wait_for_it();
        if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP) fail("a step did not end");
    }

    pid_t child_;
    std::uintptr_t stack_after_ = 0;
};

} // namespace test
