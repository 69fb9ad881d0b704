// Programs' threads and the audit over one session: every call is written, or dropped and counted, and each thread's
// are in their order. Each test is a process of its own, which is its own audit.
#include "audit/auditor.hpp"

#include "audit/history.hpp"

extern "C" {
#include "audit/writer.h"
}

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scratch_folder.hpp"

namespace flat::audit {
namespace {

void require(bool holds, int line) {
    if (holds) return;
    std::fprintf(stderr, "line %d\n", line);
    _exit(1);
}
#define REQUIRE(...) require((__VA_ARGS__), __LINE__)

template <typename Body> void in_a_process(const Body &body) {
    EXPECT_EXIT(
        {
            body();
            _exit(0);
        },
        testing::ExitedWithCode(0), "");
}

/// As libflatline-audit.so records a call: its size is its number among those of its thread.
void call(std::uint64_t number) {
    audit_writer *mine = &audit_mine;
    mine->inside = true;
    if (audit_is_attached(mine) || audit_attach(mine)) {
        mine->slot->calls++;
        const audit_record record = audit_record_of_call(AUDIT_MALLOC, number, 1, 0, number, 16);
        if (!audit_put(mine, &record)) mine->slot->dropped++;
    }
    mine->inside = false;
}

void calls(std::uint64_t count) {
    for (std::uint64_t i = 1; i <= count; i++) call(i);
}

struct Counted : HistoryVisitor {
    std::map<std::uint32_t, std::uint64_t> written, last; // by thread
    bool in_order = true;
    void on_call(const Call &call) override {
        written[call.thread]++;
        in_order = in_order && call.size > last[call.thread];
        last[call.thread] = call.size;
    }
};

/// An audit of this process, whose recording is looked at in the end.
class Session {
  public:
    Session() : auditor_({.out = file_, .words = {"test"}, .under = "", .machine = "", .tells_system_calls = false}) {
        auditor_.begin(getpid());
        REQUIRE(setenv(AUDIT_SESSION_VARIABLE, auditor_.session_path().c_str(), 1) == 0);
        call(1); // as a program's first, by its first thread
    }

    /// Ends the audit, after `made` calls beside the first. Returns how many were dropped.
    std::uint64_t end(std::uint64_t made) {
        made++;
        REQUIRE(auditor_.finish(0) >= 1);
        History history(file_);
        Counted counted;
        history.visit(counted);
        REQUIRE(history.is_whole() && counted.in_order);
        std::uint64_t all = history.end().at("unattached").get<std::uint64_t>(), dropped = all;
        for (const auto &[serial, thread] : history.threads()) {
            REQUIRE(counted.written[serial] + thread.dropped == thread.calls);
            all += thread.calls;
            dropped += thread.dropped;
        }
        REQUIRE(counted.written.size() == history.threads().size());
        REQUIRE(all == made);
        threads_ = history.threads().size();
        trouble_ = history.end().at("trouble").get<std::uint64_t>();
        return dropped;
    }
    std::size_t threads() const { return threads_; }
    std::uint64_t trouble() const { return trouble_; }

  private:
    const test::scratch_folder folder_;
    const std::filesystem::path file_ = folder_ / "recording";
    Auditor auditor_;
    std::size_t threads_ = 0;
    std::uint64_t trouble_ = 0;
};

TEST(auditor, has_all_calls_of_a_thread_over_several_segments) {
    in_a_process([] {
        Session session;
        constexpr std::uint64_t count = 5 * AUDIT_SEGMENT_RECORDS + 7;
        for (std::uint64_t i = 1; i <= count; i++) {
            call(i + 1);
            if (i % 5000 == 0) (void)usleep(20000); // in which some rounds are taken, more or fewer
        }
        REQUIRE(session.end(count) == 0);
    });
}

TEST(auditor, has_or_counts_all_calls_of_more_threads_than_slots_one_after_another) {
    in_a_process([] {
        Session session;
        constexpr std::uint64_t threads = AUDIT_THREADS + 200, each = 3;
        for (std::uint64_t i = 0; i < threads; i++) std::thread([] { calls(each); }).join();
        (void)session.end(threads * each);
        REQUIRE(session.trouble() == 0);
    });
}

TEST(auditor, counts_what_threads_drop_that_find_no_segment) {
    in_a_process([] {
        Session session;
        constexpr std::uint64_t threads = AUDIT_SEGMENTS + 60, each = 200;
        std::atomic<std::uint64_t> waiting{threads};
        std::vector<std::thread> all;
        for (std::uint64_t i = 0; i < threads; i++)
            all.emplace_back([&] {
                calls(each);
                for (waiting--; waiting > 0;) std::this_thread::yield();
            });
        for (std::thread &thread : all) thread.join();
        REQUIRE(session.end(threads * each) >= 60);
    });
}

TEST(auditor, counts_what_threads_drop_that_find_no_slot) {
    in_a_process([] {
        Session session;
        for (audit_slot &slot : audit_shared->slots)
            if (slot.state == AUDIT_SLOT_FREE) slot.state = AUDIT_SLOT_TAKEN;
        std::thread([] { calls(200); }).join();
        REQUIRE(session.end(200) == 200 && session.trouble() == AUDIT_NO_SLOT);
    });
}

TEST(auditor, has_or_counts_all_calls_at_full_speed) {
    in_a_process([] {
        Session session;
        constexpr std::uint64_t threads = 6, each = 300000;
        std::vector<std::thread> all;
        for (std::uint64_t i = 0; i < threads; i++) all.emplace_back([] { calls(each); });
        for (std::thread &thread : all) thread.join();
        (void)session.end(threads * each);
    });
}

TEST(auditor, has_the_calls_of_child_processes_which_end_without_a_word) {
    in_a_process([] {
        Session session;
        constexpr std::uint64_t children = 40, each = 100;
        for (std::uint64_t i = 0; i < children; i++) {
            const pid_t child = fork();
            if (child == 0) {
                calls(each);
                if (i % 2 == 0) (void)raise(SIGKILL);
                _exit(0);
            }
            int status = 0;
            REQUIRE(waitpid(child, &status, 0) == child);
        }
        REQUIRE(session.end(children * each) == 0);
        REQUIRE(session.threads() == children + 1);
    });
}

/// Children that no handler of pthread_atfork sees, and one that a handler sees in the middle of a call.
pid_t child_by(int way) {
    switch (way) {
    case 0: return fork();
    case 1: return _Fork();
    case 2: return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
    default: {
        clone_args arguments{};
        arguments.exit_signal = SIGCHLD;
        return static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof arguments));
    }
    }
}

TEST(auditor, has_the_calls_of_child_processes_however_they_are_made_beside_their_parents) {
    in_a_process([] {
        Session session;
        constexpr std::uint64_t ways = 4, each = 3 * AUDIT_SEGMENT_RECORDS / 2;
        std::uint64_t number = 1;
        for (int way = 0; way < static_cast<int>(ways); way++) {
            const pid_t child = child_by(way);
            REQUIRE(child >= 0);
            if (child == 0) {
                for (std::uint64_t i = 1; i <= each; i++) call(i);
                _exit(0);
            }
            for (std::uint64_t i = 0; i < each; i++) call(++number); // while the child does
            int status = 0;
            REQUIRE(waitpid(child, &status, 0) == child && status == 0);
        }
        REQUIRE(session.end(2 * ways * each) == 0);
        REQUIRE(session.threads() == ways + 1);
    });
}

TEST(auditor, has_the_calls_of_a_child_whose_other_thread_is_the_first_to_call) {
    in_a_process([] {
        Session session;
        const pid_t child = child_by(2);
        if (child == 0) {
            pthread_t thread;
            const auto body = [](void *) -> void * {
                calls(50);
                return nullptr;
            };
            REQUIRE(pthread_create(&thread, nullptr, body, nullptr) == 0 && pthread_join(thread, nullptr) == 0);
            calls(20);
            _exit(0);
        }
        int status = 0;
        REQUIRE(waitpid(child, &status, 0) == child && status == 0);
        REQUIRE(session.end(70) == 0 && session.threads() == 3);
    });
}

bool state_is_live() { return audit_mine.slot->state == AUDIT_SLOT_LIVE; }

bool has_a_slot(pid_t process) {
    for (const audit_slot &slot : audit_shared->slots)
        if (slot.state != AUDIT_SLOT_FREE && slot.process == process) return true;
    return false;
}

/// Rounds are taken meanwhile.
bool loses_its_slots(pid_t process) {
    for (int i = 0; i < 10000 && has_a_slot(process); i++) (void)usleep(1000);
    return !has_a_slot(process);
}

TEST(auditor, frees_the_slots_of_processes_for_which_nobody_waits) {
    in_a_process([] {
        Session session;
        for (int i = 0; i < 3; i++) {
            const pid_t child = fork();
            if (child == 0) {
                std::thread([] { calls(7); }).detach();
                calls(5);
                _exit(0);
            }
            siginfo_t ended;
            REQUIRE(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) == 0);
            REQUIRE(loses_its_slots(child));
        }
        for (int i = 0; i < 3; i++) REQUIRE(wait(nullptr) > 0);
    });
}

TEST(auditor, keeps_the_slots_of_a_process_whose_first_thread_has_ended) {
    in_a_process([] {
        Session session;
        constexpr std::uint64_t rounds = 200;
        const pid_t child = fork();
        if (child == 0) {
            call(1);
            std::thread([] {
                for (std::uint64_t i = 1; i <= rounds; i++) {
                    call(i);
                    (void)usleep(2000); // in which some rounds are taken
                }
                _exit(state_is_live() ? 0 : 1);
            }).detach();
            (void)syscall(SYS_exit, 0); // the thread alone
        }
        int status = 0;
        REQUIRE(waitpid(child, &status, 0) == child && status == 0);
        REQUIRE(session.end(1 + rounds) == 0 && session.threads() == 3);
    });
}

bool has_a_thread_that_calls(pid_t process) {
    for (const audit_slot &slot : audit_shared->slots)
        if (slot.state == AUDIT_SLOT_LIVE && slot.process == process && slot.thread == process) return true;
    return false;
}

/// A container's first process, which is number 1 there.
TEST(auditor, knows_processes_of_another_namespace_by_its_own_numbers) {
    EXPECT_EXIT(
        {
            Session session;
            if (unshare(CLONE_NEWPID) != 0) _exit(77);
            const pid_t child = fork();
            REQUIRE(child >= 0);
            if (child == 0) {
                REQUIRE(getpid() == 1);
                call(1);
                while (true) (void)pause();
            }
            for (int i = 0; i < 10000 && !has_a_thread_that_calls(child); i++) (void)usleep(1000);
            REQUIRE(has_a_thread_that_calls(child) && kill(child, SIGKILL) == 0);
            REQUIRE(loses_its_slots(child) && waitpid(child, nullptr, 0) == child);
            REQUIRE(session.end(1) == 0);
            _exit(0);
        },
        [](int status) { return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77); }, "");
}

/// Where /proc is that of the namespace alone.
TEST(auditor, looks_for_no_process_that_it_has_no_number_of) {
    in_a_process([] {
        Session session;
        audit_shared->proc++; // another device
        const pid_t child = fork();
        if (child == 0) {
            calls(100);
            (void)usleep(500000); // in which some rounds are taken
            const audit_slot &own = *audit_mine.slot;
            _exit(own.state == AUDIT_SLOT_LIVE && own.process == -getpid() && own.thread == -getpid() ? 0 : 1);
        }
        int status = 0;
        REQUIRE(waitpid(child, &status, 0) == child && status == 0);
        REQUIRE(session.end(100) == 0);
    });
}

TEST(auditor, frees_the_slots_of_threads_that_end_without_a_word) {
    in_a_process([] {
        Session session;
        const pid_t child = fork();
        if (child == 0) {
            static std::atomic<pid_t> other{0};
            std::thread([] {
                calls(5);
                other = static_cast<pid_t>(syscall(SYS_gettid));
                (void)syscall(SYS_exit, 0);
            }).detach();
            const auto is_there = [] {
                for (const audit_slot &slot : audit_shared->slots)
                    if (slot.state != AUDIT_SLOT_FREE && slot.thread == other) return true;
                return false;
            };
            for (int i = 0; i < 10000 && (other == 0 || is_there()); i++) (void)usleep(1000);
            _exit(other != 0 && !is_there() ? 0 : 1);
        }
        int status = 0;
        REQUIRE(waitpid(child, &status, 0) == child && status == 0);
        REQUIRE(session.end(5) == 0);
    });
}

TEST(auditor, has_the_calls_that_other_destructors_of_a_thread_make) {
    in_a_process([] {
        Session session;
        static pthread_key_t key; // made behind the audit's own, whose destructor runs first
        REQUIRE(pthread_key_create(&key, [](void *) { call(100); }) == 0);
        for (int i = 0; i < 50; i++)
            std::thread([] {
                REQUIRE(pthread_setspecific(key, &key) == 0);
                calls(3);
            }).join();
        REQUIRE(session.end(50 * 4) == 0 && session.threads() == 1 + 50);
    });
}

TEST(auditor, cannot_begin_where_no_file_can_be_written) {
    AuditorOptions options;
    for (const char *file : {"/dev/full", "/proc/none"}) {
        options.out = file;
        EXPECT_THROW(Auditor auditor(options), std::system_error);
    }
}

} // namespace
} // namespace flat::audit
