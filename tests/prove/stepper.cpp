#include "stepper.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <set>

#include <sched.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

namespace flat::test {
namespace {

constexpr long breakpoint = 0xcc;             // int3
constexpr std::uint64_t most_steps = 100'000; // in one call; a call with more is waiting
constexpr int watch_signal = SIGUSR1, ignore_signal = SIGUSR2;

[[noreturn]] void fail(const std::string &what) { throw std::runtime_error("stepper: " + what); }

class Stepper {
  public:
    Stepper(pid_t child, std::vector<Watched> &watched, const std::vector<CodeRange> &code,
            const std::vector<std::uintptr_t> &apart)
        : child_(child), watched_(watched), code_(code), apart_(apart) {
        for (const Watched &each : watched) first_words_.push_back(word_at(each.entry));
    }

    /// Runs until the child has ended. Returns the child's exit status.
    int run() {
        int signal = 0;
        for (;;) {
            request(PTRACE_CONT, signal);
            signal = 0;
            const int status = wait_for_it();
            if (WIFEXITED(status)) return WEXITSTATUS(status);
            if (WIFSIGNALED(status)) fail(std::string("the child was ended by: ") + strsignal(WTERMSIG(status)));
            const int stopped_by = WSTOPSIG(status);
            if (stopped_by == watch_signal)
                place_breakpoints(true);
            else if (stopped_by == ignore_signal)
                place_breakpoints(false);
            else if (stopped_by == SIGTRAP)
                count_call();
            else
                signal = stopped_by;
        }
    }

  private:
    void request(__ptrace_request what, int signal) {
        if (ptrace(what, child_, nullptr, signal) != 0) fail(std::strerror(errno));
    }

    int wait_for_it() {
        int status = 0;
        if (waitpid(child_, &status, 0) != child_) fail(std::strerror(errno));
        return status;
    }

    long word_at(const void *address) {
        errno = 0;
        const long word = ptrace(PTRACE_PEEKTEXT, child_, address, nullptr);
        if (errno != 0) fail(std::strerror(errno));
        return word;
    }

    void place_breakpoint(std::size_t at, bool on) {
        const long word = on ? (first_words_[at] & ~0xffL) | breakpoint : first_words_[at];
        if (ptrace(PTRACE_POKETEXT, child_, watched_[at].entry, word) != 0) fail(std::strerror(errno));
    }

    void place_breakpoints(bool on) {
        for (std::size_t at = 0; at < watched_.size(); at++) place_breakpoint(at, on);
    }

    user_regs_struct registers() {
        user_regs_struct found{};
        if (ptrace(PTRACE_GETREGS, child_, nullptr, &found) != 0) fail(std::strerror(errno));
        return found;
    }

    /// Returns the index of the function that begins at the address, or watched_.size() if none does.
    std::size_t beginning_at(std::uintptr_t address) const {
        const auto found = std::find_if(watched_.begin(), watched_.end(), [=](const Watched &each) {
            return reinterpret_cast<std::uintptr_t>(each.entry) == address;
        });
        return static_cast<std::size_t>(found - watched_.begin());
    }

    bool counts(std::uintptr_t address) const {
        return std::any_of(code_.begin(), code_.end(),
                           [=](const CodeRange &each) { return address >= each.start && address < each.end; });
    }

    bool is_apart(std::uintptr_t address) const { return std::ranges::find(apart_, address) != apart_.end(); }

    std::uintptr_t return_address(const user_regs_struct &at_entry) {
        return static_cast<std::uintptr_t>(word_at(reinterpret_cast<const void *>(at_entry.rsp)));
    }

    /// Steps from a function's first instruction until the call has returned, and counts. Nested calls of watched
    /// functions are part of the call and do not count as calls themselves, but for those that are apart: they count as
    /// calls alone.
    user_regs_struct step_through_call(user_regs_struct now, std::size_t at, std::set<std::size_t> &begun) {
        const std::uintptr_t back_to = return_address(now);
        const std::uintptr_t stack_after = now.rsp + sizeof(std::uintptr_t);
        std::uintptr_t resumes_at = 0, stack_at_resume = 0; // after a call that is apart; 0: in none
        std::uint64_t count = 0, made = 0;
        while (now.rip != back_to || now.rsp != stack_after) {
            const std::size_t begins = beginning_at(now.rip);
            if (begins != watched_.size() && begun.insert(begins).second) place_breakpoint(begins, false);
            if (now.rip == resumes_at && now.rsp == stack_at_resume) resumes_at = 0;
            if (made != 0 && resumes_at == 0 && is_apart(now.rip)) {
                if (begins != watched_.size()) {
                    now = step_through_call(now, begins, begun);
                    continue;
                }
                resumes_at = return_address(now);
                stack_at_resume = now.rsp + sizeof(std::uintptr_t);
            }
            count += resumes_at == 0 && counts(now.rip) ? 1U : 0U;
            if (++made > most_steps) fail(watched_[at].name + " did not end");
            request(PTRACE_SINGLESTEP, 0);
            const int status = wait_for_it();
            if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
                fail("a step of " + watched_[at].name + " did not end");
            now = registers();
        }
        watched_[at].calls++;
        watched_[at].most = std::max(watched_[at].most, count);
        return now;
    }

    /// The call of a watched function at whose first instruction the breakpoint is.
    void count_call() {
        user_regs_struct now = registers();
        now.rip -= 1; // back to the breakpoint
        const std::size_t at = beginning_at(now.rip);
        if (at == watched_.size()) fail("a trap elsewhere than where a watched function begins");
        if (ptrace(PTRACE_SETREGS, child_, nullptr, &now) != 0) fail(std::strerror(errno));
        std::set<std::size_t> begun;
        step_through_call(now, at, begun);
        for (const std::size_t each : begun) place_breakpoint(each, true);
    }

    pid_t child_;
    std::vector<Watched> &watched_;
    const std::vector<CodeRange> &code_;
    const std::vector<std::uintptr_t> &apart_;
    std::vector<long> first_words_;
};

/// Parent and child take turns. On one processor this is three times as fast.
void stay_on_this_processor() {
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(static_cast<unsigned>(sched_getcpu()), &here);
    (void)sched_setaffinity(0, sizeof(here), &here);
}

} // namespace

void watch(bool on) { (void)std::raise(on ? watch_signal : ignore_signal); }

void step_through(std::vector<Watched> &watched, const std::vector<CodeRange> &code, const std::function<void()> &calls,
                  const std::vector<std::uintptr_t> &apart) {
    stay_on_this_processor();
    const pid_t child = fork();
    if (child < 0) fail(std::strerror(errno));
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
        (void)std::raise(SIGSTOP);
        calls();
        _exit(0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) throw CannotTrace("a child cannot be traced here");
    if (ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_EXITKILL) != 0) fail(std::strerror(errno));
    const int ended = Stepper(child, watched, code, apart).run();
    if (ended != 0) fail("the child ended with status " + std::to_string(ended));
}

} // namespace flat::test
