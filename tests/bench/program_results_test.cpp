#include "bench/program_results.hpp"

#include "bench/program_document.hpp"

#include <gtest/gtest.h>

using namespace flat::bench;

namespace {

using Points = std::vector<std::pair<double, double>>;
using Marks = std::vector<bool>;

ProgramRun run_of(double wall_s, std::uint64_t peak_rss_kib) {
    return {wall_s, wall_s - 0.5, 0.25, std::nullopt, peak_rss_kib, peak_rss_kib / 2, 100, 3};
}

ProgramMeasurement measured(const char *backend, const std::vector<double> &wall_s, std::uint64_t peak_rss_kib) {
    ProgramMeasurement measurement{.program = find_program("lua"), .backend = find_backend(backend)};
    measurement.library = "/lib/lib" + std::string(backend) + ".so";
    measurement.version = "1.2";
    measurement.probe = {600'000, 500'000, 0.5};
    for (const double each : wall_s) measurement.runs.push_back(run_of(each, peak_rss_kib));
    return measurement;
}

class program_results : public ::testing::Test {
  protected:
    ProgramGroup group() const {
        return program_groups_of({{find_program("lua"), "/usr/bin/lua5.4", {}}}, {"Lua 5.4"}, measurements_).front();
    }

    std::vector<ProgramMeasurement> measurements_{measured("glibc", {2.4, 2.2, 2.3, 2.9, 2.1}, 1000),
                                                  measured("jemalloc", {2.0, 2.0, 2.0, 2.0, 2.0}, 1500),
                                                  measured("tcmalloc", {2.0, 2.0, 2.1, 2.1, 2.1}, 1600)};
};

} // namespace

TEST(frontier, holds_what_nothing_beats) {
    EXPECT_EQ(frontier_of(Points{{1, 9}, {2, 5}, {3, 5}, {4, 1}, {5, 2}}), (Marks{true, true, false, true, false}));
    EXPECT_EQ(frontier_of(Points{{1, 1}, {1, 1}, {1, 2}, {2, 1}}), (Marks{true, true, false, false}));
    EXPECT_EQ(frontier_of(Points{{3, 3}}), Marks{true});
    EXPECT_EQ(frontier_of(Points{}), Marks{});
}

TEST_F(program_results, are_medians_with_the_lowest_and_the_highest) {
    const ProgramRow row = group().rows.front();
    EXPECT_DOUBLE_EQ(row.wall_s.median, 2.3);
    EXPECT_DOUBLE_EQ(row.wall_s.low, 2.1);
    EXPECT_DOUBLE_EQ(row.wall_s.high, 2.9);
    EXPECT_DOUBLE_EQ(row.final_rss_kib.median, 500);
    EXPECT_FALSE(row.instructions);
    EXPECT_DOUBLE_EQ(row.calls, 1'100'000);
    EXPECT_NEAR(row.share, 0.5 / 2.05, 1e-9);
}

TEST_F(program_results, mark_the_frontier_of_each_program) {
    const ProgramGroup marked = group();
    EXPECT_TRUE(marked.rows[0].frontier);
    EXPECT_TRUE(marked.rows[1].frontier);
    EXPECT_FALSE(marked.rows[2].frontier);
}

TEST_F(program_results, say_where_a_program_says_little_of_allocators) {
    EXPECT_TRUE(group().shortfalls.empty());
    measurements_.front() = measured("glibc", {1.9}, 1000);
    ASSERT_EQ(group().shortfalls.size(), 1U);
    EXPECT_EQ(group().shortfalls.front(), "it runs for 1.90 s, less than 2");
    measurements_.front() = measured("glibc", {2.1}, 1000);
    measurements_.front().probe = {400'000, 500'000, 0.01};
    EXPECT_EQ(group().shortfalls.size(), 2U);
    measurements_.erase(measurements_.begin());
    EXPECT_EQ(group().shortfalls, std::vector<std::string>{"it was not measured under glibc"});
}

TEST_F(program_results, keep_failures_apart) {
    measurements_[1].runs.clear();
    measurements_[1].failure = "it failed";
    const ProgramGroup without = group();
    EXPECT_EQ(without.rows.size(), 2U);
    ASSERT_EQ(without.failures.size(), 1U);
    const auto json = programs_json({{without}, {}});
    EXPECT_EQ(json.at(0).at("errors").at(0).at("message"), "it failed");
    EXPECT_EQ(json.at(0).at("rows").size(), 2U);
}

TEST_F(program_results, are_written_as_the_schema_has_them) {
    const auto json = programs_json({{group()}, {{find_program("z3"), "apt-get install z3"}}});
    ASSERT_EQ(json.size(), 2U);
    EXPECT_EQ(json.at(0).at("name"), "z3"); // in the catalogue's order
    EXPECT_EQ(json.at(0).at("missing"), "apt-get install z3");
    EXPECT_TRUE(json.at(0).at("rows").empty());
    const auto &row = json.at(1).at("rows").at(0);
    EXPECT_TRUE(json.at(1).at("missing").is_null());
    EXPECT_EQ(row.at("path"), "/lib/libglibc.so");
    EXPECT_EQ(row.at("version"), "1.2");
    EXPECT_EQ(row.at("wall_s").at("median"), 2.3);
    EXPECT_EQ(row.at("frontier"), true);
    EXPECT_TRUE(row.at("instructions").is_null());
    EXPECT_TRUE(row.at("system_calls").is_null());
    EXPECT_EQ(row.at("runs").size(), 5U);
    EXPECT_EQ(row.at("runs").at(3).at("wall_s"), 2.9);
}
