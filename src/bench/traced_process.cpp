#include "traced_process.hpp"

#include <array>
#include <cerrno>
#include <set>
#include <system_error>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace flat::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int status_not_run = 127;                             // as a shell reports that there is no such program
constexpr auto between_attempts = std::chrono::milliseconds(5); // between attempts to connect to a server that is not
                                                                // ready
constexpr int wake_up_ms = 200;                                 // not critical: an event wakes the loop earlier

[[noreturn]] void fail(const char *what) { throw std::system_error(errno, std::generic_category(), what); }

double seconds_of(Clock::duration time) { return std::chrono::duration<double>(time).count(); }
double seconds_of(const timeval &time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

class Descriptor {
  public:
    explicit Descriptor(int number = -1) : number_(number) {}
    ~Descriptor() { reset(); }
    Descriptor(const Descriptor &) = delete;
    Descriptor &operator=(const Descriptor &) = delete;

    int number() const { return number_; }
    void reset(int number = -1) {
        if (number_ >= 0) close(number_);
        number_ = number;
    }

  private:
    int number_;
};

/// While an object exists, the end or a stop of a child is noticed only in ppoll, so that none is missed.
class ChildWatch {
  public:
    ChildWatch() {
        struct sigaction action{};
        action.sa_handler = [](int) {};
        sigaction(SIGCHLD, &action, &action_);
        sigset_t blocked;
        sigemptyset(&blocked);
        sigaddset(&blocked, SIGCHLD);
        sigprocmask(SIG_BLOCK, &blocked, &mask_);
    }
    ~ChildWatch() {
        sigprocmask(SIG_SETMASK, &mask_, nullptr);
        sigaction(SIGCHLD, &action_, nullptr);
    }
    ChildWatch(const ChildWatch &) = delete;
    ChildWatch &operator=(const ChildWatch &) = delete;

  private:
    struct sigaction action_{};
    sigset_t mask_{};
};

std::vector<char *> pointers_to(const std::vector<std::string> &texts) {
    std::vector<char *> pointers;
    for (const std::string &text : texts) pointers.push_back(const_cast<char *>(text.c_str()));
    pointers.push_back(nullptr);
    return pointers;
}

/// Everything that is needed between fork and exec, where only system calls may be made.
struct Launch {
    std::vector<std::string> words, variables;
    std::vector<char *> arguments, environment;
    std::string folder;
    const char *output, *errors;
    cpu_set_t cpus{};
    bool pinned = false;
    sigset_t mask{};
    pid_t parent = getpid();

    Launch(const std::filesystem::path &program, const std::vector<std::string> &given,
           const std::vector<std::string> &all_variables, const std::filesystem::path &where, const char *output_file,
           const char *errors_file, const sigset_t &open_mask)
        : words{program.string()}, variables(all_variables), folder(where.string()), output(output_file),
          errors(errors_file), mask(open_mask) {
        words.insert(words.end(), given.begin(), given.end());
        arguments = pointers_to(words);
        environment = pointers_to(variables);
    }
    Launch(const Launch &) = delete;
    Launch &operator=(const Launch &) = delete;

    void pin(int cpu) {
        CPU_ZERO(&cpus);
        CPU_SET(static_cast<std::size_t>(cpu), &cpus);
        pinned = true;
    }

    /// Waits until the parent closes the other end of `gate`. If the process is to be traced, it is by then.
    [[noreturn]] void become(int gate) const {
        char nothing = 0;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (read(gate, &nothing, 1) < 0 && errno == EINTR) {
        }
        constexpr int creating = O_WRONLY | O_CREAT | O_TRUNC;
        const bool ready = getppid() == parent && chdir(folder.c_str()) == 0 && redirect("/dev/null", O_RDONLY, 0) &&
                           redirect(output, creating, 1) && redirect(errors, creating, 2) &&
                           (!pinned || sched_setaffinity(0, sizeof cpus, &cpus) == 0) &&
                           sigprocmask(SIG_SETMASK, &mask, nullptr) == 0;
        if (ready) execve(arguments.front(), arguments.data(), environment.data());
        _exit(status_not_run);
    }

  private:
    static bool redirect(const char *file, int flags, int descriptor) {
        const int opened = open(file, flags | O_CLOEXEC, 0600);
        return opened >= 0 && dup2(opened, descriptor) == descriptor;
    }
};

bool takes_connections(std::uint16_t port) {
    const Descriptor connection(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return connect(connection.number(), reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0;
}

/// Counts the user-mode instructions of a process and of its future threads. Negative iff they cannot be counted.
int open_instruction_counter(pid_t process) {
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.size = sizeof attributes;
    attributes.config = PERF_COUNT_HW_INSTRUCTIONS;
    attributes.inherit = 1;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    return static_cast<int>(syscall(SYS_perf_event_open, &attributes, process, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

std::string executable_name(pid_t process) {
    std::error_code ignored;
    return std::filesystem::read_symlink(fmt::format("/proc/{}/exe", process), ignored).filename().string();
}

bool is_thread_of(pid_t thread, pid_t process) {
    return access(fmt::format("/proc/{}/task/{}", process, thread).c_str(), F_OK) == 0;
}

/// One run: everything that was started, and its state so far.
class TracedRun {
  public:
    TracedRun(const TracedCommand &command, const SignalWatch &signals, const LookAtEnd &look)
        : command_(command), signals_(signals), look_(look), deadline_(Clock::now() + command.limit) {}
    ~TracedRun() { end_all(); }
    TracedRun(const TracedRun &) = delete;
    TracedRun &operator=(const TracedRun &) = delete;

    TracedEnding to_its_end() {
        signals_.check();
        start_program();
        while (!ended(program_) || !ended(client_)) {
            if (Clock::now() >= deadline_) {
                ending_.timed_out = true;
                end_all();
                break;
            }
            take_news();
            signals_.check();
            look_after_server();
        }
        read_counter();
        return ending_;
    }

  private:
    bool ended(pid_t process) const { return process == 0 || !alive_.contains(process); }

    pid_t launch(Launch &launch, bool traced) {
        int gate[2];
        if (pipe2(gate, O_CLOEXEC) != 0) fail("cannot make a pipe for a program");
        const Descriptor entrance(gate[0]);
        Descriptor exit(gate[1]);
        const pid_t id = fork();
        if (id < 0) fail("cannot start a program");
        if (id == 0) {
            close(gate[1]);
            launch.become(gate[0]);
        }
        alive_.insert(id);
        if (traced) trace(id);
        exit.reset();
        return id;
    }

    void trace(pid_t id) const {
        long options =
            PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
        if (command_.count_system_calls) options |= PTRACE_O_TRACECLONE | PTRACE_O_TRACESYSGOOD;
        if (ptrace(PTRACE_SEIZE, id, nullptr, reinterpret_cast<void *>(options)) != 0)
            fail("cannot trace a program that was started: allow this process ptrace (in a container: the "
                 "capability SYS_PTRACE)");
    }

    void start_program() {
        Launch program(command_.program, command_.arguments, command_.environment, command_.folder, "output", "errors",
                       signals_.open_mask());
        if (command_.cpu >= 0) program.pin(command_.cpu);
        program_ = launch(program, true);
    }

    void look_after_server() {
        if (!command_.client) return;
        const bool serving = !ended(program_);
        if (client_ == 0 && serving && takes_connections(command_.client->port)) {
            const Client &client = *command_.client;
            Launch launched(client.program, client.arguments, client.environment, command_.folder, "client-output",
                            "client-errors", signals_.open_mask());
            client_began_ = Clock::now();
            client_ = launch(launched, false);
        } else if (client_ != 0 && ended(client_) && serving && !told_to_end_) {
            told_to_end_ = true;
            kill(program_, SIGTERM);
        } else if (client_ != 0 && !ended(client_) && !serving) {
            kill(client_, SIGKILL); // no server is left to answer it
        }
    }

    /// Handles all events so far, or else waits for one.
    void take_news() {
        bool any = false;
        for (;;) {
            int status = 0;
            rusage usage{};
            const pid_t id = wait4(-1, &status, __WALL | WNOHANG, &usage);
            if (id < 0 && errno == EINTR) continue;
            if (id <= 0) break;
            any = true;
            if (WIFSTOPPED(status))
                handle_stop(id, status);
            else
                handle_end(id, status, usage);
        }
        if (!any) wait();
    }

    void wait() const {
        const bool connecting = command_.client && client_ == 0;
        const auto longest = connecting ? between_attempts : std::chrono::milliseconds(wake_up_ms);
        const timespec time{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(longest).count()};
        if (ppoll(nullptr, 0, &time, &signals_.open_mask()) < 0 && errno != EINTR) fail("cannot wait for a program");
    }

    void handle_stop(pid_t id, int status) {
        alive_.insert(id);
        const int signal = WSTOPSIG(status), event = status >> 16;
        if (event == PTRACE_EVENT_EXEC) handle_exec(id);
        if (event == PTRACE_EVENT_EXIT && id == subject_) handle_last_moment(id);
        if (event == 0 && signal == (SIGTRAP | 0x80)) count_system_call(id);
        const bool deliver = event == 0 && signal != (SIGTRAP | 0x80);
        resume(id, deliver ? signal : 0);
    }

    void resume(pid_t id, int signal) const {
        const bool counted = command_.count_system_calls && subject_ != 0 && is_thread_of(id, subject_);
        // It may have been killed since. Then there is nothing to resume, and its end is reported next.
        (void)ptrace(counted ? PTRACE_SYSCALL : PTRACE_CONT, id, nullptr,
                     reinterpret_cast<void *>(static_cast<long>(signal)));
    }

    void handle_exec(pid_t id) {
        const bool matters = command_.subject.empty() ? id == program_ : executable_name(id) == command_.subject;
        if (!matters || subject_ != 0) return;
        subject_ = id;
        ending_.started = true;
        if (command_.count_system_calls)
            ending_.system_calls = 0;
        else
            counter_.reset(open_instruction_counter(id));
        began_ = Clock::now();
    }

    void handle_last_moment(pid_t id) {
        const auto before = Clock::now();
        look_(id);
        ending_.looked = true;
        looking_ += Clock::now() - before;
    }

    void count_system_call(pid_t id) {
        __ptrace_syscall_info info{};
        const long size = ptrace(PTRACE_GET_SYSCALL_INFO, id, reinterpret_cast<void *>(sizeof info), &info);
        if (size > 0 && info.op == PTRACE_SYSCALL_INFO_ENTRY) ++*ending_.system_calls;
    }

    void handle_end(pid_t id, int status, const rusage &usage) {
        alive_.erase(id);
        if (id == subject_) {
            ending_.wall_s = seconds_of(Clock::now() - began_ - looking_);
            ending_.user_s = seconds_of(usage.ru_utime);
            ending_.system_s = seconds_of(usage.ru_stime);
            ending_.page_faults = static_cast<std::uint64_t>(usage.ru_minflt + usage.ru_majflt);
            ending_.context_switches = static_cast<std::uint64_t>(usage.ru_nvcsw + usage.ru_nivcsw);
        }
        if (id == program_) ending_.wait_status = status;
        if (id == client_) {
            ending_.client_status = status;
            ending_.client_wall_s = seconds_of(Clock::now() - client_began_);
        }
    }

    void read_counter() {
        std::uint64_t count = 0;
        if (counter_.number() >= 0 && read(counter_.number(), &count, sizeof count) == sizeof count && count > 0)
            ending_.instructions = count;
    }

    /// Ends every process. A traced process is known by its parent's stop or its own, any other was started here. So
    /// none is missed.
    void end_all() {
        for (const pid_t id : alive_) kill(id, SIGKILL);
        for (;;) {
            int status = 0;
            const pid_t id = wait4(-1, &status, __WALL, nullptr);
            if (id < 0 && errno != EINTR) break;
            if (id > 0 && WIFSTOPPED(status)) {
                kill(id, SIGKILL);
                (void)ptrace(PTRACE_CONT, id, nullptr, nullptr);
            }
        }
        alive_.clear();
    }

    const TracedCommand &command_;
    const SignalWatch &signals_;
    const LookAtEnd &look_;
    const Clock::time_point deadline_;
    const ChildWatch watch_;
    TracedEnding ending_;
    std::set<pid_t> alive_; // every process and thread that was started or seen, until it is waited for
    pid_t program_ = 0, subject_ = 0, client_ = 0;
    Clock::time_point began_{}, client_began_{};
    Clock::duration looking_{};
    Descriptor counter_;
    bool told_to_end_ = false;
};

} // namespace

TracedEnding run_traced(const TracedCommand &command, const SignalWatch &signals, const LookAtEnd &look) {
    return TracedRun(command, signals, look).to_its_end();
}

std::uint16_t free_port() {
    const Descriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(listener.number(), reinterpret_cast<const sockaddr *>(&address), size) != 0 ||
        getsockname(listener.number(), reinterpret_cast<sockaddr *>(&address), &size) != 0)
        fail("no port of 127.0.0.1 is free");
    return ntohs(address.sin_port);
}

} // namespace flat::bench
