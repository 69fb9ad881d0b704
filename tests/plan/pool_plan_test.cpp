// Compares a plan with the pool that is made from it.
#include "plan/pool_plan.hpp"

#include "core/environment.hpp"
#include "core/random_source.hpp"
#include "core/test_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

using namespace flat::plan;

namespace {

/// A pool in exactly the bytes of the plan. Its blocks are inaccessible.
class MadePool {
  public:
    explicit MadePool(const PoolPlan &plan) : pool_(classes_of(plan), PROT_NONE) {
        EXPECT_EQ(pool_.footprint().metadata_bytes, plan.footprint.metadata_bytes);
        EXPECT_EQ(pool_.footprint().block_bytes, plan.footprint.block_bytes);
    }
    operator flat_pool *() const { return pool_; }
    const char *blocks() const { return pool_.blocks().start(); }

  private:
    static std::vector<flat_class> classes_of(const PoolPlan &plan) {
        std::vector<flat_class> classes;
        for (const PlannedClass &each : plan.classes) classes.push_back(each.declared);
        return classes;
    }

    test::test_pool pool_;
};

std::vector<flat_class> random_classes(test::random_source &random, std::size_t most) {
    std::vector<flat_class> classes;
    for (std::size_t left = 1 + random.below(most); left > 0; --left)
        classes.push_back({random.magnitude(8192), 1 + random.below(random.one_in(4) ? 200 : 5)});
    std::ranges::sort(classes, {}, &flat_class::block_size);
    const auto same = [](const flat_class &a, const flat_class &b) {
        return (a.block_size + 15) / 16 == (b.block_size + 15) / 16;
    };
    classes.erase(std::unique(classes.begin(), classes.end(), same), classes.end());
    return classes;
}

std::vector<DemandRow> random_rows(test::random_source &random) {
    std::vector<DemandRow> rows;
    for (std::size_t left = 1 + random.below(6); left > 0; --left)
        rows.push_back({random.magnitude(9000), random.magnitude(30),
                        random.one_in(3) ? std::uint64_t{1} << random.below(14) : 1});
    return ordered(rows);
}

std::string message_of(const std::vector<flat_class> &classes) {
    try {
        (void)plan_pool(classes);
    } catch (const std::runtime_error &error) {
        return error.what();
    }
    return "";
}

} // namespace

TEST(pool_plan, draws_every_class_where_the_pool_then_has_it) {
    const std::uint64_t seed = test::seed();
    SCOPED_TRACE("FLATLINE_TEST_SEED=" + std::to_string(seed));
    test::random_source random(seed);
    for (std::size_t left = test::scaled(300); left > 0; --left) {
        const PoolPlan plan = plan_pool(random_classes(random, 64));
        const MadePool pool(plan);
        std::uint64_t end = 0, padding = 0;
        for (const PlannedClass &each : plan.classes) {
            const void *first = flat_pool_alloc(pool, each.declared.block_size);
            ASSERT_EQ(first, pool.blocks() + each.offset);
            ASSERT_EQ(flat_pool_usable_size(pool, first), each.size);
            ASSERT_EQ(each.offset, end + each.padding);
            ASSERT_EQ(each.offset % each.alignment, 0U);
            end = each.offset + each.bytes();
            padding += each.padding;
            ASSERT_TRUE(flat_pool_owns(pool, pool.blocks() + end - 1));
            if (each.padding > 0) {
                ASSERT_FALSE(flat_pool_owns(pool, pool.blocks() + each.offset - 1));
            }
        }
        ASSERT_EQ(end, plan.footprint.block_bytes);
        ASSERT_EQ(padding, plan.padding);
        ASSERT_EQ(plan.bytes(), plan.footprint.block_bytes + plan.footprint.metadata_bytes);
    }
}

TEST(pool_plan, holds_what_the_pool_then_serves_and_nothing_else) {
    const std::uint64_t seed = test::seed();
    SCOPED_TRACE("FLATLINE_TEST_SEED=" + std::to_string(seed));
    test::random_source random(seed);
    std::size_t held = 0;
    // One plan in eight holds, so among 300 there is always one, even in a short run.
    for (std::size_t left = std::max<std::size_t>(test::scaled(1000), 300); left > 0; --left) {
        const PoolPlan plan = plan_pool(random_classes(random, 8));
        const std::vector<DemandRow> rows = random_rows(random);
        const Fit found = fit(plan, rows);
        const MadePool pool(plan);
        bool served = true;
        std::uint64_t taken = 0;
        for (const DemandRow &row : rows) {
            for (std::uint64_t i = 0; i < row.count; ++i) {
                const void *block = flat_pool_aligned_alloc(pool, row.alignment, row.size);
                served = served && block != nullptr;
                taken += block == nullptr ? 0 : flat_pool_usable_size(pool, block);
            }
        }
        ASSERT_EQ(found.holds(), served);
        if (served) {
            ASSERT_EQ(found.requested + found.waste, taken);
        }
        if (served) {
            ASSERT_EQ(found.requested, bytes_of(rows));
        }
        held += served;
    }
    EXPECT_GT(held, 0U); // otherwise nothing was tested
}

TEST(pool_plan, the_first_to_refuse_is_the_first_when_the_demand_grows) {
    const std::uint64_t seed = test::seed();
    SCOPED_TRACE("FLATLINE_TEST_SEED=" + std::to_string(seed));
    test::random_source random(seed);
    for (std::size_t left = test::scaled(1000); left > 0; --left) {
        const PoolPlan plan = plan_pool(random_classes(random, 8));
        const std::vector<DemandRow> rows = random_rows(random);
        const Fit found = fit(plan, rows);
        double least = 1e300;
        for (std::size_t i = 0; i < found.loads.size(); ++i) {
            if (found.loads[i].live == 0) continue;
            least = std::min(least, static_cast<double>(plan.classes[i].declared.block_count) /
                                        static_cast<double>(found.loads[i].live));
        }
        if (least < 1e300) {
            ASSERT_FALSE(found.first.empty());
        }
        for (std::size_t i = 0; i < found.loads.size(); ++i) {
            const bool first = std::ranges::find(found.first, i) != found.first.end();
            const double growth = found.loads[i].live == 0 ? 1e300
                                                           : static_cast<double>(plan.classes[i].declared.block_count) /
                                                                 static_cast<double>(found.loads[i].live);
            ASSERT_EQ(first, growth == least && least < 1e300);
        }
        ASSERT_EQ(found.growth, found.unserved.empty() && least < 1e300 ? least : 0);
    }
}

TEST(pool_plan, both_memories_fit_in_the_one_buffer_and_in_nothing_less) {
    const PoolPlan plan = plan_pool({{100, 3}, {16, 5}});
    const std::uint64_t at = plan.buffer_bytes() - plan.footprint.metadata_bytes;
    EXPECT_EQ(at % plan.footprint.metadata_alignment, 0U);
    EXPECT_GE(at, plan.footprint.block_bytes);
    EXPECT_LT(at, plan.footprint.block_bytes + plan.footprint.metadata_alignment);
}

TEST(pool_plan, takes_classes_in_any_order) {
    const PoolPlan plan = plan_pool({{4096, 1}, {16, 2}, {100, 3}});
    ASSERT_EQ(plan.classes.size(), 3U);
    EXPECT_EQ(plan.classes[0].declared.block_size, 16U);
    EXPECT_EQ(plan.classes[1].size, 112U);
    EXPECT_EQ(plan.classes[1].alignment, 16U);
    EXPECT_EQ(plan.classes[2].alignment, 4096U);
    EXPECT_EQ(plan.blocks(), 6U);
}

TEST(pool_plan, refuses_what_no_pool_can_be_and_says_why) {
    EXPECT_NE(message_of({}).find("at least one"), std::string::npos);
    EXPECT_NE(message_of({{0, 1}}).find("class of 0 bytes"), std::string::npos);
    EXPECT_NE(message_of({{FLAT_POOL_MAX_BLOCK_SIZE + 1, 1}}).find("1073741825"), std::string::npos);
    EXPECT_NE(message_of({{64, 0}}).find("0 blocks of 64"), std::string::npos);
    EXPECT_NE(message_of({{64, FLAT_POOL_MAX_BLOCK_COUNT + 1}}).find("16777217"), std::string::npos);
    EXPECT_NE(message_of({{64, 1}, {50, 1}}).find("50 and 64"), std::string::npos);
    std::vector<flat_class> many;
    for (std::size_t i = 1; i <= FLAT_POOL_MAX_CLASSES; ++i) many.push_back({i * 16, 1});
    EXPECT_EQ(message_of(many), "");
    many.push_back({8192, 1});
    EXPECT_NE(message_of(many).find("65 classes"), std::string::npos);
}

TEST(pool_plan, shares_are_the_librarys_and_refusals_say_why) {
    const std::vector<flat_class> classes = classes_from_shares(1 << 20, {{1024, 70}, {64, 30}});
    ASSERT_EQ(classes.size(), 2U);
    EXPECT_EQ(classes[0].block_size, 64U);
    EXPECT_LE(plan_pool(classes).buffer_bytes(), 1U << 20);
    const auto refused = [](std::uint64_t bytes, std::vector<flat_share> shares, std::string_view part) {
        try {
            (void)classes_from_shares(bytes, std::move(shares));
        } catch (const std::runtime_error &error) {
            return std::string_view(error.what()).find(part) != std::string_view::npos;
        }
        return false;
    };
    EXPECT_TRUE(refused(1 << 20, {}, "at least one"));
    EXPECT_TRUE(refused(1 << 20, {{64, 99}}, "99 %"));
    EXPECT_TRUE(refused(1 << 20, {{64, 0}, {128, 100}}, "0 %"));
    EXPECT_TRUE(refused(1 << 20, {{64, 200}}, "200 %"));
    EXPECT_TRUE(refused(1 << 20, {{64, 50}, {60, 50}}, "60 and 64"));
    EXPECT_TRUE(refused(100, {{64, 100}}, "are too few"));
    EXPECT_TRUE(refused(std::uint64_t{1} << 40, {{16, 100}}, "16777216"));
}
