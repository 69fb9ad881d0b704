#include "bench/protocol.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

using namespace flat::bench;

namespace {

const std::string header =
    R"({"protocol":1,"driver":"x","library":"/lib/x.so","version":"1","compiler":"gcc 12","flags":"-O2",)"
    R"("optimized":true,"assertions":false,"sanitizer":false,"ticks_per_ns":2.5,"timer":"rdtsc","timer_cost_ns":12,)"
    R"("timer_invariant":true,"pinned":true,"own_code":true,"page_faults":1,"page_faults_setup":2,"context_switches":3,)"
    R"("migrations":4,"resident_kib":5,"operations":6,"counters":{"instructions":7,"branch_misses":null,"cache_misses":8,)"
    R"("tlb_misses":0},"series":[{"operation":"alloc","unit":"ticks","ranked":true,"calls":1,"samples":2},)"
    R"({"operation":"free","unit":"bytes","ranked":false,"calls":1,"samples":1}]})";

std::string bytes_of(std::vector<std::uint64_t> ticks) {
    return {reinterpret_cast<const char *>(ticks.data()), ticks.size() * sizeof(std::uint64_t)};
}

std::string replaced(std::string text, const std::string &what, const std::string &with) {
    return text.replace(text.find(what), what.size(), with);
}

} // namespace

TEST(protocol, reads_the_header_and_every_sample) {
    const DriverReport report = parse_report(header + "\n" + bytes_of({10, 11, 12}));
    EXPECT_EQ(report.library, "/lib/x.so");
    EXPECT_EQ(report.page_faults_setup, 2U);
    EXPECT_EQ(report.migrations, 4U);
    EXPECT_EQ(report.operations, 6U);
    EXPECT_EQ(report.counters, (Counters{7, std::nullopt, 8, 0}));
    ASSERT_EQ(report.series.size(), 2U);
    EXPECT_EQ(report.series[0].values, (std::vector<std::uint64_t>{10, 11}));
    EXPECT_EQ(report.series[0].quantity, Quantity::ticks);
    EXPECT_EQ(report.series[1].operation, "free");
    EXPECT_EQ(report.series[1].quantity, Quantity::bytes);
    EXPECT_TRUE(report.series[0].ranked);
    const std::string delay = replaced(header, "\"ticks\"", "\"delay\"");
    EXPECT_EQ(parse_report(delay + "\n" + bytes_of({10, 11, 12})).series[0].quantity, Quantity::delay);
    EXPECT_FALSE(report.series[1].ranked);
    EXPECT_EQ(report.series[1].values, (std::vector<std::uint64_t>{12}));
}

TEST(protocol, takes_what_stands_beside_the_times_of_a_round_for_no_series) {
    const std::string samples = bytes_of({10, 11, 12});
    DriverReport report = parse_report(header + "\n" + samples);
    EXPECT_FALSE(report.heap_calls.has_value());
    EXPECT_FALSE(report.held_bytes.has_value());
    report = parse_report(replaced(header, "\"bytes\"", "\"heap calls\"") + "\n" + samples);
    EXPECT_EQ(report.heap_calls, 12U);
    EXPECT_EQ(report.series.size(), 1U);
    report = parse_report(replaced(header, "\"bytes\"", "\"held bytes\"") + "\n" + samples);
    EXPECT_EQ(report.held_bytes, 12U);
    EXPECT_FALSE(report.peak_bytes.has_value());
    report = parse_report(replaced(header, "\"bytes\"", "\"peak bytes\"") + "\n" + samples);
    EXPECT_EQ(report.peak_bytes, 12U);
    EXPECT_THROW(parse_report(replaced(header, "\"ticks\"", "\"heap calls\"") + "\n" + samples), std::runtime_error);
}

TEST(protocol, takes_a_count_by_the_name_that_the_driver_gives_it) {
    const std::string samples = bytes_of({10, 11, 12});
    EXPECT_TRUE(parse_report(header + "\n" + samples).counts.empty());
    const DriverReport report = parse_report(replaced(header, "\"bytes\"", "\"count\"") + "\n" + samples);
    ASSERT_EQ(report.counts.size(), 1U);
    EXPECT_EQ(report.counts[0].second, 12U);
    EXPECT_EQ(report.series.size(), 1U);
    EXPECT_THROW(parse_report(replaced(header, "\"ticks\"", "\"count\"") + "\n" + samples), std::runtime_error);
}

TEST(protocol, refuses_anything_else) {
    const std::string samples = bytes_of({10, 11, 12});
    EXPECT_THROW(parse_report(""), std::runtime_error);
    EXPECT_THROW(parse_report(header), std::runtime_error);
    EXPECT_THROW(parse_report("no json\n" + samples), std::runtime_error);
    EXPECT_THROW(parse_report(header + "\n" + bytes_of({10, 11})), std::runtime_error);
    EXPECT_THROW(parse_report(header + "\n" + bytes_of({10, 11, 12, 13})), std::runtime_error);
    EXPECT_THROW(parse_report(replaced(header, "\"protocol\":1", "\"protocol\":2") + "\n" + samples),
                 std::runtime_error);
    EXPECT_THROW(parse_report(replaced(header, "\"optimized\"", "\"optimised\"") + "\n" + samples), std::runtime_error);
    EXPECT_THROW(parse_report(replaced(header, "\"bytes\"", "\"miles\"") + "\n" + samples), std::runtime_error);
    EXPECT_THROW(parse_report(replaced(header, "2.5", "0") + "\n" + samples), std::runtime_error);
    EXPECT_THROW(parse_report(replaced(header, "\"samples\":2", "\"samples\":-2") + "\n" + samples),
                 std::runtime_error);
}

TEST(protocol, knows_what_may_not_be_timed) {
    const DriverReport good = parse_report(header + "\n" + bytes_of({10, 11, 12}));
    EXPECT_EQ(reason_to_refuse(good), "");
    DriverReport bad = good;
    bad.optimized = false;
    EXPECT_NE(reason_to_refuse(bad).find("without optimisation"), std::string::npos);
    bad = good;
    bad.assertions = true;
    EXPECT_NE(reason_to_refuse(bad).find("assertions"), std::string::npos);
    bad = good;
    bad.sanitizer = true;
    EXPECT_NE(reason_to_refuse(bad).find("sanitizer"), std::string::npos);
    bad = good;
    bad.timer_invariant = false;
    EXPECT_NE(reason_to_refuse(bad).find("constant rate"), std::string::npos);
}
