// Stops a freeing thread after each instruction of a remote free in turn. The owner and other threads must go on within
// their bounds, and must lack at most as many blocks as `flat_percore_parked_bound` says.
#include "core/percore_state.h"
#include "percore/stopped_call.hpp"
#include "prove/stepper.hpp"

#include <flatline/percore.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <sys/time.h>

extern "C" const char __executable_start, etext;

namespace {

using test::stopped_call;

constexpr std::size_t size = 16;

void *map_shared(std::size_t bytes) {
    void *start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) throw std::runtime_error("no memory");
    return start;
}

// A set of one shard in memory that forked processes share. All of its blocks are live.
class shared_set {
  public:
    explicit shared_set(std::size_t count) : class_{size, count}, options_{&class_, 1, 1} {
        if (flat_percore_footprint(&options_, &need_) != FLAT_OK) throw std::runtime_error("no footprint");
        metadata_ = map_shared(need_.metadata_bytes);
        memory_ = map_shared(need_.block_bytes);
        start_again();
    }
    shared_set(const shared_set &) = delete;
    shared_set &operator=(const shared_set &) = delete;
    ~shared_set() {
        (void)munmap(metadata_, need_.metadata_bytes);
        (void)munmap(memory_, need_.block_bytes);
    }

    void start_again() {
        if (flat_percore_init(&set, &options_, {metadata_, need_.metadata_bytes}, {memory_, need_.block_bytes}) !=
            FLAT_OK) {
            throw std::runtime_error("no set");
        }
        shard = flat_percore_shard(set, 0);
        blocks = take_all();
    }

    std::vector<void *> take_all() const {
        std::vector<void *> taken;
        while (void *block = flat_percore_alloc(shard, size)) taken.push_back(block);
        return taken;
    }

    std::size_t count() const { return class_.block_count; }
    std::size_t bound(std::size_t threads) const { return flat_percore_parked_bound(count(), threads); }

    flat_percore *set = nullptr;
    flat_pool *shard = nullptr;
    std::vector<void *> blocks;

  private:
    flat_class class_;
    flat_percore_options options_;
    flat_footprint need_{};
    void *metadata_, *memory_;
};

int remote_free(flat_percore *set, void *block) { return flat_percore_free(set, block); }
int local_free(flat_pool *shard, void *block) { return flat_pool_free(shard, block); }

using free_function = int(flat_percore *, void *);

// The most instructions that a call of each may take, by <flatline/percore.h> and <flatline/pool.h>.
const std::map<std::string, std::uint64_t> limits = {
    {"flat_percore_free", 100}, {"flat_percore_alloc", 350}, {"flat_pool_free", 60}};

// Runs `calls` beside the stopped thread, in a process that shares the set, and counts their instructions. Throws if a
// call takes too long, or if `calls` have not ended after a second of processor time.
void go_on(const std::function<void()> &calls) {
    std::vector<flat::test::Watched> watched{{"flat_percore_free", reinterpret_cast<const void *>(flat_percore_free)},
                                             {"flat_percore_alloc", reinterpret_cast<const void *>(flat_percore_alloc)},
                                             {"flat_pool_free", reinterpret_cast<const void *>(flat_pool_free)}};
    const std::vector<flat::test::CodeRange> code{
        {reinterpret_cast<std::uintptr_t>(&__executable_start), reinterpret_cast<std::uintptr_t>(&etext)}};
    flat::test::step_through(watched, code, [&] {
        const itimerval second{{0, 0}, {1, 0}};
        (void)setitimer(ITIMER_VIRTUAL, &second, nullptr);
        flat::test::watch(true);
        calls();
        flat::test::watch(false);
    });
    for (const flat::test::Watched &each : watched) {
        if (each.most > limits.at(each.name)) throw std::runtime_error(each.name + " takes too long");
    }
}

void require(bool holds) {
    if (!holds) _exit(1);
}

void must(bool holds, const char *otherwise) {
    if (!holds) throw std::runtime_error(otherwise);
}

// Returns how many blocks are out of reach while threads are stopped. The stopped threads free the blocks `held`; the
// others free the rest, one of them possibly before the threads start.
std::size_t out_of_reach(shared_set &in, const std::vector<std::size_t> &held, const std::vector<unsigned> &steps,
                         free_function *free, free_function *others, bool is_first, bool &is_done) {
    in.start_again();
    std::set<void *> rest(in.blocks.begin(), in.blocks.end());
    const auto give = [&](std::size_t index) {
        require(rest.erase(in.blocks[index]) == 1 && others(in.set, in.blocks[index]) == FLAT_OK);
    };
    for (const std::size_t each : held) rest.erase(in.blocks[each]);
    if (!is_first) give(held[0] + 1);
    std::vector<std::unique_ptr<stopped_call>> stopped;
    is_done = true;
    for (std::size_t i = 0; i < held.size(); i++) {
        stopped.push_back(std::make_unique<stopped_call>(free, in.set, in.blocks[held[i]]));
        is_done &= !stopped[i]->step(steps[i]);
    }
    const std::size_t neighbour = held[0] + 2, far = in.count() - 1, own = 0;
    go_on([&] {
        require(others(in.set, in.blocks[neighbour]) == FLAT_OK); // in the same group
        void *found = flat_percore_alloc(in.shard, size);
        require(found == nullptr || flat_pool_free(in.shard, found) == FLAT_OK);
        require(flat_pool_free(in.shard, in.blocks[own]) == FLAT_OK);
        require(flat_percore_alloc(in.shard, size) != nullptr);
        require(others(in.set, in.blocks[far]) == FLAT_OK);
        found = flat_percore_alloc(in.shard, size);
        require(found == nullptr || others(in.set, found) == FLAT_OK);
    });
    for (const std::size_t each : {neighbour, own, far}) rest.erase(in.blocks[each]);
    for (void *block : rest) must(flat_percore_free(in.set, block) == FLAT_OK, "a live block was refused");
    // The owner has kept one block since the calls above.
    const std::size_t parked = in.count() - 1 - in.take_all().size();
    for (const auto &each : stopped) must(each->finish() == FLAT_OK, "the stopped free was refused");
    must(in.take_all().size() == parked, "what was held back did not come back");
    must(flat_percore_check(in.shard) == FLAT_OK, "the shard is corrupted");
    return parked;
}

// Block counts that give a tree of one, two and three levels.
const std::size_t counts[] = {100, 5000, 70000};

class stopping : public testing::Test {
  protected:
    void SetUp() override {
        try {
            shared_set in(4);
            stopped_call once(remote_free, in.set, in.blocks[0]);
        } catch (const test::cannot_trace &why) {
            GTEST_SKIP() << why.what();
        }
    }
};

} // namespace

TEST_F(stopping, after_any_instruction_of_a_remote_free_holds_back_no_more_than_the_bound) {
    for (const std::size_t count : counts) {
        shared_set in(count);
        for (const bool is_first : {true, false}) {
            std::size_t most = 0;
            unsigned at = 0, step = 0;
            for (bool is_done = false; !is_done; step++) {
                const std::size_t parked =
                    out_of_reach(in, {count / 2}, {step}, remote_free, remote_free, is_first, is_done);
                ASSERT_LE(parked, in.bound(1)) << "after " << step << " instructions";
                ASSERT_TRUE(!is_done || parked == 0);
                if (parked > most) most = parked, at = step;
            }
            std::printf("%zu blocks, %s of its leaf: %u instructions, the most out of reach: %zu, first after %u\n",
                        count, is_first ? "first" : "not first", step - 1, most, at);
            EXPECT_EQ(most, is_first ? in.bound(1) : 1u) << "the bound is met";
        }
    }
}

TEST_F(stopping, two_threads_hold_back_no_more_than_the_bound_of_two) {
    for (const std::size_t count : counts) {
        shared_set in(count);
        for (const std::size_t apart : {std::size_t{5}, std::size_t{20}, count / 3}) {
            std::size_t most = 0;
            for (unsigned first = 0; first < 85; first += 11) {
                for (unsigned second = 0; second < 85; second += 12) {
                    bool is_done;
                    const std::size_t parked = out_of_reach(in, {count / 2, count / 2 + apart}, {first, second},
                                                            remote_free, remote_free, true, is_done);
                    ASSERT_LE(parked, in.bound(2)) << first << " and " << second << " instructions";
                    most = std::max(most, parked);
                }
            }
            std::printf("%zu blocks, two that are %zu apart: the most out of reach: %zu\n", count, apart, most);
        }
    }
}

TEST_F(stopping, of_two_frees_by_other_threads_one_takes_effect) {
    shared_set in(100);
    unsigned by_the_other = 0, step = 0;
    for (bool goes_on = true; goes_on; step++) {
        in.start_again();
        void *block = in.blocks[50];
        stopped_call stopped(remote_free, in.set, block);
        goes_on = stopped.step(step);
        const flat_status other = flat_percore_free(in.set, block);
        const int own = stopped.finish();
        ASSERT_TRUE((other == FLAT_OK) != (own == FLAT_OK)) << step;
        ASSERT_EQ(other == FLAT_OK ? own : other, FLAT_DOUBLE_FREE);
        ASSERT_EQ(in.take_all(), std::vector<void *>{block});
        by_the_other += other == FLAT_OK;
    }
    EXPECT_GT(by_the_other, 0u);
    EXPECT_LT(by_the_other, step);
}

TEST_F(stopping, a_local_free_between_two_instructions_of_a_remote_one_is_decided_by_the_claim) {
    shared_set in(100);
    bool was_claimed = false;
    unsigned step = 0;
    for (bool goes_on = true; goes_on; step++) {
        in.start_again();
        void *block = in.blocks[50];
        stopped_call stopped(remote_free, in.set, block);
        goes_on = stopped.step(step);
        const bool is_claimed = percore_is_claimed(in.shard, block);
        ASSERT_TRUE(is_claimed || !was_claimed);
        was_claimed = is_claimed;
        ASSERT_EQ(flat_pool_free(in.shard, block), is_claimed ? FLAT_DOUBLE_FREE : FLAT_OK) << step;
        ASSERT_EQ(stopped.finish(), is_claimed ? FLAT_OK : FLAT_DOUBLE_FREE) << step;
        ASSERT_EQ(in.take_all(), std::vector<void *>{block});
        ASSERT_EQ(flat_percore_late_double_frees(in.shard), 0u);
    }
    EXPECT_TRUE(was_claimed);
}

TEST_F(stopping, a_remote_free_between_two_instructions_of_a_local_one_is_decided_then_or_counted_later) {
    shared_set in(100);
    unsigned both = 0, step = 0;
    for (bool goes_on = true; goes_on; step++) {
        in.start_again();
        void *block = in.blocks[50];
        stopped_call stopped(local_free, in.shard, block);
        goes_on = stopped.step(step);
        const flat_status remote = flat_percore_free(in.set, block);
        const int local = stopped.finish();
        ASSERT_TRUE(remote == FLAT_OK || remote == FLAT_DOUBLE_FREE);
        ASSERT_TRUE(local == FLAT_OK || local == FLAT_DOUBLE_FREE);
        ASSERT_TRUE(remote == FLAT_OK || local == FLAT_OK) << step;
        const bool is_both = remote == FLAT_OK && local == FLAT_OK;
        ASSERT_EQ(flat_percore_flush(in.shard), remote == FLAT_OK && !is_both ? 1u : 0u);
        ASSERT_EQ(flat_percore_late_double_frees(in.shard), is_both ? 1u : 0u) << step;
        ASSERT_EQ(in.take_all(), std::vector<void *>{block}) << "in the list once";
        ASSERT_EQ(flat_percore_check(in.shard), FLAT_OK);
        both += is_both;
    }
    EXPECT_GT(both, 0u) << "between the look and the store";
    EXPECT_LT(both, step / 2);
}

// Planted faults: the tests above must notice faulty versions of the free.
namespace {

// Returns whether the test finds more blocks out of reach than the bound allows, or a call that takes too long.
bool is_seen(free_function *free, free_function *others) {
    shared_set in(100);
    bool is_done = false;
    for (unsigned step = 0; !is_done; step += 3) {
        try {
            if (out_of_reach(in, {50}, {step}, free, others, true, is_done) > in.bound(1)) return true;
        } catch (const std::runtime_error &) {
            return true; // a call took too long, or a block was lost
        }
    }
    return false;
}

std::atomic_flag *lock;

int locked_free(flat_percore *set, void *block) {
    while (lock->test_and_set()) {
    }
    const int status = flat_percore_free(set, block);
    lock->clear();
    return status;
}

// Claims the block and two of its neighbours, and marks all three afterwards.
int free_of_three(flat_percore *set, void *block) {
    char *const start = static_cast<char *>(block);
    void *const all[] = {start, start + 4 * size, start + 5 * size};
    for (void *each : all) (void)percore_step(set, each, CLAIM);
    for (void *each : all) (void)percore_step(set, each, ADD_TO_LEAF);
    return FLAT_OK;
}

} // namespace

TEST_F(stopping, planted_lock_is_seen) {
    lock = new (map_shared(sizeof *lock)) std::atomic_flag();
    EXPECT_TRUE(is_seen(locked_free, locked_free));
}

TEST_F(stopping, planted_wait_in_a_call_that_is_counted_is_seen) {
    static volatile bool is_free = false; // volatile, so that the compiler keeps the loop
    void (*const waits)() = [] {
        while (!is_free) {
        }
    };
    std::vector<flat::test::Watched> watched{{"waits", reinterpret_cast<const void *>(waits)}};
    EXPECT_THROW(flat::test::step_through(watched, {},
                                          [waits] {
                                              flat::test::watch(true);
                                              auto *volatile call = waits; // prevents inlining
                                              call();
                                          }),
                 std::runtime_error);
}

TEST_F(stopping, planted_hold_of_three_blocks_is_seen) { EXPECT_TRUE(is_seen(free_of_three, remote_free)); }

TEST_F(stopping, control_nothing_is_seen_of_the_free_itself) { EXPECT_FALSE(is_seen(remote_free, remote_free)); }
