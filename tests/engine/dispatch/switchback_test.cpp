// switchback.h against a plain reference that keeps every task, and against data whose truth is known.
#include "core/environment.hpp"
#include "core/random_source.hpp"

#include "engine/dispatch/switchback.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <thread>
#include <vector>

namespace {

constexpr double student[] = {2.262157, 2.228139, 2.200985, 2.178813, 2.160369, 2.144787, 2.131450, 2.119905,
                              2.109816, 2.100922, 2.093024, 2.085963, 2.079614, 2.073873, 2.068658};

switchback_options usual_options() {
    return {.seed = 11,
            .begin = 5'000,
            .washout = 1'000,
            .closing = 3'000,
            .slice_bits = 12,
            .share_bits = 1,
            .most_bits = 20,
            .shortest_bits = 8};
}

struct Task {
    std::uint64_t sent, sojourn, back;
};

/// Everything by definition, from all tasks.
class Reference {
  public:
    explicit Reference(const switchback_options &options) : options_(options) {}

    std::uint64_t slice_of(const Task &task) const { return (task.sent - options_.begin) >> options_.slice_bits; }
    std::uint64_t block_of(const Task &task) const { return slice_of(task) >> options_.share_bits; }

    bool counts(const Task &task) const {
        return task.sent >= options_.begin &&
               (task.sent - options_.begin) % (1ULL << options_.slice_bits) >= options_.washout;
    }

    int arm_of(const Task &task) const { return switchback_arm_at(&options_, task.sent); }

    void add(const Task &task) {
        if (counts(task)) tasks_.push_back(task);
    }

    /// With so many blocks in a row that the last one has a place.
    unsigned row_bits() const {
        std::uint64_t last = 0;
        for (const Task &task : tasks_) last = std::max(last, block_of(task));
        unsigned bits = 0;
        while (last >> bits >= SWITCHBACK_ROWS) bits++;
        return bits;
    }

    std::vector<Task> of_row(unsigned row, int arm) const {
        const unsigned bits = row_bits();
        std::vector<Task> found;
        for (const Task &task : tasks_)
            if (block_of(task) >> bits == row && arm_of(task) == arm) found.push_back(task);
        return found;
    }

    std::uint64_t late() const {
        return static_cast<std::uint64_t>(std::ranges::count_if(tasks_, [&](const Task &task) {
            return task.back > options_.begin + ((slice_of(task) + 1) << options_.slice_bits) + options_.closing;
        }));
    }

  private:
    switchback_options options_;
    std::vector<Task> tasks_;
};

std::uint32_t level_of(std::uint64_t sojourn, std::uint32_t shortest_bits) {
    const std::uint32_t from = histogram_bucket(1ULL << shortest_bits);
    return std::min(histogram_bucket(sojourn) - from, std::uint32_t{SWITCHBACK_LEVELS - 1});
}

std::unique_ptr<switchback> made(const switchback_options &options) {
    auto of = std::make_unique<switchback>();
    flat_switchback_init(of.get(), &options);
    return of;
}

/// Tasks in the order in which they come back.
std::vector<Task> random_tasks(test::random_source &random, const switchback_options &options, std::size_t count,
                               std::uint64_t blocks) {
    std::vector<Task> tasks;
    const std::uint64_t ticks = blocks << options.share_bits << options.slice_bits;
    for (std::size_t i = 0; i < count; i++) {
        Task task{.sent = random.below(options.begin + ticks), .sojourn = random.magnitude(1ULL << 28), .back = 0};
        task.back = task.sent + task.sojourn + random.below(2'000);
        tasks.push_back(task);
    }
    std::ranges::sort(tasks, {}, &Task::back);
    return tasks;
}

struct Histogram {
    double tasks = 0;
    std::map<std::uint32_t, double> levels;
};

double longer_than_begin(const Histogram &of, std::uint32_t level) {
    double sum = 0;
    for (const auto &[at, count] : of.levels) sum += at >= level ? count : 0;
    return sum;
}

struct Place {
    std::uint32_t level = 0;
    double part = 0; ///< of the level's tasks, those that are shorter
    double sojourn = 0;
};

Place place_of(const Histogram &of, double count, std::uint32_t shortest_bits) {
    Place place;
    while (longer_than_begin(of, place.level + 1) >= count) place.level++;
    const double from = longer_than_begin(of, place.level), to = longer_than_begin(of, place.level + 1);
    const std::uint32_t bucket = histogram_bucket(1ULL << shortest_bits) + place.level;
    const auto begin = static_cast<double>(histogram_upper_end(bucket - 1) + 1),
               end = static_cast<double>(histogram_upper_end(bucket) + 1);
    place.part = (from - count) / (from - to);
    place.sojourn = begin + (end - begin) * (to > 0 ? std::log(from / count) / std::log(from / to) : place.part);
    return place;
}

struct Quantile {
    double value = 0, below = 0, above = 0;
    std::vector<double> surplus{};
};

Quantile quantile_of(const std::vector<Histogram> &rows, std::uint32_t shortest_bits) {
    Histogram all;
    for (const Histogram &row : rows) {
        all.tasks += row.tasks;
        for (const auto &[level, count] : row.levels) all.levels[level] += count;
    }
    const double count = all.tasks / 1'000;
    const Place at = place_of(all, count, shortest_bits);
    Quantile quantile{.value = at.sojourn};
    double squares = 0;
    for (const Histogram &row : rows) {
        const double here = row.levels.contains(at.level) ? row.levels.at(at.level) : 0;
        quantile.surplus.push_back(longer_than_begin(row, at.level + 1) + (1 - at.part) * here - row.tasks / 1'000);
        squares += quantile.surplus.back() * quantile.surplus.back();
    }
    const auto n = static_cast<double>(rows.size());
    const double half = student[rows.size() - 10] * std::sqrt(squares * n / (n - 1)), near = std::min(half, count / 2);
    quantile.below = std::log(at.sojourn / place_of(all, count + near, shortest_bits).sojourn) * half / near;
    quantile.above = std::log(place_of(all, count - near, shortest_bits).sojourn / at.sojourn) * half / near;
    return quantile;
}

double joined(double one, double other, double correlation) {
    return std::sqrt(one * one + other * other - 2 * correlation * one * other);
}

struct Gain {
    double value, low, high;
};

Gain gain_of(const Quantile &policy, const Quantile &fallback) {
    double products = 0, ones = 0, others = 0;
    for (std::size_t row = 0; row < policy.surplus.size(); row++) {
        products += policy.surplus[row] * fallback.surplus[row];
        ones += policy.surplus[row] * policy.surplus[row];
        others += fallback.surplus[row] * fallback.surplus[row];
    }
    const double correlation = products / std::sqrt(ones * others), ratio = policy.value / fallback.value;
    return {1 - ratio, 1 - ratio * std::exp(joined(policy.above, fallback.below, correlation)),
            1 - ratio / std::exp(joined(policy.below, fallback.above, correlation))};
}

/// A number that is normally distributed, about.
double normal(test::random_source &random) {
    double sum = -6;
    for (int i = 0; i < 12; i++) sum += static_cast<double>(random.next() >> 11) * 0x1p-53;
    return sum;
}

double exponential(test::random_source &random) {
    return -std::log((static_cast<double>(random.next() >> 11) + 1) * 0x1p-53);
}

/// Traffic in which sojourns are exponential, with a mean that changes from slice to slice and is remembered from one
/// to the next. Those of the policy are `ratio` of those of the fallback, and so are all of its quantiles.
switchback_estimate of_known_truth(std::uint64_t seed, double ratio, unsigned blocks, unsigned tasks_of_slice) {
    test::random_source random(seed);
    switchback_options options = usual_options();
    options.seed = seed;
    const auto of = made(options);
    double load = 0;
    const std::uint64_t step = ((1ULL << options.slice_bits) - options.washout) / tasks_of_slice;
    for (std::uint64_t slice = 0; slice < std::uint64_t{2} * blocks; slice++) {
        const std::uint64_t from = options.begin + (slice << options.slice_bits) + options.washout;
        load = 0.5 * load + normal(random);
        const double arm = switchback_arm_at(&options, from) == SWITCHBACK_POLICY ? ratio : 1;
        for (unsigned task = 0; task < tasks_of_slice; task++) {
            const double sojourn = 4'000 * arm * std::exp(0.15 * load) * exponential(random);
            flat_switchback_count(of.get(), from + task * step, static_cast<std::uint64_t>(sojourn), from);
        }
    }
    switchback_estimate estimate;
    flat_switchback_estimate(of.get(), UINT64_MAX, &estimate);
    return estimate;
}

} // namespace

TEST(dispatch_switchback, arms_depend_on_the_seed_and_the_slice_alone) {
    for (const std::uint32_t share_bits : {1u, 3u}) {
        switchback_options options = usual_options(), other = options;
        options.share_bits = other.share_bits = share_bits;
        other.seed++;
        const std::uint64_t of_block = 1ULL << share_bits, length = 1ULL << options.slice_bits;
        std::vector<int> places(of_block, 0);
        int differ = 0;
        constexpr int blocks = 4'000;
        for (std::uint64_t block = 0; block < blocks; block++) {
            int fallback = 0;
            for (std::uint64_t place = 0; place < of_block; place++) {
                const std::uint64_t at = options.begin + (block * of_block + place) * length;
                const switchback_arm arm = switchback_arm_at(&options, at);
                ASSERT_EQ(arm, switchback_arm_at(&options, at + length - 1));
                fallback += arm == SWITCHBACK_FALLBACK;
                places[place] += arm == SWITCHBACK_FALLBACK;
                differ += arm != switchback_arm_at(&other, at);
            }
            ASSERT_EQ(fallback, 1) << "block " << block;
        }
        const auto each = static_cast<double>(blocks) / static_cast<double>(of_block);
        for (const int place : places) EXPECT_NEAR(place, each, 4 * std::sqrt(each));
        EXPECT_GT(differ, blocks / 2);
        EXPECT_EQ(switchback_arm_at(&options, 0), switchback_arm_at(&options, options.begin));
    }
}

TEST(dispatch_switchback, every_task_counts_in_the_slice_in_which_it_was_sent) {
    test::random_source random(test::seed());
    for (const std::uint64_t blocks : {5u, 24u, 25u, 400u, 5'000u}) {
        switchback_options options = usual_options();
        options.share_bits = 1 + static_cast<std::uint32_t>(random.below(3));
        options.seed = random.next();
        Reference reference(options);
        const auto of = made(options);
        for (const Task &task : random_tasks(random, options, 3'000, blocks)) {
            reference.add(task);
            flat_switchback_count(of.get(), task.sent, task.sojourn, task.back);
        }
        ASSERT_EQ(of->row_bits, reference.row_bits()) << blocks << " blocks, seed " << test::seed();
        ASSERT_EQ(of->late, reference.late());
        for (unsigned row = 0; row < SWITCHBACK_ROWS; row++)
            for (const int arm : {0, 1}) {
                std::vector<std::uint32_t> levels(SWITCHBACK_LEVELS, 0);
                const std::vector<Task> tasks = reference.of_row(row, arm);
                for (const Task &task : tasks)
                    if (task.sojourn >= 1ULL << options.shortest_bits)
                        levels[level_of(task.sojourn, options.shortest_bits)]++;
                ASSERT_EQ(of->rows[row].tasks[arm], tasks.size()) << "row " << row << " seed " << test::seed();
                ASSERT_TRUE(std::ranges::equal(levels, of->rows[row].levels[arm])) << "row " << row;
            }
    }
}

TEST(dispatch_switchback, what_is_sent_in_the_wash_out_or_before_the_begin_is_not_counted) {
    const switchback_options options = usual_options();
    const auto of = made(options);
    const auto counted = [&] { return of->rows[0].tasks[0] + of->rows[0].tasks[1]; };
    flat_switchback_count(of.get(), options.begin - 1, 100, options.begin);
    flat_switchback_count(of.get(), options.begin, 100, options.begin + 100);
    flat_switchback_count(of.get(), options.begin + options.washout - 1, 1ULL << 12, options.begin + (1ULL << 13));
    EXPECT_EQ(counted(), 0u);
    flat_switchback_count(of.get(), options.begin + options.washout, 100, options.begin + 2'000);
    flat_switchback_count(of.get(), options.begin + 4'095, 100, options.begin + 5'000);
    EXPECT_EQ(counted(), 2u);
    flat_switchback_count(of.get(), options.begin + 4'096, 100, options.begin + 5'000);
    EXPECT_EQ(counted(), 2u);
}

TEST(dispatch_switchback, the_older_half_is_forgotten_when_rows_are_as_long_as_they_may_be) {
    switchback_options options = usual_options();
    options.most_bits = 2;
    options.washout = 0;
    const auto of = made(options);
    const auto count = [&](std::uint64_t block) {
        const std::uint64_t sent = options.begin + (block << options.slice_bits << options.share_bits);
        flat_switchback_count(of.get(), sent, 100, sent + 100);
    };
    const auto all = [&] {
        std::uint64_t sum = 0;
        for (const switchback_row &row : of->rows) sum += row.tasks[0] + row.tasks[1];
        return sum;
    };
    for (std::uint64_t block = 0; block < 96; block++) count(block);
    EXPECT_EQ(all(), 96u);
    EXPECT_EQ(of->first, 0u);
    count(96);
    EXPECT_EQ(of->first, 48u);
    EXPECT_EQ(all(), 49u);
    count(47); // forgotten
    EXPECT_EQ(all(), 49u);
    count(48);
    EXPECT_EQ(all(), 50u);
    EXPECT_EQ(of->rows[0].tasks[0] + of->rows[0].tasks[1], 5u);
    count(1'000'000); // after a long rest
    EXPECT_EQ(all(), 1u);
    EXPECT_EQ(of->first % 48, 0u);
    EXPECT_EQ(of->row_bits, 2u);
}

TEST(dispatch_switchback, the_interval_is_that_of_a_plain_reference) {
    for (std::uint64_t seed = 1; seed <= 20; seed++) {
        test::random_source random(seed);
        switchback_options options = usual_options();
        options.share_bits = 1 + seed % 2;
        const auto of = made(options);
        const auto rows = static_cast<unsigned>(10 + random.below(15));
        std::vector<Histogram> arms[2]{std::vector<Histogram>(rows), std::vector<Histogram>(rows)};
        for (unsigned row = 0; row < rows; row++)
            for (const int arm : {0, 1}) {
                Histogram &here = arms[arm][row];
                here.tasks = static_cast<double>(5'000 + random.below(3'000));
                of->rows[row].tasks[arm] = static_cast<std::uint64_t>(here.tasks);
                const double scale = (arm == 0 ? 5'000 : 9'000) * std::exp(0.2 * normal(random));
                for (int i = 0; i < 2'000; i++) {
                    const auto sojourn = static_cast<std::uint64_t>(scale * exponential(random));
                    if (sojourn >> options.shortest_bits == 0) continue;
                    const std::uint32_t level = level_of(sojourn, options.shortest_bits);
                    here.levels[level]++;
                    of->rows[row].levels[arm][level]++;
                }
            }
        switchback_estimate estimate;
        flat_switchback_estimate(of.get(), UINT64_MAX, &estimate);
        ASSERT_TRUE(estimate.known);
        const Quantile policy = quantile_of(arms[0], options.shortest_bits),
                       fallback = quantile_of(arms[1], options.shortest_bits);
        const Gain gain = gain_of(policy, fallback);
        const auto same = [](double one, double other) { EXPECT_NEAR(one, other, 1e-9 * (1 + std::abs(other))); };
        EXPECT_EQ(estimate.rows, rows);
        EXPECT_EQ(estimate.slices[SWITCHBACK_FALLBACK], rows);
        EXPECT_EQ(estimate.slices[SWITCHBACK_POLICY], rows * (options.share_bits == 1 ? 1U : 3U));
        same(estimate.quantile[SWITCHBACK_POLICY], policy.value);
        same(estimate.quantile[SWITCHBACK_FALLBACK], fallback.value);
        same(estimate.low[SWITCHBACK_POLICY], policy.value * std::exp(-policy.below));
        same(estimate.high[SWITCHBACK_FALLBACK], fallback.value * std::exp(fallback.above));
        same(estimate.gain, gain.value);
        same(estimate.gain_low, gain.low);
        same(estimate.gain_high, gain.high);
    }
}

TEST(dispatch_switchback, the_interval_holds_the_truth_in_95_of_100_cases) {
    constexpr unsigned cases = 200;
    for (const double ratio : {1.0, 0.7}) {
        unsigned held = 0;
        double mean = 0;
        for (std::uint64_t number = 1; number <= cases; number++) {
            const switchback_estimate estimate =
                of_known_truth(number, ratio, 60 + static_cast<unsigned>(number) % 36, 1'000);
            ASSERT_TRUE(estimate.known);
            held += estimate.gain_low <= 1 - ratio && 1 - ratio <= estimate.gain_high;
            mean += estimate.gain / cases;
        }
        EXPECT_GE(held, 0.92 * cases) << ratio;
        EXPECT_LE(held, 0.98 * cases) << ratio;
        EXPECT_NEAR(mean, 1 - ratio, 0.01);
    }
}

TEST(dispatch_switchback, what_comes_late_is_counted_and_a_row_is_used_when_it_is_closed) {
    const switchback_options options = usual_options();
    const auto of = made(options);
    const std::uint64_t block = 2ULL << options.slice_bits, end = options.begin + block;
    const std::uint64_t sent = options.begin + options.washout, after = sent + (1ULL << options.slice_bits);
    switchback_estimate estimate;
    flat_switchback_count(of.get(), sent, 100, sent + 100);
    flat_switchback_count(of.get(), after, 100, end + options.closing);
    EXPECT_EQ(of->late, 0u);
    flat_switchback_estimate(of.get(), end + options.closing - 1, &estimate);
    EXPECT_EQ(estimate.rows, 0u);
    flat_switchback_estimate(of.get(), end + options.closing, &estimate);
    EXPECT_EQ(estimate.rows, 1u);
    EXPECT_EQ(estimate.tasks[0] + estimate.tasks[1], 2u);
    flat_switchback_count(of.get(), after, 50'000, end + options.closing + 1);
    EXPECT_EQ(of->late, 1u);
    flat_switchback_estimate(of.get(), end + options.closing, &estimate);
    EXPECT_EQ(estimate.tasks[0] + estimate.tasks[1], 3u);
}

TEST(dispatch_switchback, is_not_known_with_few_rows_few_tasks_or_sojourns_beyond_what_is_told_apart) {
    const auto known = [](unsigned rows, unsigned tasks, std::uint32_t level, bool both = true) {
        const auto of = made(usual_options());
        for (unsigned row = 0; row < rows; row++)
            for (const int arm : {0, 1}) {
                if (arm == 1 && !both) continue;
                of->rows[row].tasks[arm] = tasks / rows + 1;
                for (std::uint32_t place = 0; place < 4; place++)
                    of->rows[row].levels[arm][level + place] = tasks / rows / 500 + row % 3;
            }
        switchback_estimate estimate;
        flat_switchback_estimate(of.get(), UINT64_MAX, &estimate);
        if (!estimate.known) {
            EXPECT_EQ(estimate.gain_high, 0);
        }
        return estimate.known;
    };
    EXPECT_TRUE(known(10, 50'000, 100));
    EXPECT_FALSE(known(9, 50'000, 100));
    EXPECT_FALSE(known(10, 49'000, 100));
    EXPECT_FALSE(known(10, 50'000, 100, false));
    EXPECT_FALSE(known(10, 50'000, SWITCHBACK_LEVELS - 4));
    const auto brief = made(usual_options()); // all sojourns are shorter than the shortest that is told apart
    for (unsigned row = 0; row < 12; row++) brief->rows[row].tasks[0] = brief->rows[row].tasks[1] = 10'000;
    switchback_estimate estimate;
    flat_switchback_estimate(brief.get(), UINT64_MAX, &estimate);
    EXPECT_FALSE(estimate.known);
    EXPECT_EQ(estimate.rows, 12u);
}

TEST(dispatch_switchback, estimators_that_are_added_are_as_one_that_counted_all) {
    test::random_source random(test::seed());
    for (const std::uint32_t most_bits : {1u, 20u})
        for (int i = 0; i < 10; i++) {
            switchback_options options = usual_options();
            options.most_bits = most_bits;
            const auto one = made(options), other = made(options), all = made(options), sum = made(options);
            const std::uint64_t blocks = 1 + random.below(400), apart = 1 + random.below(4);
            for (const Task &task : random_tasks(random, options, 2'000, blocks)) {
                // One of them rests most of the time, and is behind.
                switchback *of =
                    random.below(5) < apart && task.sent < options.begin + (50ULL << 13) ? one.get() : other.get();
                flat_switchback_count(of, task.sent, task.sojourn, task.back);
                flat_switchback_count(all.get(), task.sent, task.sojourn, task.back);
            }
            flat_switchback_add(sum.get(), i % 2 == 0 ? one.get() : other.get());
            flat_switchback_add(sum.get(), i % 2 == 0 ? other.get() : one.get());
            ASSERT_EQ(sum->late, all->late);
            ASSERT_GE(sum->first, all->first);
            for (unsigned row = 0; row < SWITCHBACK_ROWS; row++)
                for (const int arm : {0, 1}) {
                    ASSERT_EQ(sum->rows[row].tasks[arm], all->rows[row].tasks[arm]) << "seed " << test::seed();
                    ASSERT_TRUE(std::ranges::equal(sum->rows[row].levels[arm], all->rows[row].levels[arm]));
                }
            const auto copy = made(options);
            ASSERT_TRUE(flat_switchback_read(copy.get(), all.get()));
            ASSERT_EQ(copy->first, all->first);
            ASSERT_EQ(copy->row_bits, all->row_bits);
            for (unsigned row = 0; row < SWITCHBACK_ROWS; row++)
                ASSERT_TRUE(std::ranges::equal(copy->rows[row].levels[1], all->rows[row].levels[1]));
            all->changes++; // rows are being moved
            ASSERT_FALSE(flat_switchback_read(copy.get(), all.get()));
        }
}

TEST(dispatch_switchback, another_thread_reads_rows_that_stand_still) {
    switchback_options options = usual_options();
    options.washout = 0;
    const auto of = made(options), copy = made(options);
    constexpr std::uint64_t tasks = 300'000;
    std::jthread writer([&] {
        for (std::uint64_t block = 0; block < tasks; block++) {
            const std::uint64_t sent = options.begin + (block << options.slice_bits << options.share_bits);
            flat_switchback_count(of.get(), sent, 1'000, sent);
        }
    });
    std::uint64_t before = 0, all = 0;
    while (all < tasks) {
        if (!flat_switchback_read(copy.get(), of.get())) continue;
        all = 0;
        for (const switchback_row &row : copy->rows) all += row.tasks[0] + row.tasks[1];
        ASSERT_GE(all, before); // a row that was joined meanwhile would be missing, or counted twice
        ASSERT_LE(all, tasks);
        before = all;
    }
}
