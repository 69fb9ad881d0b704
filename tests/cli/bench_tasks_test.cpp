#include "cli/bench_tasks.hpp"

#include "cli/bench_summary.hpp"
#include "cli/bench_table.hpp"

#include "bench/queue.h"

#include "cli/lines_of.hpp"

#include <gtest/gtest.h>

using namespace flat;
using bench::find_backend;

using test::has;
using test::line_with;

namespace {

constexpr cli::Look wide{false, false, 100};

bench::Row row(const char *backend, double p50, double p999) {
    bench::Row row{};
    row.backend = find_backend(backend);
    row.samples = 1000;
    row.p50 = row.mean = row.p90 = row.p99 = p50;
    row.p999 = p999;
    row.max = 2 * p999;
    row.processes = bench::fewest_for_a_verdict;
    row.p50_interval = {p50, p50};
    row.process_p50.assign(row.processes, p50);
    row.process_p999.assign(row.processes, p999);
    return row;
}

/// The engine is slower than the ring, twice as fast as the best general queue, and worse in its tail.
bench::Group busy() {
    return {{"engine", 64, 1, "busy", 1},
            "run",
            1,
            {row("engine", 120, 900), row("engine-again", 121, 905), row("ring", 100, 300),
             row("mutex-queue", 240, 450), row("tbb-arena", 600, 5000), row("boost-spsc", 110, 310),
             row("remote-free", 130, 400)}};
}

bench::Group asleep() {
    return {{"engine", 64, 1, "sleeping", 1}, "run", 1, {row("engine", 20000, 90000), row("futex", 25000, 80000)}};
}

bench::Group saturated() {
    return {{"engine", 64, 0, "saturated", 1},
            "task",
            100000,
            {row("engine", 20, 20), row("ring", 30, 30)},
            bench::Unit::tasks};
}

bench::Group overload() {
    bench::Group group{{"engine", 256, 1, "overload", 1}, "sojourn", 1, {row("engine", 17000, 19000)}};
    group.rows[0].counts = {{"tagged", {2, 3, 1, 0}},
                            {"tagged by gaps", {0, 1, 0, 0}},
                            {"capacity a second", {500'000, 500'000, 400'000, 400'000}},
                            {"done a second", {450'000, 450'000, 450'000, 450'000}},
                            {"offered", {1000, 1000, 1000, 1000}},
                            {"refused", {500, 500, 500, 496}},
                            {"refused early", {0, 16, 0, 0}},
                            {"bytes grown", {0, 8192, 0, 0}},
                            {"longest ns", {21'000, 29'500, 20'000, 20'000}},
                            {"bound ns", {48'000, 48'000, 48'000, 48'000}},
                            {"above the bound", {0, 0, 1234, 0}}};
    return group;
}

std::size_t widest_line(const std::string &text) {
    std::size_t width = 0;
    for (std::size_t from = 0, end; (end = text.find('\n', from)) != std::string::npos; from = end + 1)
        width = std::max(width, end - from);
    return width;
}

} // namespace

TEST(bench_tasks, tell_the_tail_of_single_tasks_and_hold_the_engine_against_each_kind_of_queue) {
    const std::string text = cli::cell_table(busy(), {}, wide);
    EXPECT_TRUE(has(text, "engine busy, 64 B, run: ns a task; the A/A copies differ by 0.8 %")) << text;
    EXPECT_TRUE(has(line_with("engine / floor", text), "P50   1.20  (bare ring)")) << text;
    EXPECT_TRUE(has(line_with("engine / best general", text), "P50   0.50  faster by 50 % (mutex queue)")) << text;
    EXPECT_TRUE(has(text, "P99.9 2.00  slower by 100 % (mutex queue)")) << text;
    EXPECT_TRUE(has(text, "P99.9 2.90  slower by 190 % (boost spsc_queue)")) << text;
    EXPECT_TRUE(has(text, "P50   0.92  (remote free)")) << text;
    EXPECT_TRUE(line_with("bare ring ", text).starts_with("  ")) << text; // a control never wins
    EXPECT_LE(widest_line(text), 100U) << text;
}

TEST(bench_tasks, sum_up_with_one_column_for_both_floors) {
    const std::string text = cli::tasks_summary({busy(), asleep(), saturated(), overload()}, wide);
    const std::string head = line_with("  /floor  /best", text);
    EXPECT_TRUE(has(head, " floor ")) << text;
    EXPECT_FALSE(has(head, "ring")) << text;
    EXPECT_FALSE(has(head, "eng2")) << text; // the copy only decides what is void
    EXPECT_TRUE(line_with("busy 64 B ", text).starts_with("busy 64 B ")) << text;
    EXPECT_TRUE(has(text, "100.0    1.20   0.50\n")) << text; // the ring, and the engine beside it
    EXPECT_TRUE(has(text, "25000")) << text;                  // the futex, in the same column
    EXPECT_TRUE(has(text, "30.00    0.67")) << text;          // a rate
    EXPECT_TRUE(has(text, "P99.9, ns, of single tasks.")) << text;
    EXPECT_LE(widest_line(text), 100U) << text;
    EXPECT_EQ(cli::tasks_summary({}, wide), "");
    EXPECT_EQ(cli::summary_table({busy(), saturated()}, false, wide), ""); // that is about allocators
}

TEST(bench_tasks, count_where_the_engine_is_better_and_name_where_it_is_worse) {
    const std::string text = cli::tasks_verdict({busy(), saturated()}, wide);
    EXPECT_TRUE(has(text, "Flatline engine against the best general queue: better in 1 figures, no different at this"))
        << text;
    EXPECT_TRUE(has(text, "Worse: busy 64 B P99.9 (2.00 of mutex queue)")) << text;
    EXPECT_TRUE(has(text, "saturated 64 B P50 (0.67 of bare ring)")) << text;
    EXPECT_FALSE(has(text, "saturated 64 B P99.9")) << text; // that is of single tasks
    EXPECT_EQ(cli::tasks_verdict({}, wide), "");
}

TEST(bench_tasks, tell_what_an_overload_counted) {
    const std::string text = cli::overload_table(overload(), wide), line = line_with("  Flatline engine", text);
    EXPECT_EQ(line,
              "  Flatline engine           450  100.0    49.9  0.40      8     29.5   48.0     1,234   0.60  0.10")
        << text;
    EXPECT_LE(widest_line(text), 100U) << text;
    EXPECT_EQ(cli::overload_table(busy(), wide), "");
    EXPECT_TRUE(has(cli::cell_table(overload(), {}, wide), line));
}

TEST(bench_tasks, state_the_bound_of_the_plan_for_the_engine_that_is_measured) {
    std::vector<bench::Cell> cells = bench::cells(bench::Mode::full);
    cli::state_bounds(cells);
    for (const bench::Cell &cell : cells) {
        if (is_overload(cell)) {
            EXPECT_EQ(cell.load, cli::overload_bound_ns());
        }
    }
    // Each task ahead, the one that runs and the task itself, with the worker's own grant.
    EXPECT_GE(cli::overload_bound_ns(), (OVERLOAD_CAPACITY + 1) * std::uint64_t{OVERLOAD_SERVICE_NS});
    EXPECT_LE(cli::overload_bound_ns(), 4 * OVERLOAD_CAPACITY * std::uint64_t{OVERLOAD_SERVICE_NS});
}
