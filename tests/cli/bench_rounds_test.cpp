#include "cli/bench_columns.hpp"
#include "cli/bench_rounds.hpp"
#include "cli/bench_summary.hpp"
#include "cli/bench_table.hpp"

#include "cli/lines_of.hpp"

#include <gtest/gtest.h>

#include <sstream>

using namespace flat;
using bench::find_backend;

using test::has;
using test::line_with;

namespace {

constexpr cli::Look wide{false, false, 100};

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
    row.heap_calls = 0;
    row.held_bytes = 16000;
    return row;
}

/// The pool beats std::pmr's, loses to jemalloc in P50 and has the least jitter of all. The allocator beats the pool.
bench::Group of_pools(const char *order = "list", unsigned calls = 1) {
    bench::Group group{{"containers", 0, calls, order, 1},
                       "round",
                       calls,
                       {row("floor", 100, 110), row("glibc", 900, 990), row("jemalloc", 400, 9000),
                        row("pool-resource", 500, 550), row("pool-resource-again", 505, 550),
                        row("allocator-pool", 250, 350), row("std-pool", 1000, 12000)}};
    group.rows[0].held_bytes.reset();
    group.rows[1].heap_calls = 1500;
    return group;
}

bench::Group voided() {
    bench::Group group = of_pools();
    group.rows[4] = row("pool-resource-again", 600, 660);
    return group;
}

} // namespace

TEST(bench_rounds, tell_the_heap_calls_and_the_bytes_beside_the_times) {
    const std::string text = cli::cell_table(of_pools(), {}, wide);
    EXPECT_TRUE(has(text, "containers list, single rounds: ns a round; the A/A copies differ by 1.0 %")) << text;
    EXPECT_TRUE(has(line_with("glibc ", text), "1,500")) << text;
    EXPECT_TRUE(has(line_with("  pool_resource ", text), "0    16,000")) << text;
    EXPECT_TRUE(line_with("floor", text).ends_with("0         -")) << text;
    EXPECT_TRUE(line_with("allocator, pool", text).starts_with("* ")) << text; // best median
    EXPECT_TRUE(has(line_with("  pool_resource ", text), "50.00*")) << text;   // least jitter
    EXPECT_FALSE(has(text, "ppm")) << text;
}

TEST(bench_rounds, hold_each_subject_against_its_rivals_and_hide_no_loss) {
    const std::string text = cli::contest_lines(of_pools(), wide);
    EXPECT_TRUE(has(text, "P50 0.50 of pmr.po, faster by 50 %")) << text;
    EXPECT_TRUE(has(text, "P50 1.25 of je, slower by 25 %")) << text;
    EXPECT_TRUE(has(text, "P99.9 0.56 of glibc, faster by 44 %")) << text;
    EXPECT_TRUE(has(line_with("a.pool", text), "P50 0.50 of pool, faster by 50 %")) << text;
    EXPECT_FALSE(has(cli::contest_lines(of_pools("list", 32), wide), "P99.9")) << text; // only the body
    const std::string all = cli::rounds_verdict({of_pools(), of_pools("deque"), of_pools("list", 32)}, wide);
    EXPECT_TRUE(has(line_with("pool_resource / std::pmr pool", all), "3    0      0      2    0      0    0")) << all;
    EXPECT_TRUE(has(line_with("pool_resource / best malloc", all), "0    0      3      2    0      0    0")) << all;
    EXPECT_TRUE(has(all, "slower: list P50 (1.25), deque P50 (1.25), list, 32 P50 (1.25)")) << all;
}

TEST(bench_rounds, have_a_summary_of_medians_and_one_of_jitter) {
    const std::string text = cli::rounds_summary({of_pools(), of_pools("deque"), of_pools("trades", 32)}, wide);
    EXPECT_TRUE(has(line_with("trades, 32", text), "250.0*")) << text;
    const std::size_t jitter = text.find("P99.9 - P50");
    ASSERT_NE(jitter, std::string::npos);
    EXPECT_TRUE(has(line_with("deque", text, jitter), "50.00*")) << text;
    EXPECT_FALSE(has(text.substr(jitter), "trades")) << text; // rounds in blocks have no tail
    EXPECT_FALSE(has(text, "pool2")) << text;
    EXPECT_TRUE(has(text, "a.pool: allocator, pool")) << text;
}

TEST(bench_rounds, say_void_and_decide_nothing_there) {
    const std::string table = cli::cell_table(voided(), {}, wide), all = cli::rounds_verdict({voided()}, wide);
    EXPECT_TRUE(has(table, "void: the A/A copies differ by 20.0 %")) << table;
    EXPECT_FALSE(has(table, "* ")) << table;
    EXPECT_FALSE(has(table, "faster")) << table;
    EXPECT_TRUE(line_with("pool_resource / std::pmr pool", all).ends_with("1")) << all;
    EXPECT_TRUE(line_with("list", cli::rounds_summary({voided()}, wide)).ends_with("void"));
}

TEST(bench_rounds, stand_apart_from_what_is_timed_by_calls) {
    const bench::Group hot{{"hot", 64, 32, "", 1}, "pair", 32, {row("flatline-pool", 4, 5), row("glibc", 8, 9)}};
    EXPECT_FALSE(has(cli::summary_table({hot, of_pools()}, true, wide), "pmr"));
    EXPECT_EQ(cli::summary_table({of_pools()}, true, wide), "");
    EXPECT_EQ(cli::verdict_text({of_pools()}, wide), "");
    EXPECT_EQ(cli::rounds_summary({hot}, wide), "");
    EXPECT_EQ(cli::rounds_verdict({hot}, wide), "");
}

TEST(bench_rounds, fit_the_terminal) {
    for (const std::size_t width : {80U, 100U, 200U}) {
        const cli::Look look{false, false, width};
        const std::vector<bench::Group> groups{of_pools(), voided(), of_pools("trades", 32)};
        for (const std::string &text : {cli::cell_table(groups[0], {}, look), cli::rounds_summary(groups, look),
                                        cli::rounds_verdict(groups, look)}) {
            std::istringstream in(text);
            for (std::string line; std::getline(in, line);)
                EXPECT_LE(line.size(), std::min<std::size_t>(width, 100)) << line;
        }
    }
}
