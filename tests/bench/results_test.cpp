#include "bench/results.hpp"

#include <gtest/gtest.h>

using namespace flat::bench;

namespace {

const Cell hot{"hot", 64, 32, "", 100};
const Cell hot_single{"hot", 64, 1, "", 100};
const Cell throughput{"throughput", 64, 0, "", 100};

Run run_of(std::vector<double> values) { return {Distribution(values), 16, 1, 10, 1000, values}; }

Measurement measured(const char *backend, const Cell &cell, std::vector<Run> runs) {
    return {find_backend(backend),
            cell,
            cell.suite == "containers" ? "round"
            : cell.calls == 1          ? "alloc"
                                       : "pair",
            cell.calls == 0 ? 100000 : cell.calls,
            std::move(runs),
            unit_of(cell, Quantity::ticks)};
}

Measurement constant(const char *backend, double value, const Cell &cell = hot) {
    return measured(backend, cell, std::vector<Run>(fewest_for_a_verdict, run_of(std::vector<double>(10, value))));
}

/// The group of these measurements, with a clock that advances in steps of `clock_step` ns.
Group group_of(std::vector<Measurement> measurements, std::uint64_t clock_step = 0) {
    Campaign campaign;
    campaign.measurements = std::move(measurements);
    campaign.ticks_per_ns = 1;
    campaign.clock_step = clock_step;
    const std::vector<Group> groups = groups_of(campaign);
    EXPECT_EQ(groups.size(), 1U);
    return groups.front();
}

const Row &row(const Group &group, const char *backend) {
    for (const Row &each : group.rows) {
        if (each.backend == find_backend(backend)) return each;
    }
    throw std::logic_error("no such row");
}

Verdict verdict_against(const Group &group, const char *rival) {
    return judge(group, row(group, "flatline-pool"), row(group, rival), Figure::p50);
}

Outcome against(const Group &group, const char *rival) { return verdict_against(group, rival).outcome; }

/// One process for each value. Each process measured only that value.
Measurement processes(const char *backend, const std::vector<double> &values) {
    std::vector<Run> runs;
    for (const double value : values) runs.push_back(run_of({value}));
    return measured(backend, hot, std::move(runs));
}

} // namespace

TEST(results, pool_all_processes_and_give_intervals_over_processes) {
    const Group group = group_of({measured("glibc", hot, {run_of({1, 2, 3}), run_of({5, 6, 700}), run_of({3, 4, 5})})});
    const Row &glibc = group.rows.front();
    EXPECT_EQ(glibc.samples, 9U);
    EXPECT_EQ(glibc.processes, 3U);
    EXPECT_EQ(glibc.p50, 4); // the values are 1 2 3 3 4 5 5 6 700
    EXPECT_EQ(glibc.p50_interval.low, 2);
    EXPECT_EQ(glibc.p50_interval.high, 6);
    EXPECT_EQ(glibc.p999_interval.low, 3);
    EXPECT_EQ(glibc.p999_interval.high, 700);
    EXPECT_EQ(glibc.process_p50, (std::vector<double>{2, 6, 4}));
    EXPECT_EQ(glibc.process_p999, (std::vector<double>{3, 700, 5}));
    EXPECT_EQ(glibc.max, 700);
    EXPECT_EQ(glibc.page_faults, 3U);
    EXPECT_EQ(glibc.page_faults_setup, 30U);
    EXPECT_EQ(glibc.resident_kib, 1000U);
    EXPECT_DOUBLE_EQ(*glibc.p50_net, 4 - 16.0 / 32);
    EXPECT_FALSE(glibc.curve.empty());
}

TEST(results, tell_what_the_processor_counted_of_an_operation) {
    const auto counted = [](Counters counters, std::uint64_t operations) {
        flat::bench::Run run = run_of({1});
        run.counters = counters;
        run.operations = operations;
        return run;
    };
    const Row all =
        group_of({measured("glibc", hot, {counted({100, 0, {}, 3}, 10), counted({500, 1, {}, {}}, 10)})}).rows[0];
    EXPECT_EQ(all.per_operation[0], 30);
    EXPECT_EQ(all.per_operation[1], 0.05);
    EXPECT_FALSE(all.per_operation[2]); // not counted
    EXPECT_FALSE(all.per_operation[3]); // not counted in every process
    EXPECT_FALSE(group_of({measured("glibc", hot, {counted({100, 0, 1, 3}, 0)})}).rows[0].per_operation[0]);
}

TEST(results, tell_no_p9999_under_a_hundred_thousand_samples) {
    const std::vector<double> few(99'999, 1), enough(100'000, 1);
    EXPECT_FALSE(group_of({measured("glibc", hot, {run_of(few)})}).rows.front().p9999.has_value());
    EXPECT_TRUE(group_of({measured("glibc", hot, {run_of(enough)})}).rows.front().p9999.has_value());
}

TEST(results, tell_a_rate_of_tasks_and_the_best_of_it) {
    const Cell saturated{"engine", 64, 0, "saturated", 10};
    EXPECT_EQ(unit_of(saturated, Quantity::ticks), Unit::tasks);
    EXPECT_EQ(unit_of({"engine", 256, 0, "closed", 10}, Quantity::ticks), Unit::ns);
    EXPECT_EQ(unit_of({"engine", 64, 1, "busy", 10}, Quantity::ticks), Unit::ns);
    const Group group = group_of(
        {constant("engine", 20, saturated), constant("ring", 30, saturated), constant("mutex-queue", 10, saturated)});
    EXPECT_TRUE(group.is_rate());
    EXPECT_TRUE(is_winner(group, row(group, "engine")));
    EXPECT_EQ(judge(group, row(group, "engine"), row(group, "mutex-queue"), Figure::p50).outcome, Outcome::faster);
    EXPECT_EQ(judge(group, row(group, "engine"), row(group, "ring"), Figure::p50).outcome, Outcome::slower);
}

TEST(results, subtract_the_clock_without_clamping) {
    EXPECT_DOUBLE_EQ(*group_of({constant("floor", 14, hot_single)}).rows.front().p50_net, -2);
}

TEST(results, void_a_cell_whose_copies_differ_by_more_than_five_percent) {
    const auto differing = [](double again) {
        return group_of({constant("flatline-pool", 10), constant("flatline-pool-again", again), constant("glibc", 20)});
    };
    EXPECT_FALSE(is_void(differing(10.49)));
    EXPECT_TRUE(is_void(differing(10.51)));
    EXPECT_FALSE(is_void(differing(9.53)));
    EXPECT_TRUE(is_void(differing(9.52))); // differ by 5.04 % of the smaller one
    EXPECT_FALSE(is_winner(differing(10.51), row(differing(10.51), "flatline-pool")));
}

TEST(results, tell_percentiles_within_the_step_of_the_clock) {
    // Three quarters of the blocks take 10 ns a call, a quarter 11 ns. The clock's step is 32 ns, or 1 ns a call. So
    // the median is two thirds of the way through the step around 10.
    std::vector<double> values(75, 10);
    values.insert(values.end(), 25, 11);
    EXPECT_NEAR(group_of({measured("glibc", hot, {run_of(values)})}, 32).rows.front().p50, 9.5 + 50.0 / 75, 1e-9);
    EXPECT_EQ(group_of({measured("glibc", hot, {run_of(values)})}, 32).rows.front().max, 11);
}

TEST(results, spread_no_reading_over_a_step_that_it_is_not_in) {
    Measurement delays = measured("glibc", hot_single, {run_of({100, 100.4, 101, 110})});
    EXPECT_NE(group_of({delays}, 32).rows.front().p50, 100.4);
    delays.in_steps = false;
    EXPECT_EQ(group_of({delays}, 32).rows.front().p50, 100.4);
}

TEST(results, rank_neither_controls_nor_copies) {
    const Group group = group_of({constant("floor", 1), constant("list", 2), constant("flatline-pool-again", 4.9),
                                  constant("flatline-pool", 5), constant("glibc", 9)});
    EXPECT_TRUE(is_winner(group, row(group, "flatline-pool")));
    for (const char *other : {"floor", "list", "flatline-pool-again", "glibc"})
        EXPECT_FALSE(is_winner(group, row(group, other))) << other;
}

TEST(results, show_losses) {
    const Group group =
        group_of({constant("flatline-pool", 10), constant("flatline-pool-again", 10.1), constant("glibc", 9),
                  constant("jemalloc", 11), constant("mimalloc", 10.05), constant("tcmalloc", 9.95)});
    EXPECT_EQ(against(group, "glibc"), Outcome::slower);
    EXPECT_EQ(against(group, "jemalloc"), Outcome::faster);
    EXPECT_EQ(against(group, "mimalloc"), Outcome::no_difference); // the A/A copies differ by more
    EXPECT_EQ(against(group, "tcmalloc"), Outcome::no_difference);
    EXPECT_TRUE(is_winner(group, row(group, "glibc")));
    EXPECT_FALSE(is_winner(group, row(group, "flatline-pool")));
}

TEST(results, call_less_than_two_percent_no_difference) {
    const auto beside = [](double glibc) {
        return group_of({constant("flatline-pool", 10), constant("glibc", glibc)});
    };
    EXPECT_EQ(against(beside(10.19), "glibc"), Outcome::no_difference);
    EXPECT_EQ(against(beside(10.21), "glibc"), Outcome::faster);
}

TEST(results, compare_nothing_with_a_figure_of_0) {
    const Group group = group_of({constant("flatline-pool", 10), constant("floor", 0), constant("glibc", 20)});
    EXPECT_TRUE(side_by_side(row(group, "flatline-pool"), row(group, "floor"), Figure::p50).empty());
    EXPECT_EQ(against(group, "floor"), Outcome::no_difference);
    EXPECT_EQ(verdict_against(group, "floor").ratio, 1);
    EXPECT_EQ(against(group, "glibc"), Outcome::faster);
}

TEST(results, compare_tasks_only_where_the_processors_were_about_equally_far_apart) {
    const auto at = [](const char *queue, std::vector<std::pair<double, std::uint64_t>> processes) {
        std::vector<flat::bench::Run> runs;
        for (const auto &[value, apart] : processes) {
            runs.push_back(run_of({value}));
            runs.back().counts = {{"counters apart", apart}};
        }
        return measured(queue, hot, std::move(runs));
    };
    const auto group = [&](std::vector<std::pair<double, std::uint64_t>> again) {
        return group_of({at("engine", {{110, 200}, {330, 650}, {120, 195}, {115, 210}}), at("engine-again", again),
                         at("ring", {{100, 220}, {110, 205}, {300, 640}, {100, 472}})});
    };
    const Group like = group({{110, 115}, {331, 600}, {300, 655}, {115, 210}});
    EXPECT_EQ(side_by_side(row(like, "engine"), row(like, "ring"), Figure::p50), (std::vector<double>{1.1, 1.15}));
    EXPECT_LT(*copy_difference(like), 0.01);
    EXPECT_FALSE(is_void(like));
    const Group unlike = group({{300, 600}, {110, 200}, {300, 655}, {350, 650}});
    EXPECT_FALSE(copy_difference(unlike));
    EXPECT_TRUE(is_void(unlike)) << "nothing tells how much two of the same differ";
}

TEST(results, tell_nothing_of_single_calls_finer_than_the_clock) {
    const auto beside = [](const Cell &cell, std::uint64_t clock_step) {
        return against(group_of({constant("flatline-pool", 44, cell), constant("glibc", 40, cell)}, clock_step),
                       "glibc");
    };
    EXPECT_EQ(beside(hot_single, 0), Outcome::slower);
    EXPECT_EQ(beside(hot_single, 5), Outcome::no_difference); // a difference of 4 ns, steps of 5 ns
    EXPECT_EQ(beside(hot, 5), Outcome::slower);               // 32 calls timed together
}

TEST(results, judge_only_where_the_rounds_agree) {
    const Group group =
        group_of({processes("flatline-pool", {9, 12, 9, 12, 9, 12}), processes("glibc", {10, 10, 10, 10, 10, 10}),
                  processes("jemalloc", {10, 13.3, 10, 13.3, 10, 13.3})});
    EXPECT_EQ(against(group, "glibc"), Outcome::no_difference); // slower only in every second round
    const Verdict verdict = verdict_against(group, "jemalloc"); // 10 % faster in each round, despite the noise
    EXPECT_EQ(verdict.outcome, Outcome::faster);
    EXPECT_NEAR(verdict.interval.low, 0.9, 0.003);
    EXPECT_NEAR(verdict.interval.high, 0.9, 0.003);
}

TEST(results, judge_nothing_by_few_processes) {
    const Group group = group_of({processes("flatline-pool", {10, 10, 10}), processes("glibc", {20, 20, 20})});
    EXPECT_EQ(against(group, "glibc"), Outcome::no_difference);
}

TEST(results, say_verdicts_in_words) {
    EXPECT_EQ(in_words({Outcome::faster, 0.95, {0.92, 0.97}}), "faster by 3 to 8 %");
    EXPECT_EQ(in_words({Outcome::slower, 1.1, {1.1, 1.1}}), "slower by 10 %");
    EXPECT_EQ(in_words({Outcome::faster, 1.2, {1.15, 1.3}}), "faster by 15 to 30 %"); // for a rate
    EXPECT_EQ(in_words({Outcome::no_difference, 1, {0.9, 1.1}}), "no difference at this precision");
    EXPECT_EQ(in_words({Outcome::voided, 1, {0.9, 1.1}}), "void");
}

TEST(results, give_no_verdict_in_a_void_cell) {
    const Group group =
        group_of({constant("flatline-pool", 10), constant("flatline-pool-again", 11), constant("glibc", 20)});
    EXPECT_EQ(against(group, "glibc"), Outcome::voided);
}

TEST(results, mark_every_winner_of_a_tie) {
    const Group group = group_of({constant("flatline-pool", 5), constant("glibc", 5), constant("jemalloc", 6)});
    EXPECT_TRUE(is_winner(group, row(group, "flatline-pool")));
    EXPECT_TRUE(is_winner(group, row(group, "glibc")));
    EXPECT_FALSE(is_winner(group, row(group, "jemalloc")));
}

TEST(results, hold_more_to_be_better_in_throughput) {
    const Group group = group_of({constant("flatline-pool", 200, throughput), constant("glibc", 100, throughput),
                                  constant("jemalloc", 300, throughput)});
    EXPECT_TRUE(is_winner(group, row(group, "jemalloc")));
    EXPECT_EQ(against(group, "glibc"), Outcome::faster);
    EXPECT_EQ(against(group, "jemalloc"), Outcome::slower);
    EXPECT_FALSE(group.rows.front().over_100ns_ppm.has_value());
    EXPECT_FALSE(group.rows.front().p50_net.has_value());
}

TEST(results, give_no_victory_for_what_is_not_ranked) {
    Measurement slow = constant("glibc", 2), quick = constant("flatline-pool", 1);
    slow.ranked = quick.ranked = false;
    const Group group = group_of({quick, slow});
    EXPECT_FALSE(group.ranked);
    EXPECT_FALSE(is_winner(group, row(group, "flatline-pool")));
}

TEST(results, tell_bytes_without_what_only_times_have) {
    const Cell memory{"memory", 64, 0, "", 1, 1000};
    Measurement glibc = constant("glibc", 80, memory), pool = constant("flatline-pool", 68, memory);
    glibc.unit = pool.unit = unit_of(memory, Quantity::bytes);
    glibc.operation = pool.operation = "resident";
    const Group group = group_of({pool, glibc}, 32);
    EXPECT_EQ(group.unit, Unit::bytes);
    EXPECT_EQ(row(group, "glibc").p50, 80); // no clock step
    EXPECT_FALSE(row(group, "glibc").over_1us_ppm.has_value());
    EXPECT_FALSE(row(group, "glibc").p50_net.has_value());
    EXPECT_TRUE(row(group, "glibc").curve.empty());
    EXPECT_EQ(against(group, "glibc"), Outcome::faster); // less is better
    EXPECT_EQ(describe(group), "memory 64 B, resident of 100,000 blocks");
}

TEST(results, keep_the_course_of_a_suite_that_is_about_it) {
    const Cell drift{"drift", 64, 0, "", 3, 500'000};
    const Group group = group_of({measured("glibc", drift, {run_of({30, 10, 20}), run_of({30, 90, 20})})});
    ASSERT_TRUE(group.rows.front().trend.has_value());
    EXPECT_EQ(group.rows.front().trend->values, (std::vector<double>{30, 10, 20}));
    EXPECT_EQ(group.rows.front().trend->worst, 90);
    EXPECT_FALSE(group_of({constant("glibc", 1)}).rows.front().trend.has_value());
}

TEST(results, decide_single_calls_by_their_tail) {
    std::vector<double> flat(1000, 20), spiky(1000, 19);
    spiky[0] = spiky[1] = 900;
    const Group group = group_of(
        {measured("flatline-pool", hot_single, {run_of(flat)}), measured("glibc", hot_single, {run_of(spiky)})});
    EXPECT_TRUE(is_winner(group, row(group, "flatline-pool")));
    EXPECT_FALSE(is_winner(group, row(group, "glibc")));
}

TEST(results, keep_different_work_apart) {
    Campaign campaign;
    campaign.measurements = {constant("glibc", 1), constant("jemalloc", 1), constant("glibc", 1, hot_single),
                             constant("glibc", 1, throughput)};
    const std::vector<Group> groups = groups_of(campaign);
    ASSERT_EQ(groups.size(), 3U);
    EXPECT_EQ(groups[0].rows.size(), 2U);
    EXPECT_EQ(describe(groups[1]), "hot 64 B, single alloc calls");
}

TEST(results, keep_different_numbers_of_threads_apart_and_name_them) {
    const auto larson = [](unsigned threads) {
        return Cell{"threads", 64, 0, "larson", 6, 0, 0, several_threads, threads};
    };
    Campaign campaign;
    campaign.measurements = {constant("glibc", 1, larson(2)), constant("glibc", 2, larson(4)),
                             constant("jemalloc", 2, larson(4))};
    const std::vector<Group> groups = groups_of(campaign);
    ASSERT_EQ(groups.size(), 2U);
    EXPECT_EQ(groups[1].rows.size(), 2U);
    EXPECT_EQ(describe(groups[1]), "threads larson, 64 B, 4 threads, batches of 100,000 calls");
}

TEST(results, name_the_call_of_which_several_are_timed_together) {
    Measurement remote = constant("glibc", 1, Cell{"threads", 64, 64, "larson", 6, 0, 0, several_threads, 2});
    remote.operation = "remote free";
    remote.calls = 64;
    EXPECT_EQ(describe(group_of({remote})), "threads larson, 64 B, 2 threads, remote free calls, blocks of 64");
}

TEST(results, tell_the_most_that_any_process_had_resident) {
    Measurement measurement = constant("glibc", 5);
    measurement.runs[0].peak_bytes = 4096;
    measurement.runs[2].peak_bytes = 8192;
    const Group group = group_of({measurement, constant("floor", 1)});
    EXPECT_EQ(row(group, "glibc").peak_bytes, 8192U);
    EXPECT_FALSE(row(group, "floor").peak_bytes.has_value());
}

TEST(results, know_which_rows_are_flatlines) {
    const Group group = group_of({constant("flatline-pool", 1), constant("flatline-pool-again", 1),
                                  constant("floor", 1), constant("flatline-percore", 1), constant("flatline-malloc", 1),
                                  constant("flatline-malloc-memory", 1), constant("glibc", 1)});
    std::vector<std::string_view> names;
    for (const Row *ours : ours_of(group)) names.push_back(ours->backend->name);
    EXPECT_EQ(names, (std::vector<std::string_view>{"flatline-pool", "flatline-percore", "flatline-malloc",
                                                    "flatline-malloc-memory"}));
}

namespace {

const Cell list{"containers", 0, 1, "list", 100};

/// Each process has one value, so P50 and P99.9 are equal.
Measurement round_of(const char *backend, double value) { return constant(backend, value, list); }

/// Each process has two values: P50 is the first, P99.9 the second.
Measurement round_of(const char *backend, double usual, double late) {
    return measured(backend, list, std::vector<Run>(fewest_for_a_verdict, run_of({usual, usual, late})));
}

std::vector<std::string> names_of(const std::vector<Contest> &contests) {
    std::vector<std::string> names;
    for (const Contest &each : contests)
        names.push_back(std::string(each.subject->backend->name) + "/" + std::string(each.rival->backend->name));
    return names;
}

} // namespace

TEST(rounds, are_void_where_any_copy_differs_from_its_original) {
    const auto pools = [](double arena, double copy_of_arena, double pool, double copy_of_pool) {
        return group_of({round_of("arena-resource", arena), round_of("arena-resource-again", copy_of_arena),
                         round_of("pool-resource", pool), round_of("pool-resource-again", copy_of_pool)});
    };
    EXPECT_FALSE(is_void(pools(100, 101, 200, 202)));
    EXPECT_TRUE(is_void(pools(100, 110, 200, 202)));
    EXPECT_TRUE(is_void(pools(100, 101, 200, 220)));
    EXPECT_NEAR(*copy_difference(pools(100, 101, 200, 204)), 0.02, 1e-3);
    EXPECT_FALSE(copy_difference(group_of({round_of("arena-resource", 1), round_of("pool-resource-again", 1)})));
}

TEST(rounds, hold_each_subject_against_what_it_replaces_and_the_best_malloc) {
    const Group group =
        group_of({round_of("floor", 1), round_of("glibc", 9, 10), round_of("jemalloc", 8, 20),
                  round_of("arena-resource", 5), round_of("pool-resource", 6), round_of("heap-resource", 7),
                  round_of("inline-arena", 4), round_of("allocator-pool", 3), round_of("std-pool", 8)});
    EXPECT_EQ(names_of(contests_of(group, Figure::p50)),
              (std::vector<std::string>{"arena-resource/jemalloc", "pool-resource/std-pool", "pool-resource/jemalloc",
                                        "heap-resource/jemalloc", "inline-arena/floor", "inline-arena/jemalloc",
                                        "allocator-pool/pool-resource"}));
    EXPECT_EQ(names_of(contests_of(group, Figure::p999)).front(), "arena-resource/glibc");
    EXPECT_EQ(names_of(contests_of(group, Figure::jitter)).front(), "arena-resource/glibc");
    EXPECT_TRUE(contests_of(group_of({constant("flatline-pool", 1), constant("glibc", 2)}), Figure::p50).empty());
}

TEST(rounds, are_won_by_their_median_and_tell_their_jitter) {
    const Group group =
        group_of({round_of("arena-resource", 5, 50), round_of("std-monotonic", 6, 9), round_of("floor", 1)});
    EXPECT_EQ(decider(group), Figure::p50);
    EXPECT_TRUE(is_winner(group, row(group, "arena-resource")));
    EXPECT_FALSE(is_winner(group, row(group, "std-monotonic")));
    EXPECT_EQ(figure_of(row(group, "arena-resource"), Figure::jitter), 45);
    const Verdict verdict = judge(group, row(group, "std-monotonic"), row(group, "arena-resource"), Figure::jitter);
    EXPECT_EQ(verdict.outcome, Outcome::faster);
    EXPECT_NEAR(verdict.ratio, 3.0 / 45, 1e-9);
    // The floor's jitter is zero, so there is no ratio to it.
    EXPECT_TRUE(side_by_side(row(group, "arena-resource"), row(group, "floor"), Figure::jitter).empty());
    EXPECT_EQ(judge(group, row(group, "arena-resource"), row(group, "floor"), Figure::jitter).outcome,
              Outcome::no_difference);
    EXPECT_EQ(describe(group), "containers list, single rounds");
}

TEST(rounds, tell_the_most_heap_calls_and_bytes_of_any_process) {
    Measurement measurement = round_of("glibc", 5);
    for (std::size_t i = 0; i < measurement.runs.size(); ++i) measurement.runs[i].heap_calls = 500 + i;
    measurement.runs[1].held_bytes = 4096;
    const Group group = group_of({measurement, round_of("floor", 1)});
    EXPECT_EQ(row(group, "glibc").heap_calls, 503U);
    EXPECT_EQ(row(group, "glibc").held_bytes, 4096U);
    EXPECT_FALSE(row(group, "floor").heap_calls.has_value());
}
