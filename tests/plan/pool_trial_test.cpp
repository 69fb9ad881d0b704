// What a recording's blocks need, and that it is exact on a real pool.
#include "plan/class_meter.hpp"
#include "plan/demand_meter.hpp"
#include "plan/pool_trial.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace flat::plan {
namespace {

struct Step {
    bool takes;
    std::uint32_t slot;
    std::uint64_t size, alignment;
};

template <typename Take, typename Give> void run(const std::vector<Step> &steps, const Take &take, const Give &give) {
    for (const Step &step : steps) step.takes ? take(step) : give(step);
}

DemandMeter demand_of(const std::vector<Step> &steps) {
    DemandMeter meter;
    run(
        steps, [&](const Step &step) { meter.take(step.size, step.alignment); },
        [&](const Step &step) { meter.give(step.size); });
    return meter;
}

ClassMeter classes_of(const std::vector<Step> &steps) {
    ClassMeter meter(choose_classes(demand_of(steps).rows(), 0, FLAT_POOL_MAX_CLASSES));
    run(
        steps, [&](const Step &step) { meter.take(step.size, step.alignment); },
        [&](const Step &step) { meter.give(step.size, step.alignment); });
    meter.finish();
    return meter;
}

Exactness tried(const std::vector<Step> &steps, const std::vector<flat_class> &planned, const ClassMeter &meter) {
    ExactnessTrial trial(planned, meter.classes(), meter);
    run(
        steps, [&](const Step &step) { trial.take(step.slot, step.size, step.alignment); },
        [&](const Step &step) { trial.give(step.slot, step.size, step.alignment); });
    return trial.result();
}

/// Blocks of random sizes, some aligned, up to `most` at once, and none left at the end.
std::vector<Step> random_steps(std::uint32_t seed, std::size_t count, std::uint32_t most) {
    std::mt19937 random(seed);
    std::vector<Step> steps, live;
    std::vector<std::uint32_t> free_slots;
    for (std::uint32_t slot = most; slot > 0; --slot) free_slots.push_back(slot - 1);
    for (std::size_t i = 0; i < count; ++i) {
        if (free_slots.empty() || (!live.empty() && random() % 2 == 0)) {
            const std::size_t chosen = random() % live.size();
            steps.push_back({false, live[chosen].slot, live[chosen].size, live[chosen].alignment});
            free_slots.push_back(live[chosen].slot);
            live.erase(live.begin() + static_cast<std::ptrdiff_t>(chosen));
        } else {
            live.push_back({true, free_slots.back(), 1 + random() % 700, random() % 8 == 0 ? 64U : 1U});
            free_slots.pop_back();
            steps.push_back(live.back());
        }
    }
    return steps;
}

TEST(DemandMeter, CountsTheMostOfEachSizeAtOnce) {
    const DemandMeter meter = demand_of({{true, 0, 10, 1},
                                         {true, 1, 16, 64},
                                         {false, 0, 10, 1},
                                         {false, 1, 16, 64},
                                         {true, 0, 12, 1},
                                         {true, 1, 40, 1}});
    const std::vector<DemandRow> expected{{16, 2, 64}, {48, 1, 1}};
    EXPECT_EQ(meter.rows(), expected);
    EXPECT_EQ(meter.requests(), 4U);
    EXPECT_EQ(meter.peak_blocks(), 2U);
    EXPECT_EQ(meter.peak_bytes(), 52U);
    EXPECT_EQ(meter.total_bytes(), 16U + 16U + 48U + 16U + 48U); // the gap before an address aligned to 64
}

TEST(DemandMeter, RoundsUpWhereThereAreMoreSizesThanClassesAreChosenFor) {
    DemandMeter meter;
    for (std::uint64_t size = 16; size <= 16 * (most_sizes + 100); size += 16) meter.take(size, 1);
    std::uint64_t blocks = 0;
    for (const DemandRow &row : meter.rows()) blocks += row.count;
    EXPECT_LE(meter.rows().size(), most_sizes);
    EXPECT_EQ(blocks, most_sizes + 100);
    EXPECT_GE(meter.rows().back().size, 16 * (most_sizes + 100));
}

TEST(ClassMeter, NeedsNoMoreThanWasLiveAtOnceInAClass) {
    // The sizes share a class, since a class of its own costs more, and are never live together.
    const std::vector<Step> steps{{true, 0, 64, 1}, {false, 0, 64, 1}, {true, 0, 80, 1}, {false, 0, 80, 1}};
    const ClassMeter meter = classes_of(steps);
    ASSERT_EQ(meter.classes().size(), 1U);
    EXPECT_EQ(meter.classes()[0].block_size, 80U);
    EXPECT_EQ(meter.classes()[0].block_count, 1U);
    const std::vector<DemandRow> expected{{64, 1, 1}};
    EXPECT_EQ(meter.demand(), expected);
}

TEST(ClassMeter, SaysWhatFilledItsClasses) {
    for (std::uint32_t seed = 1; seed <= 20; ++seed) {
        const ClassMeter meter = classes_of(random_steps(seed, 2000, 100));
        const Fit found = fit(plan_pool(meter.classes()), meter.demand());
        for (std::size_t i = 0; i < found.loads.size(); ++i)
            EXPECT_EQ(found.loads[i].live, meter.classes()[i].block_count) << "seed " << seed << ", class " << i;
    }
}

TEST(ClassMeter, LeavesOutWhatNoPoolServes) {
    const ClassMeter meter = classes_of({{true, 0, 64, 8192}, {true, 1, std::uint64_t{2} << 30, 1}, {true, 2, 128, 1}});
    EXPECT_EQ(meter.unserved(), 2U);
    ASSERT_EQ(meter.classes().size(), 1U);
    EXPECT_EQ(meter.classes()[0].block_count, 1U);
}

TEST(ClassMeter, ServesARequestFromTheSmallestClassThatIsAlignedToIt) {
    Choices choices;
    choices.by_count.push_back({{{48, 1}, {64, 1}}, 0});
    const ClassMeter meter(choices);
    EXPECT_EQ(meter.class_of(40, 1), 0U);
    EXPECT_EQ(meter.class_of(40, 64), 1U);
    EXPECT_EQ(meter.class_of(40, 128), std::nullopt);
}

TEST(ClassMeter, DoesNotServeTooManyBlocksFromALargerClass) {
    Choices choices;
    choices.by_count.push_back({{{128, 1}}, 0});
    choices.beyond.push_back({64, FLAT_POOL_MAX_BLOCK_COUNT + 1, 1});
    EXPECT_EQ(ClassMeter(choices).class_of(50, 1), std::nullopt);
    EXPECT_EQ(ClassMeter(choices).class_of(65, 1), 0U);
}

TEST(PoolTrial, ServesARecordingOnItsFootprintAndNotWithOneByteOrBlockLess) {
    for (std::uint32_t seed = 1; seed <= 20; ++seed) {
        const std::vector<Step> steps = random_steps(seed, 2000, 100);
        const ClassMeter meter = classes_of(steps);
        const Exactness found = tried(steps, meter.classes(), meter);
        EXPECT_EQ(found.refused, 0U) << "seed " << seed;
        EXPECT_TRUE(found.a_byte_less_is_refused);
        ASSERT_EQ(found.by_class.size(), meter.classes().size());
        for (const Exactness::BlockLess &each : found.by_class)
            EXPECT_TRUE(each.is_refused()) << "seed " << seed << ", class of " << each.block_size;
        EXPECT_TRUE(found.holds());
    }
}

TEST(PoolTrial, TellsWhichAllocationIsRefusedFirst) {
    const std::vector<Step> steps{{true, 0, 64, 1}, {true, 1, 64, 1}, {false, 0, 64, 1}, {true, 0, 64, 1}};
    const ClassMeter meter = classes_of(steps);
    const Exactness found = tried(steps, meter.classes(), meter);
    EXPECT_EQ(found.allocations, 3U);
    ASSERT_EQ(found.by_class.size(), 1U);
    EXPECT_EQ(found.by_class[0].refused_at, 2U);
}

TEST(PoolTrial, SeesThatAPlanIsTooSmall) {
    const std::vector<Step> steps{{true, 0, 64, 1}, {true, 1, 64, 1}};
    const ClassMeter meter = classes_of(steps);
    const Exactness found = tried(steps, {{64, 1}}, meter);
    EXPECT_EQ(found.refused, 1U);
    EXPECT_FALSE(found.holds());
}

TEST(PoolTrial, SeesThatAPlanIsTooLarge) {
    const std::vector<Step> steps{{true, 0, 64, 1}, {true, 1, 64, 1}};
    const ClassMeter meter = classes_of(steps);
    ExactnessTrial trial({{64, 3}}, {{64, 3}}, meter);
    for (const Step &step : steps) trial.take(step.slot, step.size, step.alignment);
    EXPECT_FALSE(trial.result().holds());
}

} // namespace
} // namespace flat::plan
