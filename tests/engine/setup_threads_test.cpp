// setup.c: the engine's threads, and the memory that `flat_engine_create` maps.
#include "core/placing.hpp"
#include "engine/process.hpp"
#include "engine/test_engine.hpp"
#include "os/child.hpp"
#include "os/system_memory.hpp"
#include "os/trap.hpp"
#include "sanitizers.hpp"

#include <flatline/engine.h>
#include <flatline/region.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

namespace {

using test::engine_options;
using test::test_engine;

engine_options with_threads(std::size_t workers = 2) {
    engine_options options;
    options.value.worker_count = workers;
    options.value.caller_runs_workers = false;
    options.value.waiting = FLAT_WAITING_SLEEP;
    return options;
}

// Runs `act` on a worker and waits until it has.
void run_on(flat_submitter *lane, std::size_t worker, const test::action &act, flat_engine *engine) {
    flat_task task = test::task_of(nullptr);
    task.completion = true;
    ASSERT_EQ(test::submit_action(lane, worker, act, task), FLAT_OK);
    ASSERT_EQ(flat_engine_wait(lane, flat_engine_now(engine) + test::patience), FLAT_OK);
    ASSERT_EQ(test::poll_all(lane).size(), 1u);
}

std::size_t first_processor() {
    cpu_set_t usable;
    if (sched_getaffinity(0, sizeof usable, &usable) != 0) return 0;
    std::size_t number = 0;
    while (CPU_ISSET(number, &usable) == 0) number++;
    return number;
}

// Creates, expects a refusal, and that nothing is left of the attempt. Returns the message.
std::string refused(engine_options options, flat_status expected) {
    const test::left_behind before = test::look_at_process();
    flat_engine *engine = reinterpret_cast<flat_engine *>(&options);
    EXPECT_EQ(flat_engine_create(&engine, options.get()), expected) << options.message();
    EXPECT_EQ(engine, nullptr);
    EXPECT_TRUE(test::is_as_before(before)) << options.message();
    return options.message();
}

engine_options pinned_to(std::size_t worker, unsigned processor) {
    engine_options options = with_threads();
    options.workers.resize(2);
    options.workers[worker].pinned = true;
    options.workers[worker].processor = processor;
    return options;
}

// The resident bytes of all mappings that have a byte of a memory in them.
std::size_t resident_around(const void *start, std::size_t size) {
    const std::uintptr_t from = test::address_of(start), to = from + size;
    std::ifstream smaps("/proc/self/smaps");
    bool inside = false;
    std::size_t sum = 0;
    for (std::string line; std::getline(smaps, line);) {
        std::uintptr_t low = 0, high = 0;
        std::size_t kib = 0;
        if (std::sscanf(line.c_str(), "%lx-%lx ", &low, &high) == 2) {
            inside = low < to && from < high;
        } else if (inside && std::sscanf(line.c_str(), "Rss: %zu kB", &kib) == 1) {
            sum += kib * 1024;
        }
    }
    return sum;
}

} // namespace

TEST(engine_threads, a_pinned_worker_runs_on_its_processor_and_nowhere_else) {
    const std::size_t processor = first_processor();
    const test_engine engine(pinned_to(1, static_cast<unsigned>(processor)));
    flat_submitter *lane = engine.lane();
    cpu_set_t usable;
    const test::action look = [&](flat_worker *) { (void)sched_getaffinity(0, sizeof usable, &usable); };
    run_on(lane, 1, look, engine);
    EXPECT_EQ(CPU_COUNT(&usable), 1);
    EXPECT_TRUE(CPU_ISSET(processor, &usable));
    cpu_set_t of_process;
    ASSERT_EQ(sched_getaffinity(0, sizeof of_process, &of_process), 0);
    run_on(lane, 0, look, engine);
    EXPECT_TRUE(CPU_EQUAL(&usable, &of_process)) << "the other one runs wherever the process may";
}

TEST(engine_threads, a_worker_that_cannot_be_pinned_is_refused_with_its_number_and_leaves_no_thread) {
    (void)refused(pinned_to(0, 4000), FLAT_NOT_PERMITTED); // maps of the C library's first time
    for (const std::size_t worker : {0u, 1u}) {
        for (const unsigned processor : {1000u, 4000u, static_cast<unsigned>(INT_MAX), UINT_MAX}) {
            const std::string expected =
                "worker " + std::to_string(worker) + " cannot run on processor " + std::to_string(processor);
            EXPECT_EQ(refused(pinned_to(worker, processor), FLAT_NOT_PERMITTED), expected);
        }
    }
}

TEST(engine_threads, workers_have_every_signal_blocked) {
    const test_engine engine(with_threads(1));
    flat_submitter *lane = engine.lane();
    sigset_t blocked;
    const test::action look = [&](flat_worker *) { (void)pthread_sigmask(SIG_SETMASK, nullptr, &blocked); };
    run_on(lane, 0, look, engine);
    for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGALRM, SIGPROF}) EXPECT_EQ(sigismember(&blocked, signal), 1);
}

TEST(engine_threads, that_the_system_starts_none_is_said) {
    EXPECT_DONE_OR_SKIP(test::in_child([] {
        if (!test::fail_call(SYS_clone3, EAGAIN)) return test::cannot_try;
        engine_options options = with_threads();
        flat_engine *engine = nullptr;
        DEMAND(flat_engine_create(&engine, options.get()) == FLAT_OUT_OF_MEMORY);
        DEMAND(engine == nullptr);
        DEMAND(options.message().find("starts no more threads") != std::string::npos);
        DEMAND(options.message().find("at thread 0") != std::string::npos);
        return 0;
    }));
}

TEST(engine_threads, that_the_system_starts_one_of_several_ends_that_one) {
    if (geteuid() != 0) GTEST_SKIP() << "another user's count of threads is not known";
    if (test::thread_sanitizer) GTEST_SKIP() << "a sanitizer starts threads of its own";
    EXPECT_EQ(test::in_child([] {
                  rlimit two{2, 2}; // threads of a user that has no other one
                  DEMAND(setrlimit(RLIMIT_NPROC, &two) == 0);
                  DEMAND(setresuid(64321, 64321, 64321) == 0);
                  engine_options options = with_threads(4);
                  flat_engine *engine = nullptr;
                  DEMAND(flat_engine_create(&engine, options.get()) == FLAT_OUT_OF_MEMORY);
                  DEMAND(options.message().find("at thread 1") != std::string::npos);
                  DEMAND(test::is_as_before({1, test::look_at_process().files, test::look_at_process().mappings}));
                  return 0;
              }),
              0);
}

TEST(engine_threads, memory_of_the_callers_is_whole_again_when_init_starts_no_thread) {
    engine_options options = pinned_to(1, 4000);
    flat_footprint need{};
    ASSERT_EQ(flat_engine_footprint(options.get(), &need), FLAT_OK);
    const test::mapping metadata(need.metadata_bytes, 4096), blocks(need.block_bytes, 4096);
    flat_engine *engine;
    EXPECT_EQ(flat_engine_init(&engine, options.get(), metadata.memory(), blocks.memory()), FLAT_NOT_PERMITTED);
    std::fill_n(metadata.start(), metadata.size(), 'x'); // AddressSanitizer would stop the program here
    std::fill_n(blocks.start(), blocks.size(), 'x');
}

TEST(engine_threads, an_engine_in_memory_of_the_callers_runs_its_own_threads) {
    engine_options options = with_threads(2);
    flat_footprint need{};
    ASSERT_EQ(flat_engine_footprint(options.get(), &need), FLAT_OK);
    const test::mapping metadata(need.metadata_bytes, 4096), blocks(need.block_bytes, 4096);
    flat_engine *engine;
    ASSERT_EQ(flat_engine_init(&engine, options.get(), metadata.memory(), blocks.memory()), FLAT_OK);
    flat_submitter *lane;
    ASSERT_EQ(flat_engine_register(engine, &lane), FLAT_OK);
    std::uintptr_t stack = 0;
    const test::action look = [&](flat_worker *) { stack = test::address_of(__builtin_frame_address(0)); };
    run_on(lane, 1, look, engine);
    EXPECT_GE(stack, test::address_of(metadata.start()));
    EXPECT_LT(stack, test::address_of(metadata.start()) + need.metadata_bytes);
    flat_engine_destroy(engine);
}

TEST(engine_memory, a_limit_of_address_space_is_told) {
    if (test::address_sanitizer || test::thread_sanitizer) GTEST_SKIP() << "a sanitizer needs more than the limit";
    EXPECT_EQ(test::in_child([] {
                  DEMAND(test::limit(RLIMIT_AS, test::mapped_bytes() + (std::size_t{1} << 20)));
                  engine_options options = with_threads();
                  options.classes = {{4096, 10000}};
                  const std::size_t before = test::mapped_bytes();
                  flat_engine *engine = nullptr;
                  DEMAND(flat_engine_create(&engine, options.get()) == FLAT_OUT_OF_MEMORY);
                  DEMAND(engine == nullptr);
                  DEMAND(options.message().find("RLIMIT_AS") != std::string::npos);
                  DEMAND(test::mapped_bytes() == before);
                  return 0;
              }),
              0);
}

TEST(engine_memory, is_locked_where_that_is_asked_for_and_a_limit_of_locked_memory_is_told) {
    constexpr unsigned capability_to_lock = 14;
    EXPECT_EQ(test::in_child([] {
                  if (test::has_capability(capability_to_lock)) DEMAND(test::drop_capability(capability_to_lock));
                  DEMAND(test::limit(RLIMIT_MEMLOCK, 65536));
                  flat_region_options region{};
                  region.locked = true;
                  engine_options options;
                  options.value.region = &region;
                  flat_engine *engine = nullptr;
                  DEMAND(flat_engine_create(&engine, options.get()) == FLAT_NOT_PERMITTED);
                  DEMAND(engine == nullptr);
                  DEMAND(options.message().find("RLIMIT_MEMLOCK") != std::string::npos);
                  return 0;
              }),
              0);
}

TEST(engine_memory, is_resident_to_the_page_stacks_included) {
    if (test::address_sanitizer || test::thread_sanitizer) GTEST_SKIP() << "a sanitizer has pages of its own";
    for (const bool threads : {false, true}) {
        engine_options options = threads ? with_threads(3) : engine_options{};
        options.value.worker_count = 3;
        options.classes = {{4096, 100}, {8192, 50}};
        flat_footprint need{};
        ASSERT_EQ(flat_engine_footprint(options.get(), &need), FLAT_OK);
        const test_engine engine(options);
        const std::size_t page = test::page_size(), stack_guards = threads ? 3 : 0;
        const std::size_t metadata = resident_around(engine, need.metadata_bytes);
        // What was mapped is in the region too, behind the metadata.
        EXPECT_GE(metadata, need.metadata_bytes - stack_guards * page);
        EXPECT_LE(metadata, need.metadata_bytes - stack_guards * page + 2 * page);
        const void *const first = flat_engine_grant(engine.lane(), 0, 4096);
        EXPECT_EQ(resident_around(first, need.block_bytes), need.block_bytes - 2 * page) << "two guards";
    }
}

TEST(engine_memory, the_blocks_of_each_worker_end_at_a_guard_page) {
    engine_options options;
    options.classes = {{4096, 16}};
    const test_engine engine(options);
    flat_submitter *lane = engine.lane();
    char *ends[2] = {};
    const test::action take_all = [&](flat_worker *here) {
        char *&end = ends[flat_engine_worker(here)];
        while (void *block = flat_pool_alloc(flat_engine_pool(here), 4096)) {
            end = std::max(end, static_cast<char *>(block) + 4096);
        }
    };
    for (const std::size_t worker : {0u, 1u}) {
        ASSERT_EQ(test::submit_action(lane, worker, take_all), FLAT_OK);
        ASSERT_EQ(engine.run(), 1u);
        test::write(ends[worker] - 1);
        EXPECT_TRAP(test::write(ends[worker]));
    }
}

TEST(engine_memory, each_stack_ends_at_a_guard_page) {
    const int ended = test::in_child([] {
        const test_engine engine(with_threads());
        const test::action below = [](flat_worker *) {
            pthread_attr_t attributes;
            void *start = nullptr;
            std::size_t size = 0;
            if (pthread_getattr_np(pthread_self(), &attributes) != 0) _exit(10);
            if (pthread_attr_getstack(&attributes, &start, &size) != 0) _exit(11);
            test::read(start);
            test::write(static_cast<char *>(start) - 1);
        };
        run_on(engine.lane(), 1, below, engine);
        return 0;
    });
    if (test::address_sanitizer || test::thread_sanitizer) {
        EXPECT_NE(ended, 0) << "a sanitizer ends the program its own way";
    } else {
        EXPECT_EQ(ended, 128 + SIGSEGV);
    }
}
