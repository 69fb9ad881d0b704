#include "watched_child.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
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

/// While it exists, signals go to the program.
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
        if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("cannot create a pipe", errno);
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

/// Waits until the tracer closes `gate`, then executes the program. Writes to `trouble` why it could not.
[[noreturn]] void become(const char *program, char *const *words, int gate, int trouble) {
    char nothing = 0;
    while (read(gate, &nothing, 1) < 0 && errno == EINTR) {
    }
    (void)execv(program, words);
    const int error = errno;
    if (write(trouble, &error, sizeof error) < 0) _exit(1);
    _exit(1);
}

/// Whether something is so; `hidden` if it may not be inspected.
enum class Seen { no, yes, hidden };

/// Follows a traced process to its end, through every program that it executes.
class Watch {
  public:
    Watch(pid_t process, std::string library, const LookAtProgram &look)
        : process_(process), library_(std::move(library)), look_(look) {
        traces_ = seize();
    }

    /// Returns the wait status with which the process ended.
    int wait() {
        int status = 0;
        while (traces_) {
            const pid_t changed = waitpid(process_, &status, is_settled() ? __WALL : WNOHANG | __WALL);
            if (changed == process_ && !WIFSTOPPED(status)) return status;
            if (changed == process_)
                go_on(status);
            else if (changed < 0 && errno != EINTR)
                return 0;
            else if (changed == 0)
                look_again();
        }
        while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
        }
        return status;
    }

    /// Also true if the memory may not be inspected.
    bool was_mapped() const { return mapped_ != Seen::no; }

  private:
    bool seize() const { return ptrace(PTRACE_SEIZE, process_, nullptr, PTRACE_O_TRACEEXIT | PTRACE_O_TRACEEXEC) == 0; }

    /// Nothing is left to look for, so waiting for the next stop may block.
    bool is_settled() const { return mapped_ == Seen::yes && !first_thread_ended_; }

    void look_again() {
        if (first_thread_ended_ && seize()) { // another thread has executed another program
            first_thread_ended_ = false;
            become_another();
        }
        if (is_mapped() == Seen::yes) mapped_ = Seen::yes;
        if (!is_settled()) (void)usleep(between_looks);
    }

    Seen is_mapped() const {
        std::ifstream maps(fmt::format("/proc/{}/maps", process_));
        if (!maps) return Seen::hidden;
        for (std::string line; std::getline(maps, line);)
            if (line.ends_with(library_)) return Seen::yes;
        return Seen::no;
    }

    /// The program before no longer matters.
    void become_another() {
        mapped_ = Seen::hidden;
        try {
            look_(process_);
        } catch (...) {
            end();
            throw;
        }
    }

    void end() const {
        int status = 0;
        (void)kill(process_, SIGKILL);
        for (pid_t changed = process_; changed == process_ || errno == EINTR;) {
            changed = waitpid(process_, &status, __WALL);
            if (changed == process_ && !WIFSTOPPED(status)) return;
            if (changed == process_) (void)ptrace(PTRACE_CONT, process_, nullptr, nullptr); // let it exit
        }
    }

    void go_on(int status) {
        const int number = WSTOPSIG(status), event = status >> 16;
        const bool is_stop = number == SIGSTOP || number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
        if (event == PTRACE_EVENT_EXEC) become_another();
        if (event == PTRACE_EVENT_EXIT) {
            if (mapped_ != Seen::yes) mapped_ = is_mapped();
            first_thread_ended_ = true;
        }
        if (event == PTRACE_EVENT_STOP && is_stop)
            (void)ptrace(PTRACE_LISTEN, process_, nullptr, nullptr);
        else // fails only if it has been killed meanwhile, which the next wait reports
            (void)ptrace(PTRACE_CONT, process_, nullptr, event == 0 ? number : 0);
    }

    pid_t process_;
    std::string library_;
    const LookAtProgram &look_;
    bool traces_, first_thread_ended_ = false;
    Seen mapped_ = Seen::hidden; // until it ends: whether it has been seen
};

/// The child, from before it executes the program: it waits until `let_go`, so that whoever follows it misses nothing.
class Started {
  public:
    Started(const std::filesystem::path &program, const std::vector<std::string> &words) : program_(program) {
        std::vector<char *> pointers;
        for (const std::string &word : words) pointers.push_back(const_cast<char *>(word.c_str()));
        pointers.push_back(nullptr);
        process_ = fork();
        if (process_ < 0) fail("cannot create a process", errno);
        if (process_ == 0) {
            gate_.close_end(1);
            become(program.c_str(), pointers.data(), gate_.ends[0], trouble_.ends[1]);
        }
    }

    pid_t process() const { return process_; }

    void let_go() {
        gate_.close_end(1);
        trouble_.close_end(1);
    }

    /// After the child has ended: throws iff it did so because the program could not be executed.
    void require_executed() const {
        int error = 0;
        if (read(trouble_.ends[0], &error, sizeof error) == sizeof error) fail(program_.c_str(), error);
    }

  private:
    std::filesystem::path program_;
    Pipe gate_, trouble_;
    pid_t process_;
};

int exit_status_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

/// Which file a process runs: a program that is executed again is a new one, since its memory is.
std::filesystem::path program_of(pid_t process) {
    std::error_code hidden;
    return std::filesystem::read_symlink(fmt::format("/proc/{}/exe", process), hidden);
}

/// Waits for a process that is not traced, and looks from time to time at what it runs.
class Lookout {
  public:
    Lookout(pid_t process, const LookAtProgram &look)
        : process_(process), look_(look), runs_(program_of(process)),
          handle_(static_cast<int>(syscall(SYS_pidfd_open, process, 0))) {}
    ~Lookout() {
        if (handle_ >= 0) (void)close(handle_);
    }
    Lookout(const Lookout &) = delete;
    Lookout &operator=(const Lookout &) = delete;

    int wait() {
        int status = 0;
        for (;;) {
            const pid_t ended = waitpid(process_, &status, WNOHANG);
            if (ended == process_) return status;
            if (ended < 0 && errno != EINTR) return 0;
            look_again();
            pause();
        }
    }

  private:
    /// A process that just begins another program, or ends, may look like one that `look` refuses: the second look at
    /// it counts.
    void look_again() {
        const std::filesystem::path now = program_of(process_);
        if (now.empty() || now == runs_) return;
        try {
            look_(process_);
            runs_ = now;
        } catch (...) {
            if (std::exchange(refused_, now) != now) return;
            int status = 0;
            (void)kill(process_, SIGKILL);
            while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
            }
            throw;
        }
    }

    /// Until it has ended, or 10 ms.
    void pause() const {
        if (handle_ < 0) {
            (void)usleep(between_looks);
            return;
        }
        pollfd ends{.fd = handle_, .events = POLLIN, .revents = 0};
        (void)poll(&ends, 1, 10);
    }

    pid_t process_;
    const LookAtProgram &look_;
    std::filesystem::path runs_, refused_;
    int handle_; // negative: the kernel has none
};

} // namespace

ChildEnding run_watched(const std::filesystem::path &program, const std::vector<std::string> &words,
                        const std::filesystem::path &library, const LookAtProgram &look) {
    Started child_process(program, words);
    const SignalsOf handed(child_process.process());
    Watch watch(child_process.process(), library.string(), look);
    child_process.let_go();
    const int status = watch.wait();
    child_process.require_executed();
    return {exit_status_of(status), watch.was_mapped()};
}

int run_untraced(const std::filesystem::path &program, const std::vector<std::string> &words, const LookAtProgram &look,
                 const std::function<void(pid_t)> &begin) {
    Started child_process(program, words);
    const SignalsOf handed(child_process.process());
    if (begin) begin(child_process.process());
    Lookout lookout(child_process.process(), look);
    child_process.let_go();
    const int status = lookout.wait();
    child_process.require_executed();
    return exit_status_of(status);
}

} // namespace flat::cli
