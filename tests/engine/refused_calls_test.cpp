// The engine where the system refuses what it asks for: membarrier, memory files, signals to threads, /proc, threads.
#include "core/random_source.hpp"
#include "engine/call_filter.hpp"
#include "engine/stress.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <functional>

#include <sched.h>
#include <sys/wait.h>

namespace {

using test::comes, test::patience;

constexpr std::array<flat_class, 2> classes{{{64, 200}, {512, 100}}};
constexpr std::size_t workers = 2, lanes = 2;
const std::vector<std::size_t> sizes{64, 512};

flat_engine_options options() {
    return {.worker_count = workers,
            .classes = classes.data(),
            .class_count = classes.size(),
            .lane_count = lanes,
            .waiting = FLAT_WAITING_SLEEP};
}

void require(bool holds, const char *what) {
    if (holds) return;
    std::fprintf(stderr, "%s\n", what);
    _exit(1);
}

// A submitter and workers that fall asleep all the time, and wake each other. From the third task on it chooses
// workers.
void wake_each_other(const test::owned_engine &engine) {
    flat_submitter *lane = engine.lane();
    const auto hand_on = [](flat_worker *here, void *payload, std::size_t size) {
        const flat_task task = {.run = test::do_nothing};
        const flat_status status = flat_engine_submit(flat_engine_submitter(here), 1, &task, payload, size);
        // A worker that nobody could wake looks after a millisecond: until then more may come than it has grants for.
        const bool is_full = status == FLAT_NO_GRANT || status == FLAT_RING_FULL;
        require(status == FLAT_OK || is_full, flat_status_string(status));
    };
    std::array<char, 400> payload{};
    for (int i = 0; i < 300; i++) {
        const flat_task task = {.run = hand_on, .completion = true};
        flat_completion completion;
        const std::size_t size = i % 2 == 0 ? payload.size() : 8;
        const std::size_t to = i % 3 == 2 ? FLAT_ANY_WORKER : 0;
        require(flat_engine_submit(lane, to, &task, payload.data(), size) == FLAT_OK, "refused");
        require(flat_engine_wait(lane, engine.in(patience())) == FLAT_OK, "lost: a completion");
        require(flat_engine_poll(lane, &completion, 1) == 1, "no completion");
        if (i % 10 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
    flat_engine_unregister(lane);
}

void drain_and_stop(const test::owned_engine &engine) {
    flat_submitter *lane = engine.lane();
    const flat_task later = {.run = test::do_nothing, .start_ns = engine.in(test::hour)};
    for (int i = 0; i < 20; i++) {
        const flat_task task = {.run = test::do_nothing};
        require(flat_engine_submit(lane, 0, &task, nullptr, 0) == FLAT_OK, "refused");
        require(flat_engine_drain(engine, patience()) == FLAT_OK, "lost: a drain");
        flat_engine_resume(engine);
        require(flat_engine_submit(lane, 1, &later, nullptr, 0) == FLAT_OK, "refused");
        require(flat_engine_stop(engine, patience()) == FLAT_OK, "lost: a stop");
        flat_engine_resume(engine);
    }
    flat_engine_unregister(lane);
}

enum class lanes_of_the_dead { come_back, stay_away };

void end_without_leaving(const test::owned_engine &engine, lanes_of_the_dead expected) {
    for (std::size_t i = 0; i < lanes; i++) std::thread([&] { (void)engine.lane(); }).join();
    flat_submitter *lane = nullptr;
    if (expected == lanes_of_the_dead::come_back) {
        require(comes([&] { return flat_engine_register(engine, &lane) == FLAT_OK; }), "no lane comes back");
        flat_engine_unregister(lane);
    } else {
        require(flat_engine_register(engine, &lane) == FLAT_UNAVAILABLE, "a lane comes back");
        require(flat_engine_reclaim(engine).lanes == 0, "a lane is reclaimed");
    }
}

// Uses an engine in all ways in a process of its own, after `before`, with `after` once it is made. Returns its status.
int use(
    const std::function<bool()> &before, const std::function<bool()> &after = [] { return true; },
    lanes_of_the_dead expected = lanes_of_the_dead::come_back) {
    const pid_t child = fork();
    if (child == 0) {
        require(before(), "no filter");
        {
            const test::owned_engine engine(options());
            require(after(), "no filter");
            wake_each_other(engine);
            drain_and_stop(engine);
            require(test::missing_of(engine, lanes, workers, sizes, 4 * (200 / 2 / 4 + 100 / 2 / 4)).empty(),
                    "not all grants are back");
            end_without_leaving(engine, expected);
        }
        _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::function<bool()> refusal_of(const std::vector<long> &calls, int error,
                                 test::filtered which = test::filtered::this_thread) {
    return [=] { return test::refuse_calls(calls, error, which); };
}

const auto nothing = [] { return true; };

} // namespace

TEST(engine_refused_calls, control_without_a_filter) { EXPECT_EQ(use(nothing), 0); }

TEST(engine_refused_calls, membarrier_from_the_start) {
    for (const int error : {EPERM, ENOSYS}) EXPECT_EQ(use(refusal_of({SYS_membarrier}, error)), 0);
}

// Whoever sleeps looks again after a millisecond, since the other side has no fence.
TEST(engine_refused_calls, membarrier_once_the_engine_was_made) {
    for (const int error : {EPERM, ENOSYS}) {
        EXPECT_EQ(use(nothing, refusal_of({SYS_membarrier}, error, test::filtered::all_threads)), 0);
    }
}

TEST(engine_refused_calls, memory_files) {
    EXPECT_EQ(use(refusal_of({SYS_memfd_create}, ENOSYS)), 0);
    EXPECT_EQ(use(refusal_of({SYS_memfd_create}, EPERM)), 0);
    EXPECT_EQ(use(refusal_of({SYS_mremap}, EPERM)), 0);
}

TEST(engine_refused_calls, signals_to_threads) {
    for (const int error : {EPERM, ENOSYS}) EXPECT_EQ(use(refusal_of({SYS_tgkill}, error)), 0);
}

// Then nobody knows that a thread has ended, and its lanes stay its own.
TEST(engine_refused_calls, signals_to_threads_where_proc_says_nothing_either) {
#ifdef SYS_access
    const std::vector<long> calls{SYS_tgkill, SYS_access, SYS_faccessat};
#else
    const std::vector<long> calls{SYS_tgkill, SYS_faccessat};
#endif
    for (const int error : {EPERM, ENOSYS, ENOENT})
        EXPECT_EQ(use(refusal_of(calls, error), nothing, lanes_of_the_dead::stay_away), 0);
}

// The numbers of /proc are then others, so that it lacks threads that live.
TEST(engine_refused_calls, signals_to_threads_where_proc_is_of_another_namespace) {
    const pid_t outer = fork();
    if (outer == 0) {
        if (unshare(CLONE_NEWPID) != 0) _exit(77);
        _exit(use(refusal_of({SYS_tgkill}, EPERM), nothing, lanes_of_the_dead::stay_away));
    }
    int status = 0;
    ASSERT_EQ(waitpid(outer, &status, 0), outer);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "this user may not make a namespace";
    EXPECT_EQ(status, 0);
}

TEST(engine_refused_calls, files_so_that_there_is_no_proc) {
    for (const int error : {EACCES, ENOENT}) EXPECT_EQ(use(refusal_of({SYS_openat}, error)), 0);
}

TEST(engine_refused_calls, threads_so_that_there_is_no_engine) {
    const pid_t child = fork();
    if (child == 0) {
        char message[200] = "";
        flat_engine_options asked = options();
        asked.message = message;
        asked.message_size = sizeof message;
        flat_engine *engine = nullptr;
        require(test::refuse_calls({SYS_clone, SYS_clone3}, EAGAIN), "no filter");
        require(flat_engine_create(&engine, &asked) == FLAT_OUT_OF_MEMORY && engine == nullptr, "there is an engine");
        require(std::strstr(message, "threads") != nullptr, message);
        _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
