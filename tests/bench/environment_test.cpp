#include "bench/environment.hpp"

#include <gtest/gtest.h>

#include "scratch_folder.hpp"

#include <sched.h>

using namespace flat::bench;
namespace fs = std::filesystem;

namespace {

/// A root directory with the parts of /proc and /sys that a test writes.
class environment : public ::testing::Test {
  protected:
    void put(const std::string &file, const std::string &text) const { root_.put(file, text); }

    const test::scratch_folder root_;
};

} // namespace

TEST_F(environment, tells_what_the_machine_has) {
    put("proc/cpuinfo", "processor\t: 0\nmodel name\t: Fine Processor 9000\n");
    put("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    put("sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "performance\n");
    put("sys/devices/system/cpu/isolated", "2-3\n");
    put("sys/devices/system/cpu/nohz_full", "3\n");
    put("sys/devices/system/cpu/smt/active", "1\n");
    const Machine machine = read_machine(3, root_);
    EXPECT_EQ(machine.processor, "Fine Processor 9000");
    EXPECT_EQ(machine.transparent_huge_pages, "madvise");
    EXPECT_EQ(machine.governor, "performance");
    EXPECT_EQ(machine.isolated_cpus, "2-3");
    EXPECT_EQ(machine.nohz_full, "3");
    EXPECT_EQ(machine.smt, "on");
    EXPECT_GT(machine.logical_cpus, 0);
}

TEST_F(environment, says_unknown_where_the_machine_does_not_tell) {
    put("sys/devices/system/cpu/nohz_full", "  (null)\n");
    const Machine machine = read_machine(0, root_);
    EXPECT_EQ(machine.processor, "unknown");
    EXPECT_EQ(machine.transparent_huge_pages, "unknown");
    EXPECT_EQ(machine.governor, "unknown");
    EXPECT_EQ(machine.smt, "unknown");
    EXPECT_EQ(machine.isolated_cpus, "");
    EXPECT_EQ(machine.nohz_full, "");
}

TEST_F(environment, takes_steal_from_the_processor_that_was_timed_on) {
    put("proc/stat", "cpu  9 9 9 9 9 9 9 9 9 9\ncpu1 100 0 50 800 0 0 0 50 0 0\ncpu10 1 1 1 1 1 1 1 1 0 0\n");
    const ProcessorTime before = read_processor_time(1, root_);
    EXPECT_EQ(before.stolen, 50U);
    EXPECT_EQ(before.total, 1000U);
    put("proc/stat", "cpu1 150 0 100 850 0 0 0 100 7 7\n");
    EXPECT_DOUBLE_EQ(steal_percent(before, read_processor_time(1, root_)), 25);
    EXPECT_EQ(steal_percent(before, before), 0);
}

TEST_F(environment, keeps_the_parent_off_the_timed_processor) {
    const std::vector<int> allowed = allowed_cpus();
    ASSERT_FALSE(allowed.empty());
    stay_off(allowed.back());
    const std::vector<int> now = allowed_cpus();
    if (allowed.size() == 1) {
        EXPECT_EQ(now, allowed);
    } else {
        EXPECT_EQ(now.size(), allowed.size() - 1);
        EXPECT_EQ(std::count(now.begin(), now.end(), allowed.back()), 0);
    }
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : allowed) CPU_SET(static_cast<std::size_t>(cpu), &set);
    sched_setaffinity(0, sizeof set, &set);
}

TEST_F(environment, adds_meterings_up) {
    const Hiccups both = together({0.5, 3, 20'000, 45'000}, {1, 1, 30'000, 30'000});
    EXPECT_EQ(both.seconds, 1.5);
    EXPECT_EQ(both.over_10us, 4U);
    EXPECT_EQ(both.max_ns, 30'000U);
    EXPECT_EQ(both.lost_ns, 75'000);
}

TEST_F(environment, meters_hiccups_for_half_a_second) {
    const Hiccups hiccups = meter_hiccups(allowed_cpus().front());
    EXPECT_GE(hiccups.seconds, 0.4999); // rounded to whole ticks, so it can be slightly less
    EXPECT_GE(hiccups.lost_ns, static_cast<double>(hiccups.over_10us) * 10'000);
    if (hiccups.over_10us > 0) {
        EXPECT_GE(hiccups.max_ns, 10'000U);
    } else {
        EXPECT_LE(hiccups.max_ns, 10'000U);
    }
}
