#include "watched_child.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

namespace flat::cli {
namespace {

constexpr std::array handed_on{SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
constexpr std::array of_the_terminal{SIGINT, SIGQUIT};
constexpr useconds_t between_looks = 1000; // us

volatile sig_atomic_t child = 0;

void hand_on(int number) {
    if (child > 0) (void)kill(child, number);
}

/// While it lives, signals are the program's.
class SignalsOf {
  public:
    explicit SignalsOf(pid_t program) {
        child = program;
        struct sigaction action{};
        action.sa_handler = hand_on;
        action.sa_flags = SA_RESTART;
        for (const int number : handed_on) (void)sigaction(number, &action, nullptr);
        action.sa_handler = SIG_IGN;
        for (const int number : of_the_terminal) (void)sigaction(number, &action, nullptr);
    }
    ~SignalsOf() {
        struct sigaction action{};
        action.sa_handler = SIG_DFL;
        for (const int number : handed_on) (void)sigaction(number, &action, nullptr);
        for (const int number : of_the_terminal) (void)sigaction(number, &action, nullptr);
        child = 0;
    }
    SignalsOf(const SignalsOf &) = delete;
    SignalsOf &operator=(const SignalsOf &) = delete;
};

[[noreturn]] void fail(const char *what, int error) { throw std::system_error(error, std::generic_category(), what); }

struct Pipe {
    std::array<int, 2> ends{};
    Pipe() {
        if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("no pipe could be made", errno);
    }
    ~Pipe() {
        for (const int end : ends) (void)close(end);
    }
    Pipe(const Pipe &) = delete;
    Pipe &operator=(const Pipe &) = delete;
    void close_end(int which) {
        (void)close(ends[static_cast<std::size_t>(which)]);
        ends[static_cast<std::size_t>(which)] = -1;
    }
};

/// Waits until `gate` is closed by one who is tracing by then; tells through `trouble` why there is no program.
[[noreturn]] void become(const char *program, char *const *words, int gate, int trouble) {
    char nothing = 0;
    while (read(gate, &nothing, 1) < 0 && errno == EINTR) {
    }
    (void)execv(program, words);
    const int error = errno;
    if (write(trouble, &error, sizeof error) < 0) _exit(1);
    _exit(1);
}

/// Follows a traced process until the library was seen, or it is about to end.
class Watch {
  public:
    Watch(pid_t process, std::string library) : process_(process), library_(std::move(library)) {
        could_look_ = may_look_ = ptrace(PTRACE_SEIZE, process, nullptr, PTRACE_O_TRACEEXIT) == 0;
    }

    /// Returns the wait status with which the process ended.
    int wait() {
        int status = 0;
        while (may_look_) {
            const pid_t changed = waitpid(process_, &status, WNOHANG | __WALL);
            if (changed == process_ && !WIFSTOPPED(status)) return status;
            if (changed == process_)
                go_on(status);
            else if (changed < 0 && errno != EINTR)
                return 0;
            else
                look();
        }
        while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
        }
        return status;
    }

    /// Where nobody may trace, nothing is known against it.
    bool was_mapped() const { return mapped_ || !could_look_; }

  private:
    void look() {
        if (!mapped_ && is_mapped()) {
            mapped_ = true;
            (void)ptrace(PTRACE_INTERRUPT, process_, nullptr, nullptr); // it can be let go only where it stands
        } else {
            (void)usleep(between_looks);
        }
    }

    bool is_mapped() const {
        std::ifstream maps(fmt::format("/proc/{}/maps", process_));
        for (std::string line; std::getline(maps, line);)
            if (line.ends_with(library_)) return true;
        return false;
    }

    void go_on(int status) {
        const int number = WSTOPSIG(status), event = status >> 16;
        const bool is_stop = number == SIGSTOP || number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
        if (event == PTRACE_EVENT_EXIT && !mapped_) mapped_ = is_mapped();
        if (event == PTRACE_EVENT_STOP && is_stop)
            (void)ptrace(PTRACE_LISTEN, process_, nullptr, nullptr);
        else if (mapped_ && event != PTRACE_EVENT_EXIT)
            may_look_ = ptrace(PTRACE_DETACH, process_, nullptr, event == 0 ? number : 0) != 0;
        else
            (void)ptrace(PTRACE_CONT, process_, nullptr, event == 0 ? number : 0);
    }

    pid_t process_;
    std::string library_;
    bool could_look_, may_look_, mapped_ = false;
};

} // namespace

ChildEnding run_watched(const std::filesystem::path &program, const std::vector<std::string> &words,
                        const std::filesystem::path &library) {
    std::vector<char *> pointers;
    for (const std::string &word : words) pointers.push_back(const_cast<char *>(word.c_str()));
    pointers.push_back(nullptr);
    Pipe gate, trouble;
    const pid_t process = fork();
    if (process < 0) fail("no process could be made", errno);
    if (process == 0) {
        gate.close_end(1);
        become(program.c_str(), pointers.data(), gate.ends[0], trouble.ends[1]);
    }
    const SignalsOf handed(process);
    Watch watch(process, library.string());
    gate.close_end(1);
    trouble.close_end(1);
    const int status = watch.wait();
    int error = 0;
    if (read(trouble.ends[0], &error, sizeof error) == sizeof error) fail(program.c_str(), error);
    return {WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), watch.was_mapped()};
}

} // namespace flat::cli
