#include "bench/document.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace flat::bench;
using nlohmann::json;

namespace {

const Cell hot{"hot", 64, 32, "", 4};

Campaign small_campaign() {
    Campaign campaign;
    const Run run{Distribution({1.23456789, 2, 3, 4000}), 16, 1, 2, 3};
    campaign.measurements = {{find_backend("glibc"), hot, "pair", 32, {run}}};
    campaign.failures = {{find_backend("mimalloc"), hot, "it failed"}};
    DriverReport report;
    report.timer = "rdtsc";
    report.version = "2.36";
    report.library = "/lib/libc.so.6";
    campaign.identities = {{find_backend("glibc"), report},
                           {find_backend("rpmalloc"), report, Build{"1.4.3", "crate r 1", "gcc", "-O3 -g"}}};
    campaign.ticks_per_ns = 2.6;
    campaign.clock_step = 26;
    return campaign;
}

json document() {
    const Campaign campaign = small_campaign();
    Circumstances about{};
    about.started = "2026-11-21T20:00:00Z";
    about.rounds = 1;
    about.time_after = {50, 200};
    about.hiccups_before = about.hiccups_after = {0.5, 3, 20000, 45000};
    about.missing = {{find_backend("snmalloc"), "cargo is not installed"}};
    return json::parse(document_of(campaign, groups_of(campaign), about));
}

} // namespace

TEST(document, tells_cells_as_the_schema_has_them) {
    const json cell = document().at("cells").at(0);
    EXPECT_EQ(cell.at("backend"), "glibc");
    EXPECT_EQ(cell.at("calls_per_sample"), 32);
    EXPECT_EQ(cell.at("unit"), "ns");
    EXPECT_EQ(cell.at("samples"), 4);
    EXPECT_EQ(cell.at("max"), 4000);
    EXPECT_TRUE(cell.at("p9999").is_null());
    EXPECT_EQ(cell.at("over_1us_ppm"), 250000);
    EXPECT_EQ(cell.at("curve").at(0), json::array({0.0, 1.2346}));
    EXPECT_EQ(cell.at("void"), false);
}

TEST(document, tells_the_windows_of_a_course_in_order) {
    const Cell drift{"drift", 64, 0, "", 3, 500'000};
    Campaign campaign = small_campaign();
    campaign.clock_step = 0;
    const flat::bench::Run run{Distribution({30, 10, 20}), 16, 1, 2, 3, {30, 10, 20}};
    campaign.measurements = {{find_backend("glibc"), drift, "P99", 1, {run}}};
    const json cell = json::parse(document_of(campaign, groups_of(campaign), Circumstances{})).at("cells").at(0);
    const json windows = cell.at("windows");
    EXPECT_EQ(windows.at("values"), json::array({30.0, 10.0, 20.0}));
    EXPECT_EQ(windows.at("operations"), 500'000);
    EXPECT_EQ(windows.at("first"), 30);
    EXPECT_EQ(windows.at("last"), 20);
    EXPECT_EQ(windows.at("worst"), 30);
    EXPECT_EQ(windows.at("slope_ns_per_million"), -10); // -5 in each window of half a million
    EXPECT_FALSE(cell.contains("curve"));
    EXPECT_FALSE(document().at("cells").at(0).contains("windows"));
    EXPECT_EQ(cell.at("ranked"), true);
}

TEST(document, tells_the_step_of_the_clock_and_what_was_stolen) {
    const json environment = document().at("environment");
    EXPECT_EQ(environment.at("timer").at("tick_ns"), 10);
    EXPECT_EQ(environment.at("timer").at("frequency_hz"), 2600000000U);
    EXPECT_EQ(environment.at("steal_percent"), 25);
}

TEST(document, gives_interruptions_and_what_they_took_by_the_second) {
    const json hiccups = document().at("environment").at("hiccups");
    EXPECT_EQ(hiccups.at("before").at("over_10us_per_second"), 6);
    EXPECT_EQ(hiccups.at("before").at("lost_us_per_second"), 90);
    EXPECT_EQ(hiccups.at("between").at("over_10us_per_second"), 0); // from one round
}

TEST(document, tells_what_everything_timed_was_built_with) {
    const json allocators = document().at("environment").at("allocators");
    EXPECT_EQ(allocators.at(0).at("flags"), "as packaged");
    EXPECT_EQ(allocators.at(0).at("source"), "");
    EXPECT_EQ(allocators.at(1).at("flags"), "-O3 -g");
    EXPECT_EQ(allocators.at(1).at("source"), "crate r 1");
}

TEST(document, tells_each_process_and_each_verdict) {
    Campaign campaign = small_campaign();
    campaign.measurements.push_back(campaign.measurements.front());
    campaign.measurements.back().backend = find_backend("flatline-pool");
    const json parsed = json::parse(document_of(campaign, groups_of(campaign), Circumstances{}));
    EXPECT_EQ(parsed.at("cells").at(0).at("process_p50"), json::array({parsed.at("cells").at(0).at("p50")}));
    EXPECT_EQ(parsed.at("cells").at(0).at("process_p999"), json::array({4000.0}));
    const json verdict = parsed.at("verdicts").at(0);
    EXPECT_EQ(verdict.at("subject"), "flatline-pool");
    EXPECT_EQ(verdict.at("rival"), "glibc");
    EXPECT_EQ(verdict.at("figure"), "p50");
    EXPECT_EQ(verdict.at("ratio"), 1);
    EXPECT_EQ(verdict.at("outcome"), "no difference");
}

TEST(document, tells_the_ratios_of_what_is_compared_to_every_other_row) {
    const auto run_of = [](double p50) { return flat::bench::Run{Distribution({p50, p50, p50}), 16, 1, 2, 3}; };
    Campaign campaign = small_campaign();
    campaign.measurements.clear();
    for (const char *backend : {"flatline-pool", "flatline-heap", "glibc", "floor"})
        campaign.measurements.push_back({find_backend(backend), hot, "pair", 32, {run_of(10), run_of(30)}});
    campaign.measurements[2].runs = {run_of(20), run_of(20)};
    campaign.measurements[3].runs = {run_of(5)};
    const json cells = json::parse(document_of(campaign, groups_of(campaign), Circumstances{})).at("cells");
    const double middle = 0.86603; // the geometric mean of 0.5 and 1.5
    EXPECT_EQ(cells.at(0).at("ratios"), (json{{"flatline-heap", {{"p50", 1.0}, {"p999", 1.0}}},
                                              {"glibc", {{"p50", middle}, {"p999", middle}}},
                                              {"floor", {{"p50", nullptr}, {"p999", nullptr}}}}));
    EXPECT_EQ(cells.at(1).at("ratios").at("flatline-pool").at("p50"), 1.0);
    EXPECT_FALSE(cells.at(2).contains("ratios"));
    EXPECT_FALSE(cells.at(3).contains("ratios"));
}

TEST(document, tells_the_ratio_of_the_jitter_of_rounds_too) {
    Campaign campaign = small_campaign();
    campaign.clock_step = 0;
    campaign.measurements.clear();
    const auto add = [&](const char *backend, double usual, double late) {
        const flat::bench::Run run{Distribution({usual, usual, late}), 16, 1, 2, 3};
        campaign.measurements.push_back({find_backend(backend), {"containers", 0, 1, "list", 3}, "round", 1, {run}});
    };
    add("pool-resource", 10, 40);
    add("std-pool", 20, 35);
    const json cells = json::parse(document_of(campaign, groups_of(campaign), Circumstances{})).at("cells");
    EXPECT_EQ(cells.at(0).at("ratios"), (json{{"std-pool", {{"p50", 0.5}, {"p999", 1.1429}, {"jitter", 2.0}}}}));
}

TEST(document, holds_the_malloc_under_each_policy_against_the_others) {
    Campaign campaign = small_campaign();
    const Measurement glibc = campaign.measurements.front();
    for (const char *backend : {"floor", "boost-pool", "flatline-pool", "flatline-malloc", "flatline-malloc-latency"}) {
        campaign.measurements.push_back(glibc);
        campaign.measurements.back().backend = find_backend(backend);
    }
    std::vector<std::string> told;
    const json parsed = json::parse(document_of(campaign, groups_of(campaign), Circumstances{}));
    for (const json &verdict : parsed.at("verdicts"))
        told.push_back(verdict.at("subject").get<std::string>() + " " + verdict.at("rival").get<std::string>());
    EXPECT_EQ(told, (std::vector<std::string>{"flatline-pool glibc", "flatline-pool floor", "flatline-pool boost-pool",
                                              "flatline-pool flatline-malloc", "flatline-pool flatline-malloc-latency",
                                              "flatline-malloc glibc", "flatline-malloc-latency glibc"}));
}

TEST(document, tells_of_how_many_threads_a_cell_is_and_what_was_resident) {
    Campaign campaign = small_campaign();
    campaign.measurements.front().cell = {"threads", 64, 1, "larson", 4, 0, 0, several_threads, 4};
    campaign.measurements.front().runs.front().peak_bytes = 65536;
    campaign.failures.front().cell.threads = 8;
    campaign.measurements.push_back(campaign.measurements.front());
    campaign.measurements.back().backend = find_backend("flatline-percore");
    const json parsed = json::parse(document_of(campaign, groups_of(campaign), Circumstances{}));
    EXPECT_EQ(parsed.at("cells").at(0).at("threads"), 4);
    EXPECT_EQ(parsed.at("cells").at(0).at("peak_bytes"), 65536);
    EXPECT_EQ(parsed.at("verdicts").at(0).at("threads"), 4);
    EXPECT_EQ(parsed.at("errors").at(0).at("threads"), 8);
    EXPECT_TRUE(document().at("cells").at(0).at("peak_bytes").is_null());
}

TEST(document, tells_what_each_process_counted_of_tasks) {
    Campaign campaign = small_campaign();
    campaign.measurements.clear();
    for (const char *backend : {"engine", "ring", "mutex-queue", "remote-free"}) {
        flat::bench::Run run{Distribution({10, 11, 40}), 16, 1, 2, 3}, next = run;
        run.counts = {{"offered", 7}, {"refused", 0}};
        next.counts = {{"offered", 8}, {"refused", 3}};
        campaign.measurements.push_back({find_backend(backend), {"engine", 64, 1, "busy", 3}, "run", 1, {run, next}});
    }
    const json parsed = json::parse(document_of(campaign, groups_of(campaign), Circumstances{}));
    EXPECT_EQ(parsed.at("cells").at(0).at("counts"), (json{{"offered", {7, 8}}, {"refused", {0, 3}}}));
    EXPECT_FALSE(document().at("cells").at(0).contains("counts"));
    std::vector<std::string> rivals;
    for (const json &verdict : parsed.at("verdicts")) rivals.push_back(verdict.at("rival"));
    EXPECT_EQ(rivals, (std::vector<std::string>{"ring", "mutex-queue", "remote-free"}));
}

TEST(document, tells_no_verdict_where_none_is_ranked) {
    Campaign campaign = small_campaign();
    campaign.measurements.push_back(campaign.measurements.front());
    campaign.measurements.back().backend = find_backend("flatline-pool");
    for (Measurement &measurement : campaign.measurements) measurement.ranked = false;
    const json parsed = json::parse(document_of(campaign, groups_of(campaign), Circumstances{}));
    EXPECT_TRUE(parsed.at("verdicts").empty());
    EXPECT_EQ(parsed.at("cells").size(), 2U);
}

TEST(document, drops_neither_a_failure_nor_what_is_missing) {
    const json parsed = document();
    EXPECT_EQ(parsed.at("errors").at(0).at("backend"), "mimalloc");
    EXPECT_EQ(parsed.at("errors").at(0).at("message"), "it failed");
    EXPECT_EQ(parsed.at("missing").at(0).at("how"), "cargo is not installed");
}

TEST(document, can_be_made_of_a_run_in_which_everything_failed) {
    Campaign campaign = small_campaign();
    campaign.measurements.clear();
    campaign.identities.clear();
    const json parsed = json::parse(document_of(campaign, {}, Circumstances{}));
    EXPECT_TRUE(parsed.at("cells").empty());
    EXPECT_EQ(parsed.at("errors").size(), 1U);
}

TEST(document, tells_each_contest_of_rounds_in_each_figure_and_what_stands_beside_the_times) {
    Campaign campaign = small_campaign();
    flat::bench::Run run{Distribution({10, 11, 40}), 16, 1, 2, 3};
    run.heap_calls = 7;
    campaign.measurements.clear();
    for (const char *backend : {"glibc", "pool-resource", "allocator-pool", "std-pool"})
        campaign.measurements.push_back({find_backend(backend), {"containers", 0, 1, "list", 3}, "round", 1, {run}});
    campaign.identities.push_back({find_backend("pool-resource"), DriverReport{}, {}});
    const json parsed = json::parse(document_of(campaign, groups_of(campaign), Circumstances{}));
    EXPECT_EQ(parsed.at("cells").at(0).at("heap_calls"), 7);
    EXPECT_TRUE(parsed.at("cells").at(0).at("held_bytes").is_null());
    EXPECT_EQ(parsed.at("backends").back().at("beside"), "std-pool");
    std::vector<std::string> told;
    for (const json &verdict : parsed.at("verdicts"))
        told.push_back(verdict.at("figure").get<std::string>() + " " + verdict.at("subject").get<std::string>() + " " +
                       verdict.at("rival").get<std::string>());
    EXPECT_EQ(told, (std::vector<std::string>{"p50 pool-resource std-pool", "p50 pool-resource glibc",
                                              "p50 allocator-pool pool-resource", "p999 pool-resource std-pool",
                                              "p999 pool-resource glibc", "p999 allocator-pool pool-resource",
                                              "jitter pool-resource std-pool", "jitter pool-resource glibc",
                                              "jitter allocator-pool pool-resource"}));
}
