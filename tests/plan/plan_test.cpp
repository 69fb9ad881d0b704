#include "plan/plan.hpp"

#include "plan/texts.hpp"

#include <gtest/gtest.h>

#include <algorithm>

using namespace flat::plan;

namespace {

std::string refusal(const Declaration &declaration, const Wishes &wishes = {}) {
    return test::refusal_of([&] { (void)make_plan(declaration, wishes); });
}

const Declaration three_sizes{.demand = {{48, 1000, 1}, {200, 77, 1}, {3000, 5, 1}}};

} // namespace

TEST(plan, of_classes_is_the_pool_that_was_declared) {
    const Plan plan = make_plan({.classes = {{64, 10}, {16, 3}}, .arena = Arena{4096, 64}}, {});
    ASSERT_TRUE(plan.pool.has_value());
    EXPECT_EQ(plan.pool->classes.size(), 2U);
    EXPECT_EQ(plan.arena, (Arena{4096, 64}));
    EXPECT_FALSE(plan.fit || plan.choice);
    EXPECT_TRUE(plan.holds()); // there is no demand
}

TEST(plan, of_shares_leaves_less_than_a_block_of_the_budget) {
    const Plan plan = make_plan({.budget = 1 << 20, .shares = {{64, 50}, {1024, 50}}}, {});
    EXPECT_EQ(plan.budget, 1U << 20);
    EXPECT_LE(plan.pool->buffer_bytes(), 1U << 20);
}

TEST(plan, of_a_demand_holds_it_with_the_margin) {
    for (const unsigned margin : {0U, 1U, 20U, 33U, most_margin}) {
        const Plan plan = make_plan(three_sizes, {margin, 64});
        ASSERT_TRUE(plan.pool && plan.fit && plan.choice);
        EXPECT_EQ(plan.choice->margin_percent, margin);
        EXPECT_GE(plan.fit->growth, 1 + margin / 100.0);
        const auto chosen = std::ranges::find(plan.margins, margin, &Margin::percent);
        ASSERT_NE(chosen, plan.margins.end());
        EXPECT_EQ(chosen->bytes, plan.pool->bytes());
        EXPECT_EQ(chosen->growth, plan.fit->growth);
        EXPECT_EQ(plan.margins.front().percent, 0U);
        EXPECT_EQ(plan.margins.front().growth, 1.0);
        EXPECT_TRUE(std::ranges::is_sorted(plan.margins, {}, &Margin::percent));
    }
}

TEST(plan, has_no_more_classes_than_allowed) {
    for (const std::size_t most : {1U, 2U, 3U})
        EXPECT_LE(make_plan(three_sizes, {20, most}).pool->classes.size(), most);
}

TEST(plan, of_a_demand_that_no_pool_serves_says_so) {
    const Plan part = make_plan({.demand = {{64, 10, 1}, {100, 1, 8192}}}, {});
    ASSERT_TRUE(part.pool && part.fit);
    EXPECT_FALSE(part.holds());
    EXPECT_EQ(part.fit->unserved.size(), 1U);
    const Plan none = make_plan({.demand = {{std::uint64_t{2} << 30, 1, 1}}}, {});
    EXPECT_FALSE(none.pool || none.fit);
    EXPECT_FALSE(none.holds());
}

TEST(plan, margins_end_where_a_class_would_have_too_many_blocks) {
    const Plan plan = make_plan({.demand = {{64, std::uint64_t{1} << 23, 1}}}, {});
    ASSERT_FALSE(plan.margins.empty());
    EXPECT_EQ(plan.margins.back().percent, 100U); // 2^24 blocks; 200 % would be more
}

TEST(plan, of_a_declared_pool_tells_whether_it_holds_a_demand) {
    EXPECT_TRUE(make_plan({.classes = {{64, 10}}, .demand = {{60, 10, 1}}}, {}).holds());
    EXPECT_FALSE(make_plan({.classes = {{64, 10}}, .demand = {{60, 11, 1}}}, {}).holds());
    EXPECT_FALSE(make_plan({.classes = {{64, 10}}, .demand = {{65, 1, 1}}}, {}).holds());
    EXPECT_FALSE(make_plan({.classes = {{64, 10}}, .demand = {{64, 1, 128}}}, {}).holds());
}

TEST(plan, contradictions_are_refused) {
    EXPECT_NE(refusal({}).find("nothing to plan"), std::string::npos);
    EXPECT_NE(refusal({.classes = {{64, 1}}, .budget = 100, .shares = {{64, 100}}}).find("exclude each other"),
              std::string::npos);
    EXPECT_NE(refusal({.classes = {{64, 1}}, .budget = 100}).find("both or neither"), std::string::npos);
    EXPECT_NE(refusal({.shares = {{64, 100}}}).find("both or neither"), std::string::npos);
    EXPECT_NE(refusal({.demand = {{16, 0, 1}}}).find("no block is live"), std::string::npos);
    EXPECT_NE(refusal({.arena = Arena{0, 16}}).find("arena of 0"), std::string::npos);
    EXPECT_NE(refusal({.arena = Arena{64, 0}}).find("aligned to 0"), std::string::npos);
    EXPECT_EQ(refusal({.arena = Arena{1, most_alignment}}), "");
    EXPECT_EQ(refusal({.arena = Arena{most_bytes, 1}}), "");
}

TEST(plan, of_a_heap_is_the_region_that_never_runs_out) {
    const flat_heap_demand demand{1 << 20, 16, 4096, 0, true};
    const Plan plan = make_plan({.heap = demand}, {});
    ASSERT_TRUE(plan.heap.has_value());
    std::size_t bytes = 0;
    ASSERT_EQ(flat_heap_bound(&demand, &bytes), FLAT_OK);
    EXPECT_EQ(plan.heap->bytes, bytes);
    EXPECT_EQ(plan.heap->footprint.block_bytes, bytes);
    EXPECT_GT(plan.heap->footprint.metadata_bytes, 0U);
    const Plan aligned = make_plan({.heap = flat_heap_demand{1 << 16, 16, 4096, 1 << 13, false}}, {});
    EXPECT_EQ(aligned.heap->footprint.block_alignment, 1U << 13); // needed to serve such blocks
    EXPECT_NE(refusal({.heap = flat_heap_demand{}}).find("smallest <= largest"), std::string::npos);
    EXPECT_NE(refusal({.heap = flat_heap_demand{SIZE_MAX, 1, SIZE_MAX, 0, false}}).find("would be over"),
              std::string::npos);
    EXPECT_NE(refusal({.heap = flat_heap_demand{64, 1, 2, 3, false}}).find("power of two"), std::string::npos);
}
