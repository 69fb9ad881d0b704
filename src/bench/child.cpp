#include "child.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace flat::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array watched{SIGINT, SIGTERM, SIGHUP};
constexpr int status_not_run = 127; // as a shell reports that there is no such program

volatile std::sig_atomic_t arrived = 0;

void remember(int) { arrived = 1; }

[[noreturn]] void fail(const char *what) { throw std::system_error(errno, std::generic_category(), what); }

struct Pipe {
    int ends[2];

    Pipe() {
        if (pipe2(ends, O_CLOEXEC) != 0) fail("cannot make a pipe for the driver");
    }
    ~Pipe() {
        shut(0);
        shut(1);
    }
    Pipe(const Pipe &) = delete;
    Pipe &operator=(const Pipe &) = delete;

    void shut(int end) {
        if (ends[end] >= 0) close(ends[end]);
        ends[end] = -1;
    }
};

/// A child process. The destructor ends it and waits for it, unless that is done already.
class Process {
  public:
    explicit Process(pid_t id) : id_(id) {}
    ~Process() {
        if (id_ > 0) {
            kill(id_, SIGKILL);
            wait();
        }
    }
    Process(const Process &) = delete;
    Process &operator=(const Process &) = delete;

    void end() const { kill(id_, SIGKILL); }

    int wait() {
        int status = 0;
        while (waitpid(id_, &status, 0) < 0 && errno == EINTR) {
        }
        id_ = 0;
        return status;
    }

  private:
    pid_t id_;
};

std::vector<char *> pointers_to(const std::vector<std::string> &texts) {
    std::vector<char *> pointers;
    for (const std::string &text : texts) pointers.push_back(const_cast<char *>(text.c_str()));
    pointers.push_back(nullptr);
    return pointers;
}

/// Runs between fork and exec: system calls only.
[[noreturn]] void become(const char *program, char *const *arguments, char *const *environment, int output, int errors,
                         const sigset_t &mask, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int nothing = open("/dev/null", O_RDONLY);
    if (getppid() == parent && nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
        dup2(errors, STDERR_FILENO) >= 0 && sigprocmask(SIG_SETMASK, &mask, nullptr) == 0)
        execve(program, arguments, environment);
    _exit(status_not_run);
}

pid_t start(const Command &command, int output, int errors, const sigset_t &mask) {
    std::vector<std::string> texts{command.program.string()};
    texts.insert(texts.end(), command.arguments.begin(), command.arguments.end());
    const std::vector<char *> arguments = pointers_to(texts);
    const std::vector<char *> environment = pointers_to(command.environment);
    const pid_t parent = getpid();
    const pid_t id = fork();
    if (id < 0) fail("cannot start the driver");
    if (id == 0) become(texts.front().c_str(), arguments.data(), environment.data(), output, errors, mask, parent);
    return id;
}

/// Reads the available bytes; false iff the other side has closed.
bool read_some(int from, std::string &into) {
    std::array<char, 1 << 16> buffer;
    const ssize_t bytes = read(from, buffer.data(), buffer.size());
    if (bytes < 0) return errno == EINTR;
    into.append(buffer.data(), static_cast<std::size_t>(bytes));
    return bytes > 0;
}

/// Reads both pipes to their ends; false iff the deadline passed before.
bool drain(Pipe &output, Pipe &errors, Ending &ending, Clock::time_point deadline, const SignalWatch &signals) {
    while (output.ends[0] >= 0 || errors.ends[0] >= 0) {
        const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - Clock::now()).count();
        if (left <= 0) return false;
        const timespec wait{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
        std::array<pollfd, 2> both{pollfd{output.ends[0], POLLIN, 0}, pollfd{errors.ends[0], POLLIN, 0}};
        const int ready = ppoll(both.data(), both.size(), &wait, &signals.open_mask());
        signals.check();
        if (ready < 0 && errno != EINTR) fail("cannot wait for the driver");
        if (ready <= 0) continue;
        if (both[0].revents != 0 && !read_some(output.ends[0], ending.output)) output.shut(0);
        if (both[1].revents != 0 && !read_some(errors.ends[0], ending.complaint)) errors.shut(0);
    }
    return true;
}

} // namespace

SignalWatch::SignalWatch() {
    sigset_t blocked;
    sigemptyset(&blocked);
    arrived = 0;
    for (std::size_t i = 0; i < watched.size(); ++i) {
        struct sigaction action{};
        action.sa_handler = remember;
        sigaction(watched[i], &action, &actions_[i]);
        sigaddset(&blocked, watched[i]);
    }
    sigprocmask(SIG_BLOCK, &blocked, &before_);
}

SignalWatch::~SignalWatch() {
    sigprocmask(SIG_SETMASK, &before_, nullptr);
    for (std::size_t i = 0; i < watched.size(); ++i) sigaction(watched[i], &actions_[i], nullptr);
}

void SignalWatch::check() const {
    if (arrived != 0) throw Interrupted();
}

Ending run_child(const Command &command, const SignalWatch &signals) {
    signals.check();
    Ending ending;
    Pipe output;
    Pipe errors;
    Process process(start(command, output.ends[1], errors.ends[1], signals.open_mask()));
    output.shut(1);
    errors.shut(1);
    ending.timed_out = !drain(output, errors, ending, Clock::now() + command.limit, signals);
    if (ending.timed_out) process.end();
    ending.wait_status = process.wait();
    ending.complaint.resize(std::min(ending.complaint.size(), ending.complaint.find('\n')));
    return ending;
}

} // namespace flat::bench
