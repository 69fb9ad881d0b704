// Checks the malloc's tables after all kinds of work, and that damage to any of them is detected. Linked with the
// malloc itself.
#include "invariants.hpp"

#include "core/environment.hpp"
#include "core/random_source.hpp"
#include "os/child.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <malloc.h>
#include <thread>
#include <vector>

extern "C" {
#include "extents.h"
#include "spans.h"
#include "states.h"
}

namespace {

using places = std::array<std::atomic<void *>, 512>;

std::size_t any_size(test::random_source &random) {
    if (random.one_in(300)) return random.magnitude(std::uint64_t{20} << 20);
    return random.magnitude(random.one_in(10) ? 300000 : 3000);
}

// Puts blocks where others find them, and frees or resizes what it finds.
void work(places &at, std::uint64_t seed, std::size_t steps) {
    test::random_source random(seed);
    for (std::size_t i = 0; i < steps; i++) {
        void *made = random.one_in(3) ? nullptr : malloc(any_size(random));
        void *found = at[random.below(at.size())].exchange(made);
        if (random.one_in(6)) found = realloc(found, any_size(random) + 1);
        free(found);
    }
}

void empty(places &at) {
    for (auto &place : at) free(place.exchange(nullptr));
}

places shared;

TEST(malloc_invariants, hold_after_each_part_of_one_threads_work) {
    const std::uint64_t seed = test::seed();
    SCOPED_TRACE(testing::Message() << "FLATLINE_TEST_SEED=" << seed);
    for (std::size_t part = 0; part < 100; part++) {
        work(shared, seed + part, test::scaled(2000));
        ASSERT_EQ(test::broken_invariant(), "") << part;
    }
    empty(shared);
    (void)malloc_trim(0);
    ASSERT_EQ(test::broken_invariant(), "");
}

TEST(malloc_invariants, hold_after_threads_have_come_and_gone) {
    const std::uint64_t seed = test::seed();
    SCOPED_TRACE(testing::Message() << "FLATLINE_TEST_SEED=" << seed);
    for (std::size_t part = 0; part < 20; part++) {
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < 4; i++) {
            threads.emplace_back([&, i] { work(shared, seed + part * 4 + i, test::scaled(5000)); });
        }
        for (std::thread &thread : threads) thread.join();
        ASSERT_EQ(test::broken_invariant(), "") << part;
    }
    empty(shared);
    (void)malloc_trim(0);
    ASSERT_EQ(test::broken_invariant(), "");
}

// Does the damage in a child.
void expect_seen(const char *what, const std::function<void()> &damage) {
    EXPECT_EQ(test::in_child([&] {
                  damage();
                  return test::broken_invariant().empty() ? 0 : 1;
              }),
              1)
        << what;
}

TEST(malloc_invariants, that_are_broken_are_seen) {
    work(shared, 1, 20000);
    ASSERT_EQ(test::broken_invariant(), "");
    void *block = malloc(200);
    const std::size_t granule = offset_of(block) / GRANULE;
    const std::uint32_t head = flat_space.pages[granule / (PAGE / GRANULE)].head;
    thread_heap *heap = flat_my_heap;
    unit &span = flat_space.pages[head];
    expect_seen("a live block too many", [&] { state_of(block)[1] = live_at(half_of_granule(granule + 4)); });
    expect_seen("a live block too few", [&] { *state_of(block) = NO_BLOCK; });
    expect_seen("a block at hand that was returned", [&] {
        free(block);
        *state_of(block) = live_state_of(block) ^ STATE_CHANGED;
    });
    expect_seen("a free bit", [&] { flat_space.free[granule / 64] ^= std::uint64_t{1} << granule % 64; });
    expect_seen("a count of blocks", [&] { span.blocks.taken++; });
    expect_seen("a fresh block", [&] { span.blocks.fresh--; });
    expect_seen("a word with free blocks", [&] { span.free_words ^= 1; });
    expect_seen("a tag", [&] { flat_space.tags[head] += 256; });
    expect_seen("the head of a page", [&] { flat_space.pages[head + 1].head++; });
    expect_seen("a count of free pages", [&] { heap->free_pages.free++; });
    expect_seen("a count of dirty pages", [&] { heap->free_pages.dirty++; });
    expect_seen("a list", [&] { heap->free_pages.occupied[0] ^= 1; });
    expect_seen("the queue", [&] { heap->free_pages.oldest = NO_UNIT; });
    expect_seen("a count of free pages", [&] { flat_extents.free_pages.free++; });
    expect_seen("whose a chunk is", [&] { flat_space.chunk_heaps[head / CHUNK_PAGES]++; });
    expect_seen("a block at hand twice", [&] {
        block_at_hand *&top = heap->stacks.top[13];
        free(block);
        top[0] = top[-1];
        top++;
    });
    free(block);
    empty(shared);
    EXPECT_EQ(test::broken_invariant(), "");
}

} // namespace
