// The rules for threads, signal handlers and fork that <flatline/pool.h> states.
#include "core/environment.hpp"
#include "core/random_source.hpp"
#include "core/test_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <sys/time.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using test::test_pool;

// Allocations, touches and frees in random order; false where the pool or a block's content went wrong.
bool work(flat_pool *pool, std::uint64_t seed, std::size_t steps) {
    test::random_source random(seed);
    std::vector<unsigned char *> live;
    for (std::size_t i = 0; i < steps; i++) {
        if (live.size() < 50 && (live.empty() || random.one_in(2))) {
            auto *block = static_cast<unsigned char *>(flat_pool_alloc(pool, 64));
            if (block == nullptr) return false;
            std::memset(block, static_cast<int>(test::address_of(block) >> 6 & 0xff), 64);
            live.push_back(block);
        } else {
            std::swap(live[random.below(live.size())], live.back());
            unsigned char *block = live.back();
            live.pop_back();
            if (block[0] != (test::address_of(block) >> 6 & 0xff) || block[63] != block[0]) return false;
            if (flat_pool_free(pool, block) != FLAT_OK) return false;
        }
    }
    for (unsigned char *block : live) {
        if (flat_pool_free(pool, block) != FLAT_OK) return false;
    }
    return flat_pool_check(pool) == FLAT_OK && flat_pool_visit(pool, nullptr, nullptr) == 0;
}

const std::vector<flat_class> small = {{64, 50}};

} // namespace

TEST(pool_threads, two_threads_may_use_two_pools_without_a_lock) {
    // Two pools side by side in one memory, so that a write that strays meets the neighbour.
    flat_pool_options options{};
    options.classes = small.data();
    options.class_count = 1;
    flat_footprint need;
    ASSERT_EQ(flat_pool_footprint(&options, &need), FLAT_OK);
    const std::size_t stride = (need.metadata_bytes + 63) / 64 * 64;
    test::mapping metadata(2 * stride, 64), blocks(2 * need.block_bytes, 64);
    bool well[2] = {false, false};
    flat_pool *pools[2];
    for (std::size_t i = 0; i < 2; i++) {
        ASSERT_EQ(flat_pool_init(&pools[i], &options, {metadata.start() + i * stride, need.metadata_bytes},
                                 {blocks.start() + i * need.block_bytes, need.block_bytes}),
                  FLAT_OK);
    }
    const std::size_t steps = test::scaled(500000);
    std::thread first([&] { well[0] = work(pools[0], 1, steps); });
    std::thread second([&] { well[1] = work(pools[1], 2, steps); });
    first.join();
    second.join();
    EXPECT_TRUE(well[0]);
    EXPECT_TRUE(well[1]);
    for (flat_pool *pool : pools) flat_pool_destroy(pool);
}

TEST(pool_threads, a_pool_may_be_handed_over) {
    test_pool pool(small);
    auto *block = static_cast<unsigned char *>(flat_pool_alloc(pool, 64));
    std::memset(block, 0x5a, 64);
    flat_status status = FLAT_CORRUPTED;
    std::atomic<bool> ready{false};
    std::thread next([&] {
        while (!ready.load(std::memory_order_acquire)) std::this_thread::yield();
        if (block[63] == 0x5a) status = flat_pool_free(pool, block);
    });
    ready.store(true, std::memory_order_release);
    next.join();
    EXPECT_EQ(status, FLAT_OK);
    EXPECT_EQ(flat_pool_alloc(pool, 64), block);
}

namespace {

flat_pool *signal_pool;
volatile std::sig_atomic_t signals_served, signals_failed;

void use_a_pool_of_its_own(int) {
    auto *block = static_cast<unsigned char *>(flat_pool_alloc(signal_pool, 64));
    if (block == nullptr || flat_pool_free(signal_pool, block) != FLAT_OK) {
        signals_failed = 1;
    } else {
        signals_served = signals_served + 1;
    }
}

} // namespace

TEST(pool_signals, a_handler_may_use_a_pool_of_its_own) {
    test_pool pool(small), of_the_handler(small);
    signal_pool = of_the_handler;
    signals_served = 0;
    signals_failed = 0;
    struct sigaction action{}, before{};
    action.sa_handler = use_a_pool_of_its_own;
    ASSERT_EQ(sigaction(SIGALRM, &action, &before), 0);
    const itimerval often{{0, 200}, {0, 200}}, never{};
    ASSERT_EQ(setitimer(ITIMER_REAL, &often, nullptr), 0);
    bool well = true;
    for (int round = 0; well && round < 1000000 && signals_served < 200; round++) well = work(pool, 3, 1000);
    ASSERT_EQ(setitimer(ITIMER_REAL, &never, nullptr), 0);
    ASSERT_EQ(sigaction(SIGALRM, &before, nullptr), 0);
    EXPECT_TRUE(well);
    EXPECT_EQ(signals_failed, 0);
    EXPECT_GE(signals_served, 200);
    EXPECT_EQ(flat_pool_check(of_the_handler), FLAT_OK);
}

TEST(pool_fork, parent_and_child_each_have_their_own_copy) {
    test_pool pool(small);
    auto *kept = static_cast<unsigned char *>(flat_pool_alloc(pool, 64));
    void *freed = flat_pool_alloc(pool, 64);
    std::memset(kept, 0x5a, 64);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        bool well = flat_pool_check(pool) == FLAT_OK && kept[0] == 0x5a;
        std::memset(kept, 0x11, 64);
        well = well && flat_pool_free(pool, kept) == FLAT_OK && flat_pool_free(pool, freed) == FLAT_OK;
        _exit(well && work(pool, 4, 1000) ? 0 : 1);
    }
    EXPECT_EQ(flat_pool_free(pool, freed), FLAT_OK) << "the child's free is not the parent's";
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_EQ(kept[0], 0x5a);
    EXPECT_EQ(flat_pool_alloc(pool, 64), freed);
    EXPECT_EQ(flat_pool_free(pool, kept), FLAT_OK);
    EXPECT_EQ(flat_pool_check(pool), FLAT_OK);
}
