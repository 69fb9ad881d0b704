// Compares the choice of classes with every other possible choice.
#include "plan/class_choice.hpp"

#include "core/environment.hpp"
#include "core/random_source.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>

using namespace flat::plan;

namespace {

std::uint64_t round_up(std::uint64_t value, std::uint64_t to) { return (value + to - 1) / to * to; }

/// The least cost of dividing the sizes into classes, for each number of classes. It tries every division, asks the
/// library for the pool's footprint, and is not optimised.
std::map<std::size_t, std::uint64_t> least_by_force(const std::vector<DemandRow> &rows, unsigned margin,
                                                    std::size_t most) {
    std::map<std::uint64_t, DemandRow> steps; // by rounded size
    for (const DemandRow &row : rows) {
        DemandRow &step = steps[round_up(row.size, 16)];
        step.size = round_up(row.size, 16);
        step.count += row.count;
        step.alignment = std::max(step.alignment, row.alignment);
    }
    std::vector<DemandRow> all;
    for (auto &[size, step] : steps) {
        step.count = (step.count * (100 + margin) + 99) / 100;
        all.push_back(step);
    }
    std::map<std::size_t, std::uint64_t> least;
    for (std::uint64_t cuts = 0; cuts < std::uint64_t{1} << (all.size() - 1); ++cuts) {
        std::vector<flat_class> classes;
        bool legal = true;
        std::uint64_t count = 0, alignment = 1;
        for (std::size_t i = 0; i < all.size(); ++i) {
            count += all[i].count;
            alignment = std::max(alignment, all[i].alignment);
            const bool last = i + 1 == all.size();
            if (!last && (cuts >> i & 1) == 0) continue;
            classes.push_back({round_up(all[i].size, alignment), count});
            legal =
                legal && (last || classes.back().block_size < all[i + 1].size) && count <= FLAT_POOL_MAX_BLOCK_COUNT;
            count = 0;
            alignment = 1;
        }
        flat_pool_options options{};
        options.classes = classes.data();
        options.class_count = classes.size();
        flat_footprint need;
        if (!legal || classes.size() > most || flat_pool_footprint(&options, &need) != FLAT_OK) continue;
        const std::uint64_t bytes = need.block_bytes + need.metadata_bytes;
        const auto [place, fresh] = least.emplace(classes.size(), bytes);
        if (!fresh) place->second = std::min(place->second, bytes);
    }
    return least;
}

void expect_least(const std::vector<DemandRow> &rows, unsigned margin, std::size_t most) {
    const Choices choices = choose_classes(rows, margin, most);
    const std::map<std::size_t, std::uint64_t> least = least_by_force(rows, margin, most);
    ASSERT_EQ(choices.by_count.size(), least.size());
    auto expected = least.begin();
    std::uint64_t best = UINT64_MAX;
    for (const Choice &choice : choices.by_count) {
        ASSERT_EQ(choice.classes.size(), expected->first);
        ASSERT_EQ(choice.bytes, expected->second) << "with " << choice.classes.size() << " classes";
        best = std::min(best, choice.bytes);
        ++expected;
    }
    ASSERT_EQ(choices.by_count[choices.best].bytes, best);
    for (std::size_t i = 0; i < choices.best; ++i) ASSERT_GT(choices.by_count[i].bytes, best);
}

/// Up to eleven sizes, close together or far apart, some aligned, with few or many blocks each.
std::vector<DemandRow> random_rows(test::random_source &random) {
    std::vector<DemandRow> rows;
    const std::uint64_t largest = std::uint64_t{1} << (5 + random.below(16)),
                        most = random.magnitude(1 << 17); // fits into one class
    for (std::uint64_t left = 1 + random.below(11); left > 0; --left)
        rows.push_back({1 + random.below(largest), random.magnitude(most),
                        random.one_in(4) ? std::uint64_t{1} << random.below(13) : 1});
    return ordered(rows);
}

} // namespace

TEST(class_choice, is_the_best_of_all_for_small_demands) {
    const std::uint64_t seed = test::seed();
    SCOPED_TRACE("FLATLINE_TEST_SEED=" + std::to_string(seed));
    test::random_source random(seed);
    for (std::uint64_t left = test::scaled(20000); left > 0; --left) {
        const std::vector<DemandRow> rows = random_rows(random);
        const unsigned margin = random.one_in(3) ? 0 : static_cast<unsigned>(random.below(most_margin + 1));
        const std::size_t most = random.one_in(3) ? 1 + random.below(8) : 64;
        expect_least(rows, margin, most);
        if (HasFatalFailure()) {
            std::string text;
            for (const DemandRow &row : rows)
                text += " " + std::to_string(row.size) + ":" + std::to_string(row.count) + "@" +
                        std::to_string(row.alignment);
            FAIL() << "rows" << text << ", margin " << margin << ", at most " << most;
        }
    }
}

TEST(class_choice, is_the_best_of_all_for_every_demand_of_three_sizes) {
    for (std::uint64_t a = 1; a <= 100; a += 9) {
        for (std::uint64_t b = a + 1; b <= 5000; b = b * 2 + 7) {
            for (std::uint64_t c = b + 1; c <= 10000; c = c * 3 + 11) {
                for (const std::uint64_t count : {1U, 30U, 1000U}) {
                    expect_least({{a, count, 1}, {b, 7, 64}, {c, 1000 / count, 1}}, 20, 64);
                    ASSERT_FALSE(HasFatalFailure()) << a << " " << b << " " << c << " " << count;
                }
            }
        }
    }
}

TEST(class_choice, serves_what_it_was_made_for_and_not_one_block_more) {
    const std::uint64_t seed = test::seed();
    SCOPED_TRACE("FLATLINE_TEST_SEED=" + std::to_string(seed));
    test::random_source random(seed);
    for (std::uint64_t left = test::scaled(500); left > 0; --left) {
        const std::vector<DemandRow> rows = random_rows(random);
        const Choices choices = choose_classes(rows, 0, 64);
        ASSERT_TRUE(choices.beyond.empty());
        const Fit found = fit(plan_pool(choices.by_count[choices.best].classes), rows);
        ASSERT_TRUE(found.unserved.empty());
        ASSERT_EQ(found.growth, 1.0);
        for (std::size_t i = 0; i < found.loads.size(); ++i)
            ASSERT_EQ(found.loads[i].live, choices.by_count[choices.best].classes[i].block_count);
    }
}

TEST(class_choice, merges_sizes_where_metadata_and_padding_cost_more_than_waste) {
    // A class costs 72 bytes and its padding, while one request of 16 in a block of 32 wastes 16.
    const std::vector<DemandRow> rows{{16, 1, 1}, {32, 1000, 1}};
    const Choices choices = choose_classes(rows, 0, 64);
    EXPECT_EQ(choices.by_count[choices.best].classes.size(), 1U);
    const std::vector<DemandRow> many{{16, 1000, 1}, {32, 1000, 1}};
    const Choices apart = choose_classes(many, 0, 64);
    EXPECT_EQ(apart.by_count[apart.best].classes.size(), 2U);
}

TEST(class_choice, keeps_to_the_number_of_classes_allowed) {
    std::vector<DemandRow> rows;
    for (std::uint64_t i = 1; i <= 300; ++i) rows.push_back({i * 16, 1000 + i, 1});
    const Choices all = choose_classes(rows, 20, 64);
    EXPECT_EQ(all.by_count.size(), 64U);
    const Choices four = choose_classes(rows, 20, 4);
    ASSERT_EQ(four.by_count.size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(four.by_count[i].bytes, all.by_count[i].bytes);
    EXPECT_GT(four.by_count[four.best].bytes, all.by_count[all.best].bytes);
}

TEST(class_choice, leaves_out_what_no_pool_serves) {
    const std::vector<DemandRow> rows{{64, 10, 1},
                                      {100, 10, 8192},
                                      {128, std::uint64_t{1} << 24, 1},
                                      {std::uint64_t{1} << 30, 1, 1},
                                      {(std::uint64_t{1} << 30) + 1, 1, 1}};
    const Choices choices = choose_classes(rows, 20, 64);
    ASSERT_EQ(choices.beyond.size(), 3U);
    EXPECT_EQ(choices.beyond[0], rows[1]);
    EXPECT_EQ(choices.beyond[1], rows[2]); // too many because of the margin
    EXPECT_EQ(choices.beyond[2], rows[4]);
    EXPECT_EQ(choices.by_count[choices.best].classes.size(), 2U);
    EXPECT_TRUE(choose_classes(std::vector<DemandRow>{{64, 10, 8192}}, 20, 64).by_count.empty());
}

TEST(class_choice, refuses_more_blocks_than_the_classes_can_have) {
    const std::vector<DemandRow> rows{{64, std::uint64_t{1} << 23, 1}, {128, (std::uint64_t{1} << 23) + 1, 1}};
    EXPECT_THROW((void)choose_classes(rows, 0, 1), std::runtime_error);
    EXPECT_EQ(choose_classes(rows, 0, 2).by_count.size(), 1U); // only with two: one would be a block too large
}

TEST(class_choice, refuses_more_sizes_than_it_has_time_for) {
    std::vector<DemandRow> rows;
    for (std::uint64_t i = 1; i <= most_sizes; ++i) rows.push_back({i * 16, i, 1});
    EXPECT_EQ(choose_classes(rows, 0, 8).by_count.size(), 8U);
    rows.push_back({most_sizes * 16 + 16, 1, 1});
    EXPECT_THROW((void)choose_classes(rows, 0, 8), std::runtime_error);
}

TEST(class_choice, margins_are_rounded_up_and_never_overflow) {
    EXPECT_EQ(with_margin(1, 0), 1U);
    EXPECT_EQ(with_margin(1, 1), 2U);
    EXPECT_EQ(with_margin(5, 20), 6U);
    EXPECT_EQ(with_margin(6, 20), 8U);
    EXPECT_EQ(with_margin(100, 20), 120U);
    EXPECT_EQ(with_margin(101, 1000), 1111U);
    EXPECT_EQ(with_margin(most_bytes / 16, 1000), most_bytes / 16 * 11);
    for (std::uint64_t peak = 0; peak < 1000; ++peak) {
        for (unsigned percent = 0; percent <= most_margin; percent += 7)
            ASSERT_EQ(with_margin(peak, percent), (peak * (100 + percent) + 99) / 100);
    }
}

TEST(class_choice, the_same_classes_with_the_same_margin_are_the_same_pool) {
    const std::uint64_t seed = test::seed();
    SCOPED_TRACE("FLATLINE_TEST_SEED=" + std::to_string(seed));
    test::random_source random(seed);
    for (std::uint64_t left = test::scaled(300); left > 0; --left) {
        const std::vector<DemandRow> rows = random_rows(random);
        const Choices choices = choose_classes(rows, 20, 64);
        const PoolPlan pool = plan_pool(choices.by_count[choices.best].classes);
        ASSERT_EQ(with_other_margin(pool, rows, 20).bytes(), pool.bytes());
        ASSERT_GE(with_other_margin(pool, rows, 21).blocks(), pool.blocks()); // but bytes may decrease
        ASSERT_EQ(fit(with_other_margin(pool, rows, 0), rows).growth, 1.0);
        ASSERT_GE(fit(with_other_margin(pool, rows, 150), rows).growth, 2.5);
    }
}
