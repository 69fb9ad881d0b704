// A local and a remote free of the same block at the same time: tests what <flatline/percore.h> says about double
// frees. In terms of the C standard this is a data race, so there is no ThreadSanitizer build of this test.
#include "core/environment.hpp"
#include "core/processors.hpp"
#include "core/test_percore.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <thread>
#include <vector>

namespace {

using test::test_percore;

// A barrier for two threads, after which both continue as nearly at the same time as possible.
class start_line {
  public:
    void wait() {
        const std::uint64_t round = arrived_.fetch_add(1) / 2;
        for (int spins = 0; arrived_.load() < 2 * (round + 1); spins++) {
            if (spins > 1000) std::this_thread::yield(); // the other thread has no core
        }
    }

  private:
    std::atomic<std::uint64_t> arrived_ = 0;
};

// A delay that the compiler cannot remove.
void linger(std::uint64_t turns) {
    for (std::atomic<std::uint64_t> turn = 0; turn.load(std::memory_order_relaxed) < turns;) {
        turn.store(turn.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
}

// The outcomes of the blocks that both threads freed.
struct tally {
    std::uint64_t by_owner = 0, by_other = 0, by_both = 0;
    std::uint64_t wrong = 0, unsound = 0;
};

void expect_nothing_wrong(const tally &all) {
    std::cout << all.by_owner << " blocks were freed by the owner, " << all.by_other << " by the other, " << all.by_both
              << " by both\n";
    EXPECT_EQ(all.wrong, 0u);
    EXPECT_EQ(all.unsound, 0u);
}

// In each round the owner and another thread free every block. In every second round the other thread goes in reverse
// order, so that they meet in the middle. Both delay their start, by all combinations of lengths, because the claim
// must fall between two adjacent instructions.
//
// At the end of a round no free is in progress, and the owner flushes before it allocates. So each block that both
// threads freed still has its mark, no one has freed it again, and the late double frees equal the pairs of the round.
void race(std::size_t count, std::size_t rounds) {
    test_percore set({{16, count}}, 1);
    flat_pool *shard = set.shard(0);
    tally all;
    std::vector<void *> blocks(count);
    std::vector<flat_status> local(count), remote(count);
    start_line line;
    const test::processors cores;
    cores.keep_to(0);
    std::thread other([&] {
        cores.keep_to(1);
        for (std::size_t round = 0; round < rounds; round++) {
            line.wait();
            linger(round / 2 % 64);
            for (std::size_t i = 0; i < count; i++) {
                const std::size_t at = round % 2 == 0 ? i : count - 1 - i;
                remote[at] = flat_percore_free(set, blocks[at]);
            }
            line.wait();
        }
    });
    for (std::size_t round = 0; round < rounds; round++) {
        blocks = test::take(shard, 16, count);
        all.wrong += test::as_set(blocks).size() != count || flat_percore_alloc(shard, 16) != nullptr;
        line.wait();
        linger(round / 128 % 64);
        for (std::size_t i = 0; i < count; i++) local[i] = flat_pool_free(shard, blocks[i]);
        line.wait();
        std::size_t by_both = 0, by_other = 0;
        for (std::size_t i = 0; i < count; i++) {
            by_both += local[i] == FLAT_OK && remote[i] == FLAT_OK;
            by_other += local[i] == FLAT_DOUBLE_FREE && remote[i] == FLAT_OK;
            all.by_owner += local[i] == FLAT_OK && remote[i] == FLAT_DOUBLE_FREE;
        }
        const std::uint64_t late = flat_percore_late_double_frees(shard);
        all.unsound += !set.is_sound();
        all.wrong += flat_percore_flush(shard) != by_other;
        all.wrong += flat_percore_late_double_frees(shard) != late + by_both;
        all.unsound += !set.is_sound();
        all.by_both += by_both;
        all.by_other += by_other;
    }
    other.join();
    EXPECT_EQ(all.by_owner + all.by_other + all.by_both, rounds * count);
    expect_nothing_wrong(all);
}

} // namespace

TEST(percore_overlap, of_one_block_each_round) { race(1, test::scaled(60000)); }
TEST(percore_overlap, of_blocks_of_one_level) { race(100, test::scaled(15000)); }
TEST(percore_overlap, of_blocks_of_two_levels) { race(300, test::scaled(6000)); }
TEST(percore_overlap, of_blocks_of_three_levels) { race(9000, test::scaled(200)); }

// The owner keeps allocating while another thread repeatedly frees the block allocated last. So the owner collects
// blocks while the other thread is between its claim and its mark. Each block is freed by the owner, by the other
// thread, or by both. At most the frees by both are counted as late double frees: if the other thread frees the block
// once more before the owner finds the mark, both marks are in the same place and count once.
TEST(percore_overlap, while_the_owner_allocates) {
    for (std::size_t count : {1u, 4u, 40u, 200u}) {
        test_percore set({{16, count}}, 1);
        flat_pool *shard = set.shard(0);
        std::atomic<void *> last = nullptr;
        std::atomic<bool> begun = false, done = false;
        std::uint64_t handed_out = 0, by_owner = 0, by_other = 0, wrong = 0;
        const test::processors cores;
        cores.keep_to(0);
        std::thread other([&] {
            cores.keep_to(1);
            begun = true;
            while (!done.load(std::memory_order_relaxed)) {
                void *block = last.load(std::memory_order_acquire);
                if (block == nullptr) continue;
                const flat_status status = flat_percore_free(set, block);
                by_other += status == FLAT_OK;
                wrong += status != FLAT_OK && status != FLAT_DOUBLE_FREE;
            }
        });
        while (!begun) std::this_thread::yield();
        for (std::size_t i = test::scaled(1000000); i > 0; i--) {
            // There are rarely more than 8 pairs between two flushes, and 14 pairs of one block are harmless.
            if (i % 8 == 0) (void)flat_percore_flush(shard);
            void *block = flat_percore_alloc(shard, 16);
            if (block == nullptr) continue; // the mark is still to come, or it was a late double free
            handed_out++;
            last.store(block, std::memory_order_release);
            const flat_status status = flat_pool_free(shard, block);
            by_owner += status == FLAT_OK;
            wrong += status != FLAT_OK && status != FLAT_DOUBLE_FREE;
        }
        done = true;
        other.join();
        (void)flat_percore_flush(shard);
        EXPECT_EQ(wrong, 0u);
        EXPECT_GE(by_owner + by_other, handed_out);
        EXPECT_LE(flat_percore_late_double_frees(shard), by_owner + by_other - handed_out);
        std::cout << by_owner + by_other - handed_out << " of " << handed_out << " blocks were freed by both, "
                  << flat_percore_late_double_frees(shard) << " counted\n";
        EXPECT_TRUE(set.is_sound());
        EXPECT_EQ(test::as_set(test::take_all(shard, 16)).size(), count);
    }
}
