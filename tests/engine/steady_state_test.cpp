// The steady state makes no call of the heap, and no system call while it polls: seen by counting the one, and by a
// filter that ends the process at the other.
#include "core/random_source.hpp"
#include "engine/call_filter.hpp"
#include "engine/stress.hpp"
#include "resource/heap_calls.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>

#include <sys/wait.h>

namespace {

using test::patience, test::random_source;

constexpr std::array<flat_class, 2> classes{{{64, 200}, {1024, 100}}};
constexpr std::size_t steady_tasks = 100'000;

// One worker, since more may be more than there are processors, and then yield.
flat_engine_options options_for(flat_waiting waiting) {
    return {.worker_count = 1,
            .classes = classes.data(),
            .class_count = classes.size(),
            .lane_count = 2,
            .waiting = waiting,
            .spin_ns = 2000};
}

// A task that does what a task can: it allocates, submits, polls and defers itself once.
void work(flat_worker *here, void *payload, std::size_t size) {
    auto &left = *static_cast<unsigned char *>(payload);
    if (flat_engine_outcome(here) != FLAT_TASK_DONE) return;
    if (size > 64 && left == 1) {
        left = 0;
        if (flat_engine_defer(here, 1000) == FLAT_OK) return;
    }
    void *block = flat_pool_alloc(flat_engine_pool(here), 64);
    if (flat_pool_free(flat_engine_pool(here), block) != FLAT_OK) std::abort();
    flat_submitter *own = flat_engine_submitter(here);
    flat_completion completion;
    while (flat_engine_poll(own, &completion, 1) != 0) {
    }
    const flat_task nested = {.run = test::do_nothing, .completion = true};
    const flat_status status = flat_engine_submit(own, 0, &nested, payload, size % 100);
    if (status != FLAT_OK && status != FLAT_NO_GRANT && status != FLAT_RING_FULL) std::abort();
}

// Some thousand looks, so that a worker that sleeps falls asleep now and then, without any call.
void idle(flat_engine *engine, std::uint64_t ns) {
    for (const std::uint64_t end = flat_engine_now(engine) + ns; flat_engine_now(engine) < end;) {
    }
}

// What a submitter does in the steady state. `waits`: it also sleeps until something comes back.
void be_steady(flat_engine *engine, flat_submitter *lane, bool waits) {
    random_source random(1);
    std::array<unsigned char, 1024> payload{1};
    std::array<flat_completion, 8> completions;
    for (std::size_t i = 0; i < steady_tasks; i++) {
        flat_ticket ticket = 0;
        const std::uint64_t now = flat_engine_now(engine);
        const flat_task task = {.run = work,
                                .urgency = static_cast<unsigned>(random.below(4)),
                                .completion = random.one_in(2),
                                .always_run = random.one_in(2),
                                .deadline_ns = random.one_in(4) ? now + 100'000 : 0,
                                .start_ns = random.one_in(16) ? now + random.below(50'000) : 0,
                                .ticket = &ticket};
        const std::size_t size = 1 + random.below(1000);
        void *block = random.one_in(2) ? flat_engine_grant(lane, 0, size) : nullptr;
        if (block != nullptr) {
            std::memcpy(block, payload.data(), size);
            if (flat_engine_post(lane, block, &task) != FLAT_OK && flat_engine_release(lane, block) != FLAT_OK)
                std::abort();
        } else if (waits && random.one_in(4)) {
            (void)!flat_engine_submit_until(lane, 0, &task, payload.data(), size, now + 200'000);
        } else {
            (void)!flat_engine_submit(lane, FLAT_ANY_WORKER, &task, payload.data(), size);
        }
        if (random.one_in(16)) (void)!flat_engine_cancel(lane, ticket);
        if (random.one_in(64)) idle(engine, 10'000);
        if (waits && random.one_in(64)) (void)!flat_engine_wait(lane, now + 100'000);
        while (flat_engine_poll(lane, completions.data(), completions.size()) == completions.size()) {
        }
    }
}

// Runs in a process of its own. Worker and submitter may make `calls` alone, except that with `also` a task makes
// another one.
[[noreturn]] void be_filtered(flat_waiting waiting, const std::vector<long> &calls, bool also) {
    const test::owned_engine engine(options_for(waiting));
    static std::atomic<bool> is_filtered{false}, is_done{false};
    static const std::vector<long> *allowed = &calls;
    std::thread([&] {
        flat_submitter *lane = engine.lane();
        const flat_task filter = {.run = [](flat_worker *, void *, std::size_t) {
            if (!test::allow_only(*allowed)) _exit(2);
            is_filtered = true;
        }};
        be_steady(engine, lane, waiting != FLAT_WAITING_BUSY);
        while (flat_engine_submit(lane, 0, &filter, nullptr, 0) != FLAT_OK) {
        }
        if (!test::comes([] { return is_filtered.load(); }) || !test::allow_only(*allowed)) _exit(2);
        const flat_task call = {.run = [](flat_worker *, void *, std::size_t) { (void)getppid(); }};
        if (also && flat_engine_submit(lane, 0, &call, nullptr, 0) != FLAT_OK) is_done = true;
        be_steady(engine, lane, waiting != FLAT_WAITING_BUSY);
        is_done = true;
        for (;;) { // it may not even end
        }
    }).detach();
    _exit(test::comes([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return is_done.load();
    })
              ? 0
              : 3);
}

// 0: no other call was made; SIGSYS: one was.
int end_of_filtered(flat_waiting waiting, const std::vector<long> &calls, bool also = false) {
    const pid_t child = fork();
    if (child == 0) be_filtered(waiting, calls, also);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

} // namespace

TEST(engine_steady_state, makes_no_system_call_while_it_polls) { EXPECT_EQ(end_of_filtered(FLAT_WAITING_BUSY, {}), 0); }

TEST(engine_steady_state, calls_futex_and_membarrier_alone_where_it_sleeps) {
    for (const flat_waiting waiting : {FLAT_WAITING_DEFAULT, FLAT_WAITING_SLEEP}) {
        EXPECT_EQ(end_of_filtered(waiting, {SYS_futex, SYS_membarrier}), 0);
        EXPECT_EQ(end_of_filtered(waiting, {SYS_futex}), SIGSYS) << "membarrier is not called";
        EXPECT_EQ(end_of_filtered(waiting, {SYS_membarrier}), SIGSYS) << "futex is not called";
    }
}

TEST(engine_steady_state, planted_call_of_a_task_is_seen) {
    EXPECT_EQ(end_of_filtered(FLAT_WAITING_BUSY, {}, true), SIGSYS);
    EXPECT_EQ(end_of_filtered(FLAT_WAITING_SLEEP, {SYS_futex, SYS_membarrier}, true), SIGSYS);
}

TEST(engine_steady_state, makes_no_call_of_the_heap) {
    if (!test::heap_is_counted) GTEST_SKIP() << "a sanitizer's malloc is not counted";
    for (const flat_waiting waiting : {FLAT_WAITING_DEFAULT, FLAT_WAITING_BUSY, FLAT_WAITING_SLEEP}) {
        const test::owned_engine engine(options_for(waiting));
        flat_submitter *lane = engine.lane();
        const std::uint64_t before = test::heap_calls();
        be_steady(engine, lane, waiting != FLAT_WAITING_BUSY);
        ASSERT_EQ(flat_engine_drain(engine, patience()), FLAT_OK);
        ASSERT_EQ(flat_engine_stop(engine, patience()), FLAT_OK);
        flat_engine_resume(engine);
        EXPECT_EQ(test::heap_calls(), before);
        flat_engine_unregister(lane);
    }
}

TEST(engine_steady_state, planted_call_of_the_heap_is_counted) {
    if (!test::heap_is_counted) GTEST_SKIP() << "a sanitizer's malloc is not counted";
    const test::owned_engine engine(options_for(FLAT_WAITING_BUSY));
    flat_submitter *lane = engine.lane();
    const std::uint64_t before = test::heap_calls();
    const flat_task task = {.run = [](flat_worker *, void *, std::size_t) { delete new volatile int(1); }};
    ASSERT_EQ(flat_engine_submit(lane, 0, &task, nullptr, 0), FLAT_OK);
    ASSERT_EQ(flat_engine_drain(engine, patience()), FLAT_OK);
    EXPECT_EQ(test::heap_calls(), before + 1);
}
