#include "cli/bench_columns.hpp"
#include "cli/bench_summary.hpp"
#include "cli/bench_table.hpp"

#include <gtest/gtest.h>

#include <sstream>

using namespace flat;
using bench::find_backend;

namespace {

bench::Row row(const char *backend, double p50, double p999) {
    bench::Row row{};
    row.backend = find_backend(backend);
    row.p50 = row.mean = p50;
    row.p999 = p999;
    row.processes = bench::fewest_for_a_verdict;
    row.p50_interval = {p50, p50};
    row.process_p50.assign(row.processes, p50);
    row.process_p999.assign(row.processes, p999);
    row.max = 123456;
    row.over_100ns_ppm = 0.4;
    return row;
}

/// The pool loses to glibc in P50 and wins in P99.9.
bench::Group losing() {
    return {{"hot", 64, 32, "", 1},
            "pair",
            32,
            {row("flatline-pool", 10, 11), row("flatline-pool-again", 10.1, 11.1), row("floor", 1, 2),
             row("list", 3, 4), row("glibc", 8, 100), row("boost-pool", 12, 13)}};
}

bench::Group voided() {
    bench::Group group = losing();
    group.rows[1] = row("flatline-pool-again", 11, 11.1);
    return group;
}

std::vector<std::string> lines_of(const std::string &text) {
    std::istringstream in(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

std::string line_with(const std::string &part, const std::string &text) {
    for (const std::string &line : lines_of(text)) {
        if (line.find(part) != std::string::npos) return line;
    }
    return "";
}

bool has(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

void expect_narrower(const std::string &text, std::size_t width) {
    for (const std::string &line : lines_of(text)) EXPECT_LE(line.size(), width) << line;
}

} // namespace

TEST(bench_table, sorts_by_median_and_marks_the_winner) {
    const std::vector<std::string> lines = lines_of(cli::cell_table(losing(), {}, {}));
    ASSERT_GE(lines.size(), 8U);
    EXPECT_TRUE(has(lines[2], "floor"));
    EXPECT_TRUE(has(lines[3], "list"));
    EXPECT_TRUE(lines[4].starts_with("* glibc")) << lines[4];
    EXPECT_TRUE(lines[5].starts_with("  Flatline pool ")) << lines[5];
    EXPECT_TRUE(has(lines[5], "9.00")) << lines[5]; // net of the floor
    EXPECT_TRUE(has(lines[5], "<1")) << lines[5];   // 0.4 ppm is not 0
    EXPECT_TRUE(has(lines[5], "123,456")) << lines[5];
}

TEST(bench_table, hides_no_loss) {
    const std::string text = cli::cell_table(losing(), {}, {});
    EXPECT_TRUE(has(text, "pool / best malloc     P50   1.25  slower by 25 % (glibc)")) << text;
    EXPECT_TRUE(has(text, "pool / best malloc     P99.9 0.11  faster by 89 % (glibc)")) << text;
    EXPECT_TRUE(has(line_with("fixed size", text), "0.83")) << text;
    EXPECT_FALSE(has(line_with("unchecked list", text), "slower")) << text; // a control is not a rival
    EXPECT_TRUE(has(cli::verdict_text({losing()}, {}), "hot 64 B (1.25 of glibc)"));
}

TEST(bench_table, hides_no_loss_of_the_malloc_under_any_policy) {
    bench::Group group = losing();
    for (const auto &[policy, p50] : {std::pair{"flatline-malloc", 6.0}, {"flatline-malloc-memory", 9.6}})
        group.rows.push_back(row(policy, p50, 50));
    const std::string text = cli::cell_table(group, {}, {});
    EXPECT_TRUE(has(text, "malloc / best other    P50   0.75  faster by 25 % (glibc)")) << text;
    EXPECT_TRUE(has(text, "m.mem / best other     P50   1.20  slower by 20 % (glibc)")) << text;
    EXPECT_TRUE(has(text, "pool / best malloc     P50   1.25  slower by 25 % (glibc)")) << text;
    EXPECT_FALSE(has(text, "malloc / best fixed")) << text;
    const std::string verdict = cli::verdict_text({group}, {});
    EXPECT_TRUE(has(verdict, "malloc, memory against every other malloc")) << verdict;
    EXPECT_TRUE(has(verdict, "hot 64 B (1.20 of glibc)")) << verdict;
    const std::string summary = cli::summary_table({group}, true, {});
    EXPECT_TRUE(has(line_with("hot 64 B ", summary), "1.25      0.75")) << summary;
}

TEST(bench_table, tells_how_many_threads_and_what_was_resident_beside_every_row) {
    bench::Group group = losing();
    group.cell = {"threads", 64, 0, "larson", 1, 0, 0, bench::several_threads, 8};
    group.unit = bench::Unit::mops;
    EXPECT_FALSE(has(cli::cell_table(group, {}, {}), "peak KiB"));
    for (bench::Row &each : group.rows) each.peak_bytes = 1'500'000;
    group.rows.back().peak_bytes.reset();
    const std::string text = cli::cell_table(group, {}, {});
    EXPECT_TRUE(has(text, "threads larson, 64 B, 8 threads")) << text;
    EXPECT_TRUE(has(line_with("max", text), "peak KiB")) << text;
    EXPECT_TRUE(line_with("* Boost.Pool", text).ends_with("        -")) << text;
    EXPECT_TRUE(line_with("  glibc", text).ends_with("     1465")) << text;
    EXPECT_TRUE(has(cli::summary_table({group}, true, {}), "threads larson, 8 ")) << text;
    const bench::Failure failure{find_backend("mimalloc"), {"threads", 64, 0, "larson", 1, 0, 0, 0, 4}, "it broke"};
    EXPECT_FALSE(has(cli::cell_table(group, {failure}, {}), "mimalloc")); // it failed in another cell
    expect_narrower(text, 100);
    group.cell.calls = 1;
    group.unit = bench::Unit::ns;
    expect_narrower(cli::cell_table(group, {}, {}), 100);
    expect_narrower(cli::cell_table(group, {}, {false, false, 80}), 80);
}

TEST(bench_table, says_void_and_gives_no_verdict) {
    const std::string text = cli::cell_table(voided(), {}, {});
    EXPECT_TRUE(has(text, "void: the A/A copies differ by 10.0 %"));
    EXPECT_FALSE(has(text, "faster"));
    EXPECT_FALSE(has(text, "slower"));
    EXPECT_FALSE(has(text, "* "));
    EXPECT_TRUE(has(line_with("hot 64 B ", cli::summary_table({voided()}, true, {})), "void"));
    EXPECT_TRUE(has(cli::verdict_text({voided()}, {}), "1 void"));
}

TEST(bench_table, names_a_backend_that_failed_in_its_cell) {
    const bench::Group group = losing();
    const std::vector<bench::Failure> failures{{find_backend("mimalloc"), group.cell, "it broke"},
                                               {find_backend("mimalloc"), {"hot", 16, 32, "", 1}, "it broke"}};
    EXPECT_TRUE(has(cli::cell_table(group, failures, {}), "! mimalloc"));
    const std::string text = cli::failures_text(failures, {});
    EXPECT_EQ(lines_of(text).size(), 1U);
    EXPECT_TRUE(has(text, "mimalloc in hot 64 B, blocks of 32 calls and 1 more: it broke")) << text;
}

TEST(bench_table, summary_has_a_column_for_each_backend_but_the_copy) {
    const std::string text = cli::summary_table({losing()}, true, {});
    for (const char *column : {"pool", "floor", "list", "glibc", "boost"}) EXPECT_TRUE(has(text, column)) << column;
    EXPECT_FALSE(has(text, "again"));
    EXPECT_TRUE(has(line_with("hot 64 B ", text), "8.00*")) << text;
    EXPECT_TRUE(has(line_with("hot 64 B ", text), "1.25")) << text;
}

/// Cells in which the mallocs named first are best. There are too many to fit beside each other.
std::vector<bench::Group> crowded() {
    std::vector<bench::Group> groups;
    for (const std::size_t size : {16U, 64U}) {
        bench::Group group{{"hot", size, 32, "", 1}, "pair", 32, {}};
        double p50 = 5;
        for (const char *name : {"flatline-pool", "rpmalloc", "jemalloc", "tbb", "flatline-malloc", "snmalloc", "glibc",
                                 "tcmalloc", "mimalloc", "hardened-malloc", "floor", "list", "boost-pool"})
            group.rows.push_back(row(name, p50 += 1, 100));
        groups.push_back(group);
    }
    return groups;
}

TEST(bench_table, shows_the_best_columns_in_one_block_and_says_how_many_it_leaves_out) {
    const std::string text = cli::summary_table(crowded(), false, {}), head = line_with("pool vs malloc vs", text);
    for (const char *shown : {" pool ", " malloc ", " rp ", " je ", " tbb ", " glibc ", " floor ", " list "})
        EXPECT_TRUE(has(head, shown)) << shown << head;
    for (const char *hidden : {" sn ", " tc ", " mi ", " hard ", " boost "}) EXPECT_FALSE(has(head, hidden)) << hidden;
    EXPECT_TRUE(has(text, "5 more were measured: --all")) << text;
    EXPECT_EQ(text.find("pool vs malloc vs"), text.rfind("pool vs malloc vs")) << text;
    expect_narrower(text, 100);

    const std::string narrow = cli::summary_table(crowded(), false, {false, false, 80});
    EXPECT_FALSE(has(narrow, " floor ")) << narrow;
    EXPECT_TRUE(has(narrow, "7 more were measured: --all")) << narrow;
    expect_narrower(narrow, 80);

    const std::string all = cli::summary_table(crowded(), true, {});
    for (const char *shown : {" sn ", " tc ", " boost "}) EXPECT_TRUE(has(all, shown)) << all;
    EXPECT_FALSE(has(all, "--all"));
    expect_narrower(all, 100);
}

TEST(bench_table, colours_winners_where_the_terminal_can) {
    const cli::Look coloured{true, true, 100};
    EXPECT_TRUE(has(cli::summary_table({losing()}, false, coloured), "\x1b[32m  8.00*\x1b[0m"));
    EXPECT_FALSE(has(cli::summary_table({losing()}, false, {}), "\x1b"));
}

TEST(bench_table, says_in_a_sentence_what_came_out) {
    EXPECT_EQ(cli::outcome_text({losing()}, {}),
              "Flatline pool has a better median than every other malloc in 0 of 1 cells and a worse one in 1,\n"
              "  where it takes up to 1.25 times as long (hot 64 B, glibc).\n");
    bench::Group rate = losing();
    rate.unit = bench::Unit::mops;
    rate.cell = {"throughput", 64, 0, "", 1};
    EXPECT_TRUE(has(cli::outcome_text({rate}, {}), "in 1 of 1 cells, and a worse one in none."));
    rate.rows[0].process_p50.assign(rate.rows[0].processes, 4);
    rate.rows[0].p50 = rate.rows[1].p50 = 4;
    rate.rows[1].process_p50 = rate.rows[0].process_p50;
    EXPECT_TRUE(has(cli::outcome_text({losing(), rate}, {}), "2.00 times as long (throughput 64 B, glibc)."));
    EXPECT_TRUE(has(cli::outcome_text({voided()}, {}), "was not judged: the machine was too noisy in every cell"));
    EXPECT_TRUE(has(cli::outcome_text(crowded(), {}), "and a worse one in none;"));
    EXPECT_TRUE(has(cli::outcome_text(crowded(), {}), "Flatline malloc has a better median"));
    EXPECT_EQ(cli::outcome_text({}, {}), "");
}

TEST(bench_table, draws_the_course_of_each_backend) {
    bench::Group group{{"drift", 64, 0, "", 4, 640'000}, "P99", 1, {row("flatline-pool", 20, 20), row("glibc", 9, 9)}};
    group.rows[0].trend = bench::Trend{{20, 20, 20, 20}, 20, 20, 21, 0};
    group.rows[1].trend = bench::Trend{{9, 9, 9, 16}, 9, 16, 30, 0.25};
    const std::string text = cli::cell_table(group, {}, {});
    EXPECT_TRUE(has(text, "drift 64 B, P99 of windows of 640,000 calls"));
    EXPECT_TRUE(has(text, "▁▁▁█")) << text;
    EXPECT_TRUE(has(text, "▁▁▁▁")) << text;
    EXPECT_TRUE(has(text, "9.00     16.00     30.00      +0.250")) << text;
    EXPECT_FALSE(has(cli::cell_table(losing(), {}, {}), "window by window"));
}

TEST(bench_table, names_bytes_and_gives_no_verdict_on_what_is_not_ranked) {
    bench::Group group = losing();
    group.cell = {"anysize", 0, 0, "pareto", 1, 1000, 0, bench::any_size};
    group.operation = "asked";
    group.unit = bench::Unit::bytes;
    group.ranked = false;
    const std::string text = cli::cell_table(group, {}, {});
    EXPECT_TRUE(has(text, "anysize pareto, any size, asked of 32 blocks: bytes a block")) << text;
    EXPECT_FALSE(has(text, "wins"));
    EXPECT_FALSE(has(text, "loses"));
    EXPECT_FALSE(has(text, "* "));
    EXPECT_FALSE(has(line_with("anysize pareto asked", cli::summary_table({group}, true, {})), "*"));
    EXPECT_EQ(cli::verdict_text({group}, {}), "");
}

TEST(bench_table, fits_the_terminal) {
    for (const std::size_t width : {80U, 100U, 200U}) {
        const cli::Look look{false, false, width};
        expect_narrower(cli::cell_table(losing(), {}, look), std::min<std::size_t>(width, 100));
        expect_narrower(cli::summary_table({losing()}, true, look), std::min<std::size_t>(width, 100));
        expect_narrower(cli::verdict_text({losing()}, look), std::min<std::size_t>(width, 100));
    }
}

TEST(bench_table, writes_figures_in_six_columns) {
    EXPECT_EQ(cli::compact(5.934), "5.93");
    EXPECT_EQ(cli::compact(99.996), "100.0");
    EXPECT_EQ(cli::compact(999.96), "1000");
    EXPECT_EQ(cli::compact(123456.7), "123457");
    EXPECT_EQ(cli::compact(-0.001), "0.00");
    EXPECT_EQ(cli::compact(-3.5), "-3.50");
}
