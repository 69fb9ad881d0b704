// How remotely freed blocks return to their owners: from thread caches, by rings, and where that ends. Linked with the
// malloc itself: the test reads its tables, and creates states that otherwise only two simultaneous frees could.
#include "invariants.hpp"

#include "os/child.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <future>
#include <malloc.h>
#include <thread>
#include <vector>

extern "C" {
#include "heaps.h"
#include "returned.h"
#include "rings.h"
#include "spans.h"
#include "states.h"
#include "usage.h"
}

namespace {

constexpr std::size_t size = 200;
const std::size_t number = size / GRANULE + 1;

std::vector<void *> blocks_of(std::size_t count) {
    std::vector<void *> blocks(count);
    for (void *&block : blocks) block = malloc(size);
    return blocks;
}

void in_another_thread(const std::function<void()> &act) { std::thread(act).join(); }

std::size_t on_their_way_to(const thread_heap *heap) {
    std::size_t count = 0;
    for (const home_ring &ring : heap->rings) count += ring.written - ring.read;
    return count;
}

std::size_t returned(const std::vector<void *> &blocks) {
    return static_cast<std::size_t>(std::count_if(
        blocks.begin(), blocks.end(), [](const void *block) { return is_small_returned(offset_of(block) / GRANULE); }));
}

TEST(malloc_home, a_thread_that_only_frees_gets_a_heap_to_have_them_at_hand) {
    const std::vector<void *> blocks = blocks_of(3 * SHARING_CALLS);
    in_another_thread([&] {
        for (void *block : blocks) free(block);
        EXPECT_NE(flat_my_heap, nullptr);
        EXPECT_NE(flat_my_heap, heap_number(heap_of_chunk(offset_of(blocks[0]) >> CHUNK_SHIFT)));
    });
}

TEST(malloc_home, what_another_thread_frees_goes_by_its_ring_until_that_is_full_and_then_by_the_tree) {
    const std::vector<void *> blocks = blocks_of(3 * RING_BLOCKS);
    const thread_heap *mine = flat_my_heap;
    std::promise<void> freed, seen;
    std::thread other([&] {
        for (void *block : blocks_of(2 * SHARING_CALLS)) free(block); // gives it a heap
        for (void *block : blocks) free(block);
        freed.set_value();
        seen.get_future().wait();
    });
    freed.get_future().wait();
    EXPECT_EQ(on_their_way_to(mine), std::size_t{RING_BLOCKS});
    EXPECT_GT(returned(blocks), 0U);
    EXPECT_LE(blocks.size() - RING_BLOCKS - returned(blocks), std::size_t{KEPT_MAX}); // the rest is in its cache
    EXPECT_EQ(test::broken_invariant(), "");
    seen.set_value();
    other.join();
}

TEST(malloc_home, the_owner_takes_back_in_a_stated_number_of_calls) {
    std::vector<void *> blocks = blocks_of(3 * RING_BLOCKS);
    in_another_thread([&] {
        for (void *block : blocks) free(block);
    });
    // Each call that finds the cache empty takes blocks from the rings, or else RETURNED_PAGES of what came by the
    // tree.
    for (std::size_t i = 0; i < 6 * RING_BLOCKS; i++) blocks.push_back(malloc(size));
    EXPECT_EQ(on_their_way_to(flat_my_heap), 0U);
    EXPECT_FALSE(flat_has_returned(flat_my_heap));
    EXPECT_EQ(returned(blocks), 0U);
    for (std::size_t i = 3 * RING_BLOCKS; i < blocks.size(); i++) free(blocks[i]);
    EXPECT_EQ(test::broken_invariant(), "");
}

TEST(malloc_home, a_thread_that_ends_leaves_the_rings_it_sent_by_to_others) {
    const thread_heap *mine = flat_my_heap;
    for (std::size_t round = 0; round < 3 * std::size_t{RINGS}; round++) {
        const std::vector<void *> blocks = blocks_of(2 * KEPT_MAX + 2 * SHARING_CALLS);
        in_another_thread([&] {
            for (void *block : blocks) free(block);
        });
        for (const home_ring &ring : mine->rings) EXPECT_EQ(ring.sender, 0U);
    }
    EXPECT_EQ(test::broken_invariant(), "");
}

TEST(malloc_home, what_is_sent_to_a_thread_that_has_ended_is_taken_back_by_who_sends) {
    std::vector<void *> blocks;
    const thread_heap *left = nullptr;
    in_another_thread([&] {
        blocks = blocks_of(4 * RING_BLOCKS);
        left = flat_my_heap;
    });
    for (void *block : blocks) free(block);
    EXPECT_EQ(on_their_way_to(left), 0U);
    EXPECT_LE(std::count_if(blocks.begin(), blocks.end(),
                            [](const void *block) {
                                const std::size_t granule = offset_of(block) / GRANULE;
                                return (flat_space.free[granule / 64] >> granule % 64 & 1) == 0 &&
                                       class_of_tag(tag_of(granule / (PAGE / GRANULE))) == number;
                            }),
              3 * KEPT_MAX); // cached here, in the heap left behind, and in the one that served its first calls
    EXPECT_EQ(test::broken_invariant(), "");
}

TEST(malloc_home, malloc_trim_takes_what_is_on_its_way_to_a_thread_that_sleeps) {
    std::promise<std::vector<void *>> made;
    std::promise<void> done;
    thread_heap *sleeping = nullptr;
    std::thread owner([&] {
        std::vector<void *> blocks = blocks_of(4 * RING_BLOCKS);
        sleeping = flat_my_heap;
        made.set_value(blocks);
        done.get_future().wait();
    });
    for (void *block : made.get_future().get()) free(block);
    EXPECT_GT(on_their_way_to(sleeping), 0U);
    (void)malloc_trim(0);
    EXPECT_EQ(on_their_way_to(sleeping), 0U);
    EXPECT_EQ(test::broken_invariant(), "");
    done.set_value();
    owner.join();
}

// Leaves a block in the cache twice, as two simultaneous frees of it do.
void have_at_hand_twice(void *block) {
    free(block);
    block_at_hand *&top = flat_my_heap->stacks.top[number];
    top[0] = top[-1];
    top++;
}

int stopped_by(const std::function<void()> &act) {
    return test::in_child([&] {
        if (std::freopen("/dev/null", "w", stderr) == nullptr) return 1;
        act();
        return 0;
    });
}

TEST(malloc_home, a_block_at_hand_twice_is_not_handed_out_twice) {
    EXPECT_EQ(stopped_by([] {
                  have_at_hand_twice(malloc(size));
                  (void)!malloc(size);
                  (void)!malloc(size);
              }),
              128 + SIGABRT);
}

TEST(malloc_home, a_block_at_hand_twice_is_noticed_as_it_comes_home) {
    EXPECT_EQ(stopped_by([] {
                  have_at_hand_twice(malloc(size));
                  (void)malloc_trim(0);
              }),
              128 + SIGABRT);
}

TEST(malloc_home, a_block_at_hand_in_two_threads_is_noticed_as_it_comes_home) {
    EXPECT_EQ(stopped_by([] {
                  void *block = malloc(size);
                  in_another_thread([&] {
                      for (void *own : blocks_of(2 * SHARING_CALLS)) free(own);
                      free(block);
                      store_state(state_of(block), live_state_of(block)); // the state seen by a free that began earlier
                  });
                  free(block);
                  (void)malloc_trim(0);
              }),
              128 + SIGABRT);
}

TEST(malloc_home, a_block_that_somebody_holds_is_not_sent_home) {
    EXPECT_EQ(stopped_by([] {
                  const std::vector<void *> blocks = blocks_of(2 * KEPT_MAX);
                  in_another_thread([&] {
                      for (void *own : blocks_of(2 * SHARING_CALLS)) free(own);
                      free(blocks[0]);
                      store_state(state_of(blocks[0]), live_state_of(blocks[0])); // as if handed out again
                      for (std::size_t i = 1; i < blocks.size(); i++) free(blocks[i]);
                      std::_Exit(0);
                  });
              }),
              128 + SIGABRT);
}

// fork() copies memory page by page: here the other thread allocated the block after the page of its cache was copied,
// and before the page of the block's state was.
TEST(malloc_home, what_other_threads_have_at_hand_is_nobodys_in_a_child_of_fork) {
    std::promise<void *> freed;
    std::promise<void> done;
    std::thread other([&] {
        for (void *own : blocks_of(2 * SHARING_CALLS)) free(own);
        void *kept = malloc(size), *block = malloc(size); // `kept` keeps their span in use
        free(block);
        freed.set_value(block);
        done.get_future().wait();
        free(kept);
    });
    void *block = freed.get_future().get();
    store_state(state_of(block), live_state_of(block));
    EXPECT_EQ(stopped_by([&] {
                  bool again = false;
                  in_another_thread([&] { // this thread takes over the other one's heap
                      for (const void *got : blocks_of(4 * KEPT_MAX)) again |= got == block;
                  });
                  (void)malloc_trim(0);
                  if (again) std::abort();
              }),
              0);
    store_state(state_of(block), NO_BLOCK);
    done.set_value();
    other.join();
    EXPECT_EQ(test::broken_invariant(), "");
}

// A program can exit from a signal handler that interrupted a malloc, which holds the lock.
TEST(malloc_home, who_counts_and_does_not_wait_leaves_out_what_is_locked) {
    const std::vector<void *> blocks = blocks_of(1000);
    const flat_usage all = flat_usage_now(true);
    EXPECT_EQ(flat_usage_now(false).live_bytes, all.live_bytes);
    const int status = test::in_child([] {
        (void)alarm(3);
        const std::size_t before = flat_usage_now(false).live_blocks;
        if (pthread_mutex_lock(&flat_my_heap->lock) != 0) return 1;
        return flat_usage_now(false).live_blocks + 1000 <= before ? 0 : 2;
    });
    EXPECT_EQ(status, 0);
    for (void *block : blocks) free(block);
}

} // namespace
