// Random operations on random pools, against the model. On a failure the list of operations is shrunk before it is
// printed. The blocks of every pool here are PROT_NONE: a pool that reads or writes one block dies.
#include "core/environment.hpp"
#include "core/layouts.hpp"
#include "core/model_run.hpp"
#include "core/model_shrink.hpp"
#include "core/random_source.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <vector>

namespace {

using test::model_run;
using test::operation;
using test::random_source;
using test::test_pool;

// A random list in which pools fill and drain: the balance of allocs and frees changes every few hundred steps.
std::vector<operation> random_operations(random_source &random, std::size_t count) {
    std::vector<operation> operations;
    std::uint64_t filling = 50; // percent of the steps that are allocs or frees
    while (operations.size() < count) {
        if (random.one_in(300)) filling = 5 + random.below(91);
        std::uint8_t what;
        if (random.below(100) < 85) {
            const bool fill = random.below(100) < filling;
            what = !fill               ? operation::free_live
                   : random.one_in(10) ? operation::alloc_aligned
                   : random.one_in(15) ? operation::alloc_many
                                       : operation::alloc;
        } else {
            what =
                static_cast<std::uint8_t>(operation::free_free + random.below(operation::kinds - operation::free_free));
            if (what == operation::compare && !random.one_in(40)) what = operation::look;
            if (what == operation::reset && !random.one_in(20)) what = operation::free_any;
        }
        operations.push_back({what, random.next(), random.next()});
    }
    return operations;
}

// Runs `operations` random steps on each of `layouts` random pools.
void explore(std::uint64_t seed, std::size_t layouts, std::size_t operations, const test::layout_bounds &bounds) {
    for (std::size_t round = 0; round < layouts; round++) {
        random_source random(seed + round);
        const std::vector<flat_class> layout = test::random_layout(random, bounds);
        test_pool pool(layout, PROT_NONE);
        model_run pair(pool);
        ASSERT_EQ(test::check_placement(pool, pair.reference()), "") << test::describe(layout);
        std::vector<operation> list = random_operations(random, operations);
        std::size_t steps;
        if (test::run(pair, list, steps).empty()) continue;
        list.resize(steps);
        const std::vector<operation> shortest = test::shrink(pair, list);
        FAIL() << "repeat with FLATLINE_TEST_SEED=" << seed + round << "\nclasses: " << test::describe(layout)
               << "\nshortest failing list found (" << shortest.size() << " of " << list.size() << " operations):\n"
               << test::in_words(pair, shortest);
    }
}

class pool_model : public testing::Test {
  protected:
    void SetUp() override { std::cout << "seed: FLATLINE_TEST_SEED=" << test::seed() << std::endl; }
};

constexpr std::size_t gibibyte = std::size_t{1} << 30;

} // namespace

TEST_F(pool_model, small_pools_behave_as_the_model) {
    explore(test::seed(), test::scaled(600), 4000, {6, 2048, 20, gibibyte / 16});
}

TEST_F(pool_model, pools_of_many_classes_behave_as_the_model) {
    explore(test::seed(), test::scaled(100), 10000, {64, 1 << 16, 400, gibibyte / 16});
}

TEST_F(pool_model, large_blocks_far_apart_behave_as_the_model) {
    explore(test::seed(), test::scaled(200), 5000,
            {64, std::min<std::size_t>(FLAT_POOL_MAX_BLOCK_SIZE, test::address_budget / 4), 60, test::address_budget});
}

TEST_F(pool_model, long_lives_behave_as_the_model) {
    explore(test::seed(), test::scaled(3), 500000, {12, 4096, 3000, gibibyte / 16});
}
