// The malloc and threads: remote frees, threads that start and end, and a child forked while they run.
#include "exchange.hpp"

#include "core/environment.hpp"
#include "core/random_source.hpp"
#include "os/child.hpp"
#include "os/system_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <future>
#include <malloc.h>
#include <pthread.h>
#include <thread>
#include <vector>

namespace {

// Of the process: set before its first test.
[[maybe_unused]] const bool only_small_pages = test::keep_to_small_pages();

using test::empty;
using test::exchange;
using test::places;

struct exchanged {
    std::uint64_t bytes; // the most that nearly all blocks have
    std::size_t steps;   // of each thread
};

// Runs threads that exchange blocks, while this one calls `meanwhile` again and again. Returns the number of corrupted
// blocks.
std::size_t spoilt_among(unsigned count, exchanged blocks, std::uint64_t seed, void (*meanwhile)()) {
    static places at;
    std::atomic<std::size_t> spoilt = 0;
    std::atomic<unsigned> going_on = count;
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < count; i++) {
        threads.emplace_back([&, i] {
            spoilt += exchange(at, seed + i, blocks.steps, blocks.bytes);
            going_on--;
        });
    }
    while (going_on != 0) meanwhile();
    for (std::thread &thread : threads) thread.join();
    empty(at);
    return spoilt;
}

TEST(malloc_threads, blocks_freed_by_others_stay_whole_until_then) {
    const std::uint64_t seed = test::seed();
    SCOPED_TRACE(testing::Message() << "FLATLINE_TEST_SEED=" << seed);
    for (const unsigned count : {2U, 3U, 8U}) {
        EXPECT_EQ(spoilt_among(count, {20000, test::scaled(60000)}, seed, [] { std::this_thread::yield(); }), 0U);
    }
}

// A trim takes blocks that were sent to a thread on its behalf, while the thread's own calls change its cache.
TEST(malloc_threads, a_trim_changes_nothing_that_threads_have_at_hand) {
    const std::uint64_t seed = test::seed();
    SCOPED_TRACE(testing::Message() << "FLATLINE_TEST_SEED=" << seed);
    for (const unsigned count : {2U, 3U, 8U}) {
        EXPECT_EQ(spoilt_among(count, {100, test::scaled(1000000)}, seed, [] { (void)malloc_trim(0); }), 0U);
    }
}

// One thread allocates blocks and another frees them. They return to the owner, or memory would grow by 64 MiB, or by a
// GiB. Many small blocks return with one word.
void expect_used_again(std::size_t bytes) {
    constexpr std::size_t batch = 1000;
    std::array<void *, batch> blocks{};
    std::size_t after_first = 0;
    for (std::size_t round = 0; round < 1000; round++) {
        for (void *&block : blocks) {
            block = malloc(bytes);
            std::memset(block, 1, bytes);
        }
        std::thread([&] {
            for (void *block : blocks) free(block);
        }).join();
        if (round == 10) after_first = test::resident_bytes();
    }
    EXPECT_LT(test::resident_bytes(), after_first + (std::size_t{16} << 20)) << bytes;
}

TEST(malloc_threads, blocks_freed_by_others_are_used_again) {
    expect_used_again(64);
    expect_used_again(1000);
}

TEST(malloc_threads, ten_thousand_that_come_and_go_leave_no_memory_behind) {
    const auto storm = [](std::size_t count) {
        for (std::size_t i = 0; i < count; i += 10) {
            std::vector<std::thread> threads;
            for (std::size_t k = 0; k < 10; k++) {
                threads.emplace_back([i, k] {
                    std::vector<void *> blocks; // enough for the thread to get a heap of its own
                    for (std::size_t size = 1; size < 40000; size = size * 5 / 4 + 1 + k)
                        blocks.push_back(malloc(size));
                    for (void *block : blocks) free(block);
                    (void)i;
                });
            }
            for (std::thread &thread : threads) thread.join();
        }
    };
    storm(500);
    const std::size_t before = test::resident_bytes();
    storm(10000);
    EXPECT_LT(test::resident_bytes(), before + (std::size_t{8} << 20));
}

// A block all of whose words are `number`.
struct numbered {
    std::uint64_t *words;
    std::size_t bytes;
    std::uint64_t number;
};

bool is_whole(const numbered &block) {
    for (std::size_t i = 0; i < block.bytes / sizeof *block.words; i++) {
        if (block.words[i] != block.number) return false;
    }
    return true;
}

std::vector<numbered> blocks_of(test::random_source &random, std::size_t sizes) {
    std::vector<numbered> blocks;
    for (std::size_t group = 0; group < sizes; group++) {
        const bool large = random.below(2) == 0;
        const std::size_t bytes = large ? 20000 + random.below(200000) : 64 + random.below(9000);
        const std::size_t count = 1 + random.below(large ? 3 : 60);
        for (std::size_t i = 0; i < count; i++) {
            auto *words = static_cast<std::uint64_t *>(malloc(bytes));
            std::fill_n(words, bytes / sizeof *words, group);
            blocks.push_back({words, bytes, group});
        }
    }
    return blocks;
}

// Another thread frees some of an idle thread's blocks. malloc_trim() reclaims them and merges them with their free
// neighbours, while it walks from one run of pages to the next.
TEST(malloc_threads, a_trim_takes_back_what_lies_between_blocks_of_one_that_sleeps) {
    const std::uint64_t seed = test::seed();
    SCOPED_TRACE(testing::Message() << "FLATLINE_TEST_SEED=" << seed);
    test::random_source random(seed);
    for (std::size_t round = 0; round < test::scaled(40); round++) {
        std::vector<numbered> blocks;
        std::promise<void> allocated, freed;
        std::thread owner([&] {
            blocks = blocks_of(random, 40);
            allocated.set_value();
            freed.get_future().wait();
        });
        allocated.get_future().wait();
        while (!blocks.empty()) {
            const auto kept =
                std::partition(blocks.begin(), blocks.end(), [&](const auto &) { return random.below(3) == 0; });
            for (auto block = blocks.begin(); block != kept; block++) free(block->words);
            blocks.erase(blocks.begin(), kept);
            (void)malloc_trim(0);
            ASSERT_TRUE(std::all_of(blocks.begin(), blocks.end(), is_whole)) << round;
        }
        freed.set_value();
        owner.join();
    }
}

// Blocks outlive the thread that allocated them.
TEST(malloc_threads, what_a_thread_leaves_is_freed_by_another) {
    for (int round = 0; round < 200; round++) {
        std::vector<void *> blocks;
        std::thread([&] {
            for (std::size_t size = 1; size < (std::size_t{2} << 20); size = size * 3 / 2 + 1) {
                blocks.push_back(malloc(size));
                std::memset(blocks.back(), 1, size);
            }
        }).join();
        for (void *block : blocks) free(block);
    }
}

pthread_key_t key;

TEST(malloc_threads, destructors_of_a_thread_allocate_and_free) {
    static std::atomic<int> calls = 0;
    ASSERT_EQ(pthread_key_create(&key,
                                 [](void *block) {
                                     free(block);
                                     free(malloc(100));
                                     if (++calls % 4 != 0) (void)pthread_setspecific(key, malloc(50));
                                 }),
              0);
    for (int i = 0; i < 100; i++) std::thread([] { (void)pthread_setspecific(key, malloc(10)); }).join();
    EXPECT_GE(calls, 100);
    (void)pthread_key_delete(key);
}

TEST(malloc_threads, a_child_forked_in_a_storm_has_a_malloc_that_works) {
    const std::uint64_t seed = test::seed();
    static places at;
    std::atomic<bool> done = false;
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 3; i++) {
        threads.emplace_back([&, i] {
            for (std::uint64_t k = 0; !done; k++) (void)exchange(at, seed + 1000 * i + k, 200);
        });
    }
    for (int i = 0; i < 40 && !HasFailure(); i++) {
        EXPECT_EQ(test::in_child([&] {
                      (void)alarm(10); // a deadlock would last for ever
                      places own{};
                      DEMAND(exchange(own, seed, 3000) == 0);
                      std::thread([&] { empty(own); }).join();
                      for (auto &place : at) free(place.exchange(nullptr)); // the child's copies of the parent's blocks
                      return 0;
                  }),
                  0);
    }
    done = true;
    for (std::thread &thread : threads) thread.join();
    empty(at);
}

} // namespace
