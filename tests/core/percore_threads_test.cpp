// A set that several threads use: owners and threads that only free, two frees of one block, owners that come and go.
// Outside the set, the threads synchronize only as far as they must to meet. So ThreadSanitizer can see whether the set
// itself orders their accesses to blocks and lists.
#include "core/environment.hpp"
#include "core/processors.hpp"
#include "core/random_source.hpp"
#include "core/test_percore.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

namespace {

using test::random_source;
using test::test_percore;

// Under ThreadSanitizer and on slower machines a step costs about ten times as much.
std::size_t steps(std::size_t usual) { return test::scaled(usual) / (test::thread_sanitizer ? 4 : 1) + 1; }

// An owner fills each block from a stamp. The thread that frees the block checks it.
struct stamp {
    std::uint32_t size;
    std::uint32_t by;
    std::uint64_t number;
};

void fill(void *block, const stamp &of) {
    std::memset(block, static_cast<int>(of.number & 255), of.size);
    std::memcpy(block, &of, sizeof of);
}

bool is_whole(const void *block) {
    stamp of;
    std::memcpy(&of, block, sizeof of);
    const auto *bytes = static_cast<const unsigned char *>(block);
    for (std::size_t i = sizeof of; i < of.size; i++) {
        if (bytes[i] != (of.number & 255)) return false;
    }
    return true;
}

// The places in which threads leave blocks for each other.
using places = std::array<std::atomic<void *>, 64>;

struct outcome {
    std::uint64_t allocated = 0, freed = 0, spoilt = 0, refused = 0;
};

// Runs each of the functions in a thread of its own.
void together(const std::vector<std::function<void()>> &parts) {
    const test::processors cores;
    std::vector<std::thread> threads;
    for (const auto &part : parts) {
        threads.emplace_back([&part, &cores, number = threads.size()] {
            cores.keep_to(number);
            part();
        });
    }
    for (std::thread &thread : threads) thread.join();
}

// The work of an owner: it allocates, puts each block into a random place and frees the block that was there, which is
// its own or another owner's.
void own(flat_percore *set, places &met, std::uint32_t by, std::size_t rounds, outcome &out) {
    random_source random(test::seed() + by);
    flat_pool *shard = flat_percore_adopt(set);
    for (std::size_t i = 0; i < rounds; i++) {
        if (random.one_in(5000)) {
            flat_percore_leave(shard);
            // There are as many shards as owners, so one is free. But another owner may take it first.
            do shard = flat_percore_adopt(set);
            while (shard == nullptr);
        }
        if (random.one_in(1000)) (void)flat_percore_drain(shard, random.below(20));
        const auto size = static_cast<std::uint32_t>(sizeof(stamp) + random.below(300));
        void *const block = flat_percore_alloc(shard, size);
        if (block == nullptr) continue;
        out.allocated++;
        fill(block, {size, by, i});
        void *const other = met[random.below(met.size())].exchange(block, std::memory_order_acq_rel);
        if (other == nullptr) continue;
        out.spoilt += !is_whole(other);
        const flat_status status =
            random.one_in(4) ? flat_percore_free(set, other) : flat_percore_free_as(shard, other);
        out.freed += status == FLAT_OK;
        out.refused += status != FLAT_OK;
    }
    flat_percore_leave(shard);
}

// The work of a thread that owns no shard: it only frees.
void only_free(flat_percore *set, places &met, std::uint32_t by, std::size_t rounds, outcome &out) {
    random_source random(test::seed() - by);
    for (std::size_t i = 0; i < rounds; i++) {
        void *const block = met[random.below(met.size())].exchange(nullptr, std::memory_order_acq_rel);
        if (block == nullptr) continue;
        out.spoilt += !is_whole(block);
        const flat_status status = flat_percore_free(set, block);
        out.freed += status == FLAT_OK;
        out.refused += status != FLAT_OK;
    }
}

void expect_all_there(test_percore &set) {
    for (std::size_t s = 0; s < set.shards(); s++) {
        (void)flat_percore_flush(set.shard(s));
        EXPECT_EQ(flat_percore_late_double_frees(set.shard(s)), 0u);
        EXPECT_EQ(test::live_in(set.shard(s)), 0u);
    }
    EXPECT_TRUE(set.is_sound());
    for (std::size_t s = 0; s < set.shards(); s++) {
        for (const flat_class &c : set.classes()) {
            EXPECT_EQ(test::as_set(test::take_all(set.shard(s), c.block_size)).size(), c.block_count);
        }
    }
}

void stress(const std::vector<flat_class> &classes, std::uint32_t owners, std::uint32_t freeing) {
    SCOPED_TRACE("FLATLINE_TEST_SEED=" + std::to_string(test::seed()));
    test_percore set(classes, owners, PROT_READ | PROT_WRITE);
    places met{};
    std::vector<outcome> outcomes(owners + freeing);
    std::vector<std::function<void()>> parts;
    const std::size_t rounds = steps(400000);
    for (std::uint32_t i = 0; i < owners; i++) parts.emplace_back([&, i] { own(set, met, i, rounds, outcomes[i]); });
    for (std::uint32_t i = owners; i < owners + freeing; i++) {
        parts.emplace_back([&, i] { only_free(set, met, i, rounds, outcomes[i]); });
    }
    together(parts);
    outcome all;
    for (std::atomic<void *> &place : met) {
        if (void *block = place.load()) all.freed += flat_percore_free(set, block) == FLAT_OK;
    }
    for (const outcome &one : outcomes) {
        all.allocated += one.allocated;
        all.freed += one.freed;
        all.spoilt += one.spoilt;
        all.refused += one.refused;
    }
    EXPECT_EQ(all.allocated, all.freed);
    EXPECT_EQ(all.spoilt, 0u) << "blocks whose content was not what their owner wrote";
    EXPECT_EQ(all.refused, 0u);
    expect_all_there(set);
}

// Two or more threads free the same blocks. In every second round, every second thread goes in the opposite order.
void free_twice(std::size_t count, std::size_t threads) {
    constexpr std::size_t most = 200;
    test_percore set({{48, count}}, 2);
    const std::size_t rounds = steps(3000), each = std::min(count, most);
    std::vector<void *> blocks;
    std::vector<std::vector<flat_status>> got(threads, std::vector<flat_status>(each));
    std::size_t wrong = 0, collected = 0;
    const auto judge = [&] {
        for (std::size_t i = 0; i < each; i++) {
            std::size_t freed = 0, refused = 0;
            for (const auto &statuses : got) {
                freed += statuses[i] == FLAT_OK;
                refused += statuses[i] == FLAT_DOUBLE_FREE;
            }
            wrong += freed != 1 || refused != threads - 1;
        }
        collected += flat_percore_flush(set.shard(1));
        blocks = test::take(set.shard(1), 48, each);
    };
    blocks = test::take(set.shard(1), 48, each);
    std::barrier<> begin(static_cast<std::ptrdiff_t>(threads));
    std::vector<std::function<void()>> parts;
    for (std::size_t t = 0; t < threads; t++) {
        parts.emplace_back([&, t] {
            for (std::size_t round = 0; round < rounds; round++) {
                begin.arrive_and_wait();
                for (std::size_t i = 0; i < each; i++) {
                    const std::size_t at = round % 2 == 1 && t % 2 == 1 ? each - 1 - i : i;
                    got[t][at] = flat_percore_free(set, blocks[at]);
                }
                begin.arrive_and_wait();
                if (t == 0) judge();
            }
        });
    }
    together(parts);
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(collected, rounds * each) << "each block came back once";
    EXPECT_TRUE(set.is_sound());
}

} // namespace

TEST(percore_threads, blocks_of_several_owners_freed_by_all) { stress({{64, 40}, {128, 140}, {320, 100}}, 3, 2); }

TEST(percore_threads, blocks_of_deep_trees_freed_by_all) { stress({{64, 9000}, {320, 200}}, 2, 2); }

TEST(percore_threads, few_blocks_freed_by_all) { stress({{320, 3}}, 2, 3); }

// Every block is freed remotely, and none is lost: the owner eventually gets each one back without a drain.
TEST(percore_threads, an_owner_gets_back_what_another_frees) {
    for (std::size_t count : {1u, 20u, 300u, 9000u}) {
        test_percore set({{sizeof(std::uint64_t), count}}, 1, PROT_READ | PROT_WRITE);
        std::array<std::atomic<void *>, 16> queue{};
        const std::size_t rounds = steps(30000) + 2 * count;
        std::size_t refused = 0, out_of_order = 0;
        std::atomic<bool> given_up = false;
        // Each wait ends after 20 seconds, in case a block is lost. Other programs may hold the processor for a while.
        const auto comes = [&](const auto &is_there) {
            const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
            while (!is_there() && !given_up) {
                std::this_thread::yield();
                if (std::chrono::steady_clock::now() > until) given_up = true;
            }
            return !given_up;
        };
        together({[&] {
                      for (std::uint64_t i = 0; i < rounds; i++) {
                          void *block;
                          if (!comes([&] { return (block = flat_percore_alloc(set.shard(0), 8)) != nullptr; })) return;
                          std::memcpy(block, &i, sizeof i);
                          std::atomic<void *> &place = queue[i % queue.size()];
                          if (!comes([&] { return place.load(std::memory_order_relaxed) == nullptr; })) return;
                          place.store(block, std::memory_order_release);
                      }
                  },
                  [&] {
                      for (std::uint64_t i = 0; i < rounds; i++) {
                          void *block;
                          std::atomic<void *> &place = queue[i % queue.size()];
                          if (!comes([&] { return (block = place.load(std::memory_order_acquire)) != nullptr; }))
                              return;
                          std::uint64_t written;
                          std::memcpy(&written, block, sizeof written);
                          out_of_order += written != i;
                          place.store(nullptr, std::memory_order_relaxed);
                          refused += flat_percore_free(set, block) != FLAT_OK;
                      }
                  }});
        ASSERT_FALSE(given_up) << count;
        EXPECT_EQ(refused + out_of_order, 0u) << count;
        expect_all_there(set);
    }
}

TEST(percore_threads, two_frees_of_one_block_are_one_free) { free_twice(100, 2); }
TEST(percore_threads, two_frees_of_one_block_of_a_deep_tree_are_one_free) { free_twice(9000, 2); }
TEST(percore_threads, three_frees_of_one_block_are_one_free) { free_twice(20, 3); }

TEST(percore_threads, that_come_at_once_adopt_a_shard_each) {
    constexpr std::size_t threads = 4;
    test_percore set({{16, 4}}, threads);
    std::array<flat_pool *, threads> adopted{};
    std::size_t wrong = 0;
    std::barrier<> begin(threads);
    std::vector<std::function<void()>> parts;
    for (std::size_t t = 0; t < threads; t++) {
        parts.emplace_back([&, t] {
            for (std::size_t round = steps(3000); round > 0; round--) {
                begin.arrive_and_wait();
                adopted[t] = flat_percore_adopt(set);
                begin.arrive_and_wait();
                if (t != 0) continue;
                const std::set<flat_pool *> different(adopted.begin(), adopted.end());
                wrong += different.size() != threads || different.count(nullptr) != 0;
                wrong += flat_percore_adopt(set) != nullptr;
                for (flat_pool *shard : adopted) flat_percore_leave(shard);
            }
        });
    }
    together(parts);
    EXPECT_EQ(wrong, 0u);
}

// There are more threads than shards. The next owner of a shard sees what the previous one wrote (here to a plain
// number beside the shard's own lists), and no two write at the same time. ThreadSanitizer checks both.
TEST(percore_threads, own_a_shard_one_at_a_time) {
    constexpr std::size_t threads = 4, shards = 2;
    test_percore set({{16, 8}, {48, 3}}, shards);
    std::uint64_t worked[shards] = {}; // each written by the shard's owner
    std::array<std::uint64_t, threads> did{};
    std::vector<std::function<void()>> parts;
    for (std::size_t t = 0; t < threads; t++) {
        parts.emplace_back([&, t] {
            for (std::size_t i = steps(300000); i > 0; i--) {
                flat_pool *shard = flat_percore_adopt(set);
                if (shard == nullptr) continue;
                worked[shard == set.shard(0) ? 0 : 1]++;
                did[t]++;
                void *a = flat_percore_alloc(shard, 16), *b = flat_percore_alloc(shard, 48);
                (void)flat_percore_free(set, a);
                (void)flat_percore_free_as(shard, b);
                flat_percore_leave(shard);
            }
        });
    }
    together(parts);
    std::uint64_t all = 0;
    for (std::uint64_t one : did) all += one;
    EXPECT_EQ(worked[0] + worked[1], all);
    EXPECT_GT(all, 0u);
    expect_all_there(set);
}

// Meanwhile the owner drains and reads statistics, as only it may. Each answer must be right for some moment.
TEST(percore_threads, free_while_the_owner_looks_and_drains) {
    constexpr std::size_t count = 300;
    test_percore set({{16, count}}, 1);
    for (std::size_t round = steps(1000); round > 0; round--) {
        const std::vector<void *> blocks = test::take(set.shard(0), 16, count);
        std::atomic<bool> done = false;
        std::size_t refused = 0, drained = 0, wrong = 0;
        together({[&] {
                      for (void *block : blocks) refused += flat_percore_free(set, block) != FLAT_OK;
                      done = true;
                  },
                  [&] {
                      std::size_t last = count;
                      while (!done) {
                          drained += flat_percore_drain(set.shard(0), 7);
                          const std::size_t live = set.stats(0)[0].live;
                          wrong += live > last || live + drained > count;
                          last = live;
                      }
                  }});
        drained += flat_percore_flush(set.shard(0));
        ASSERT_EQ(refused + wrong, 0u);
        ASSERT_EQ(drained, count);
        ASSERT_TRUE(set.is_sound());
    }
}
