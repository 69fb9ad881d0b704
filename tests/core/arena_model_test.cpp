// Random operations on random arenas, against the model. On a failure the list of operations is shrunk before it is
// printed. The memory of every arena here is PROT_NONE: an arena that reads or writes one byte of it dies.
#include "core/arena_run.hpp"
#include "core/environment.hpp"
#include "core/mapping.hpp"
#include "core/random_source.hpp"
#include "core/shrink.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

namespace {

using test::arena_operation;
using test::arena_run;
using test::random_source;

std::vector<arena_operation> random_operations(random_source &random, std::size_t count) {
    std::vector<arena_operation> operations;
    while (operations.size() < count) {
        auto what = static_cast<std::uint8_t>(random.below(arena_operation::kinds));
        if (random.one_in(3)) what = arena_operation::alloc;
        if (what == arena_operation::reset && !random.one_in(8)) what = arena_operation::alloc_aligned;
        operations.push_back({what, random.next(), random.next()});
    }
    return operations;
}

// "" or what went wrong; `steps` then is the number of operations that it took.
std::string run(arena_run &pair, const std::vector<arena_operation> &operations, std::size_t &steps) {
    pair.start_again();
    for (steps = 0; steps < operations.size();) {
        const std::string wrong = pair.apply(operations[steps++]);
        if (!wrong.empty()) return wrong;
    }
    return pair.compare();
}

std::string in_words(arena_run &pair, const std::vector<arena_operation> &operations) {
    std::string text;
    pair.start_again();
    for (const arena_operation &op : operations) {
        text += "  " + pair.describe(op) + '\n';
        const std::string wrong = pair.apply(op);
        if (!wrong.empty()) return text + "  -> " + wrong + '\n';
    }
    return text + "  -> " + pair.compare() + '\n';
}

// Runs `operations` random steps on each of `arenas` random arenas of at most `most_bytes` bytes.
void explore(std::uint64_t seed, std::size_t arenas, std::size_t operations, std::size_t most_bytes) {
    for (std::size_t round = 0; round < arenas; round++) {
        random_source random(seed + round);
        const test::mapping memory(most_bytes + 4096, 4096, PROT_NONE);
        const std::size_t bytes = random.magnitude(most_bytes) - 1, offset = random.below(4096);
        arena_run pair({memory.start() + offset, bytes});
        std::vector<arena_operation> list = random_operations(random, operations);
        std::size_t steps;
        if (run(pair, list, steps).empty()) continue;
        list.resize(steps);
        const std::vector<arena_operation> shortest =
            test::shrink(list, [&pair](const std::vector<arena_operation> &shorter) {
                std::size_t after;
                return run(pair, shorter, after).empty() ? std::nullopt : std::optional(after);
            });
        FAIL() << "repeat with FLATLINE_TEST_SEED=" << seed + round << "\n"
               << bytes << " bytes from " << offset << " behind a page's start\nshortest failing list found ("
               << shortest.size() << " of " << list.size() << " operations):\n"
               << in_words(pair, shortest);
    }
}

class arena_model : public testing::Test {
  protected:
    void SetUp() override { std::cout << "seed: FLATLINE_TEST_SEED=" << test::seed() << std::endl; }
};

// A request, as it was made.
struct request {
    std::size_t alignment, size;
};

// The statistics after all of these requests in an arena of `bytes` bytes.
flat_arena_stats stats_after(const std::vector<request> &requests, char *start, std::size_t bytes) {
    flat_arena arena;
    flat_arena_stats stats{};
    EXPECT_EQ(flat_arena_init(&arena, {start, bytes}), FLAT_OK);
    for (const request &of : requests) (void)call_arena_aligned_alloc(&arena, of.alignment, of.size);
    flat_arena_get_stats(&arena, &stats);
    flat_arena_destroy(&arena);
    return stats;
}

} // namespace

TEST_F(arena_model, tiny_arenas_behave_as_the_model) { explore(test::seed(), test::scaled(1500), 2000, 200); }

TEST_F(arena_model, small_arenas_behave_as_the_model) { explore(test::seed(), test::scaled(600), 4000, 8192); }

TEST_F(arena_model, large_arenas_behave_as_the_model) {
    explore(test::seed(), test::scaled(100), 20000, std::size_t{1} << 22);
}

TEST_F(arena_model, long_lives_behave_as_the_model) { explore(test::seed(), test::scaled(3), 1000000, 1 << 16); }

TEST_F(arena_model, an_arena_of_the_bytes_that_were_needed_refuses_nothing) {
    constexpr std::size_t most = std::size_t{1} << 20;
    const test::mapping memory(most, 4096, PROT_NONE);
    for (std::uint64_t round = 0; round < test::scaled(20000); round++) {
        random_source random(test::seed() + round);
        SCOPED_TRACE("FLATLINE_TEST_SEED=" + std::to_string(test::seed() + round));
        const std::size_t largest_alignment = std::size_t{1} << random.below(12);
        std::vector<request> requests;
        while (requests.size() < 40) {
            const std::size_t alignment = std::size_t{1} << random.below(12);
            requests.push_back({std::min(alignment, largest_alignment), random.magnitude(4096)});
        }
        const flat_arena_stats tight = stats_after(requests, memory.start(), random.below(8192));
        ASSERT_LE(tight.needed, most);
        const flat_arena_stats enough = stats_after(requests, memory.start(), (tight.needed + 15) / 16 * 16);
        ASSERT_EQ(enough.refused, 0u);
        ASSERT_LE(enough.high_water, tight.needed);
        const std::size_t slack = std::max<std::size_t>(largest_alignment, FLAT_ARENA_GRANULE);
        ASSERT_LE(tight.needed, enough.high_water + tight.refused * slack);
    }
}

TEST_F(arena_model, the_bytes_needed_are_not_one_granule_too_many_where_sizes_are_whole_granules) {
    constexpr std::size_t most = std::size_t{1} << 20;
    const test::mapping memory(most, 4096, PROT_NONE);
    for (std::uint64_t round = 0; round < test::scaled(20000); round++) {
        random_source random(test::seed() + round);
        SCOPED_TRACE("FLATLINE_TEST_SEED=" + std::to_string(test::seed() + round));
        const std::size_t alignment = std::size_t{16} << random.below(4); // the same for all, and sizes multiples of it
        std::vector<request> requests;
        while (requests.size() < 40) requests.push_back({alignment, alignment * random.magnitude(64)});
        const flat_arena_stats tight = stats_after(requests, memory.start(), random.below(8192));
        const flat_arena_stats enough = stats_after(requests, memory.start(), tight.needed);
        ASSERT_EQ(enough.refused, 0u);
        ASSERT_EQ(enough.used, tight.needed);
        ASSERT_GT(stats_after(requests, memory.start(), tight.needed - 16).refused, 0u);
    }
}
