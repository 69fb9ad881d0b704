#include "cli/bench_markdown.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using flat::cli::markdown_of;
using nlohmann::json;

namespace {

json cell(const char *backend, double p50, const char *suite = "hot", const char *unit = "ns", int calls = 32) {
    return {{"suite", suite},      {"size", 64},  {"calls_per_sample", calls},
            {"operation", "pair"}, {"order", ""}, {"unit", unit},
            {"backend", backend},  {"p50", p50},  {"void", false}};
}

json run() {
    json bench{{"schema", "flatline.bench/1"}, {"rounds", 4}, {"started", "today"}};
    bench["environment"] = {{"processor", "P"}, {"logical_cpus", 2}, {"kernel", "K"}, {"compiler", "C"}};
    bench["backends"] = {{{"name", "flatline-pool"}, {"title", "pool"}, {"kind", "subject"}},
                         {{"name", "flatline-pool-again"}, {"title", "again"}, {"kind", "again"}},
                         {{"name", "list"}, {"title", "list"}, {"kind", "unchecked"}},
                         {{"name", "glibc"}, {"title", "glibc"}, {"kind", "general"}}};
    bench["cells"] = {cell("flatline-pool", 4), cell("flatline-pool-again", 4.1), cell("list", 2), cell("glibc", 8)};
    return bench;
}

std::string last_line(const json &bench) {
    std::string text = markdown_of(bench.dump());
    text.pop_back();
    return text.substr(text.rfind('\n') + 1);
}

} // namespace

TEST(markdown, ranks_what_competes_and_shows_what_does_not) {
    EXPECT_EQ(last_line(run()), "| hot 64 B | **4.00** | 2.00 | 8.00 | 0.50 |");
}

TEST(markdown, names_the_machine_and_the_columns) {
    const std::string text = markdown_of(run().dump());
    EXPECT_EQ(text.substr(0, text.find(';')), "P, 2 processors, K, C");
    EXPECT_NE(text.find("| | pool | list | glibc | pool / best malloc |\n|---|---:|---:|---:|---:|\n"),
              std::string::npos);
}

TEST(markdown, holds_each_of_flatlines_against_the_best_malloc_of_others) {
    json bench = run();
    bench["backends"].push_back({{"name", "flatline-malloc"}, {"title", "malloc"}, {"kind", "drop-in"}});
    bench["backends"].push_back({{"name", "flatline-malloc-memory"}, {"title", "m.mem"}, {"kind", "drop-in"}});
    bench["cells"].push_back(cell("flatline-malloc", 6));
    bench["cells"].push_back(cell("flatline-malloc-memory", 3));
    EXPECT_EQ(last_line(bench), "| hot 64 B | 4.00 | 2.00 | 8.00 | 6.00 | **3.00** | 0.50 | 0.75 |");
    EXPECT_NE(markdown_of(bench.dump()).find("| pool / best malloc | malloc / best other |\n"), std::string::npos);
}

TEST(markdown, keeps_cells_of_other_numbers_of_threads_apart) {
    json bench = run();
    bench["cells"] = json::array();
    for (const int threads : {2, 8}) {
        bench["cells"].push_back(cell("glibc", threads, "threads", "Mops/s", 0));
        bench["cells"].back()["threads"] = threads;
        bench["cells"].back()["order"] = "larson";
    }
    const std::string text = markdown_of(bench.dump());
    EXPECT_NE(text.find("| threads, larson pair, 2 threads, Mops/s |  |  | **2.00** |"), std::string::npos) << text;
    EXPECT_EQ(last_line(bench), "| threads, larson pair, 8 threads, Mops/s |  |  | **8.00** |  |");
}

TEST(markdown, takes_more_for_better_in_rates) {
    json bench = run();
    bench["cells"] = {cell("flatline-pool", 400, "throughput", "Mops/s"), cell("glibc", 800, "throughput", "Mops/s")};
    EXPECT_EQ(last_line(bench), "| throughput 64 B, Mops/s | 400.0 |  | **800.0** | 0.50 |");
}

TEST(markdown, gives_no_verdict_in_a_void_cell) {
    json bench = run();
    for (json &each : bench["cells"]) each["void"] = true;
    EXPECT_EQ(last_line(bench), "| hot 64 B | 4.00 | 2.00 | 8.00 | void |");
}

TEST(markdown, leaves_out_single_calls) {
    json bench = run();
    bench["cells"].push_back(cell("glibc", 30, "fifo", "ns", 1));
    EXPECT_EQ(markdown_of(bench.dump()).find("fifo"), std::string::npos);
}

TEST(markdown, leaves_a_place_empty_where_a_backend_failed) {
    json bench = run();
    bench["cells"].erase(3);
    EXPECT_EQ(last_line(bench), "| hot 64 B | **4.00** | 2.00 |  |  |");
}

TEST(markdown, gives_rounds_a_table_of_their_own) {
    json bench = run();
    bench["backends"].push_back({{"name", "pool-resource"}, {"title", "pool_resource"}, {"kind", "subject"}});
    bench["backends"].push_back({{"name", "std-pool"}, {"title", "std::pmr pool"}, {"kind", "standard"}});
    for (const auto &[backend, p50] : {std::pair{"pool-resource", 30.0}, {"std-pool", 20.0}, {"glibc", 40.0}}) {
        json round = cell(backend, p50, "containers", "ns", 1);
        round.update({{"operation", "round"}, {"order", "list"}, {"size", 0}});
        bench["cells"].push_back(round);
    }
    EXPECT_EQ(last_line(bench), "| list | 40.00 | 30.00 | **20.00** | |");
    const std::string text = markdown_of(bench.dump());
    EXPECT_NE(text.find("| | glibc | pool_resource | std::pmr pool |  |\n"), std::string::npos) << text;
    EXPECT_NE(text.find("| hot 64 B | **4.00** | 2.00 | 8.00 | 0.50 |"), std::string::npos) << text;
    for (json &each : bench["cells"]) each["void"] = true;
    EXPECT_EQ(last_line(bench), "| list | 40.00 | 30.00 | 20.00 | void |");
}
