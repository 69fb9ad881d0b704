#include "bench/readiness.hpp"

#include "scratch_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>

using namespace flat::bench;
namespace fs = std::filesystem;

namespace {

constexpr Permissions all_of_them{true, true, UINT64_MAX}, none_of_them{false, false, 8192};

class readiness : public ::testing::Test {
  protected:
    void put(const std::string &file, const std::string &text) const { root_.put(file, text + "\n"); }

    /// Writes all files with the right contents for processor 3.
    void prepare() const {
        put("proc/cpuinfo", "model name\t: P\nflags\t\t: fpu constant_tsc nonstop_tsc");
        put("sys/devices/system/cpu/isolated", "2-3");
        put("sys/devices/system/cpu/nohz_full", "3");
        put("sys/devices/system/cpu/smt/active", "0");
        put("sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "performance");
        put("sys/devices/system/cpu/cpufreq/boost", "0");
        put("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
        put("proc/irq/24/smp_affinity_list", "0-2");
        put("proc/irq/25/smp_affinity_list", "0");
    }

    std::optional<bool> holds(const std::string &name, const Permissions &permissions = all_of_them) const {
        const std::vector<Condition> all = read_conditions(3, permissions, root_);
        const auto found = std::ranges::find(all, name, &Condition::name);
        EXPECT_NE(found, all.end()) << name;
        return found == all.end() ? std::nullopt : found->holds;
    }

    const test::scratch_folder root_;
};

} // namespace

TEST_F(readiness, holds_where_everything_is_as_it_should_be) {
    prepare();
    const bool guest = holds("own hardware") != true; // read from the processor, not from files
    for (const Condition &condition : read_conditions(3, all_of_them, root_)) {
        if (condition.name == "own hardware") continue;
        if (guest && condition.name == "no sibling thread") {
            EXPECT_EQ(condition.holds, std::nullopt) << "a guest cannot see its host's threads";
        } else {
            EXPECT_EQ(condition.holds, true) << condition.name << ": " << condition.found;
        }
    }
}

TEST_F(readiness, notices_each_thing_that_is_missing) {
    const struct {
        const char *file, *text, *condition;
    } table[] = {
        {"proc/cpuinfo", "flags\t\t: fpu constant_tsc", "steady clock"},
        {"proc/cpuinfo", "flags\t\t: fpu nonstop_tsc", "steady clock"},
        {"sys/devices/system/cpu/isolated", "0-2,4", "own processor"},
        {"sys/devices/system/cpu/nohz_full", "(null)", "no timer tick"},
        {"proc/irq/25/smp_affinity_list", "1,3", "no interrupts"},
        {"sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "powersave", "fixed frequency"},
        {"sys/devices/system/cpu/cpufreq/boost", "1", "fixed frequency"},
        {"sys/devices/system/cpu/smt/active", "1", "no sibling thread"},
        {"sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never", "huge pages on request"},
    };
    for (const auto &row : table) {
        prepare();
        put(row.file, row.text);
        EXPECT_EQ(holds(row.condition), false) << row.file << ": " << row.text;
    }
    prepare();
    for (const char *name : {"locked memory", "real-time priority", "hardware counters"})
        EXPECT_EQ(holds(name, none_of_them), false) << name;
}

TEST_F(readiness, does_not_guess_where_the_machine_does_not_tell) {
    for (const char *name :
         {"steady clock", "no interrupts", "fixed frequency", "no sibling thread", "huge pages on request"})
        EXPECT_EQ(holds(name), std::nullopt) << name;
}

TEST_F(readiness, lets_an_isolated_run_begin_only_where_nothing_that_isolates_is_missing) {
    const auto reason = [&](const Permissions &permissions) {
        return reason_not_isolated(read_conditions(3, permissions, root_));
    };
    prepare();
    EXPECT_EQ(reason(all_of_them), "");
    EXPECT_NE(reason(none_of_them).find("locked memory"), std::string::npos);
    for (const auto &[file, text, name] :
         {std::tuple{"sys/devices/system/cpu/isolated", "0", "own processor"},
          std::tuple{"proc/irq/25/smp_affinity_list", "3", "no interrupts"},
          std::tuple{"sys/devices/system/cpu/cpufreq/boost", "1", "fixed frequency"}}) {
        prepare();
        put(file, text);
        EXPECT_TRUE(reason(all_of_them).starts_with(name)) << reason(all_of_them);
    }
    prepare();
    fs::remove_all(root_ / "proc/irq"); // a condition that cannot be read does not hold
    EXPECT_TRUE(reason(all_of_them).starts_with("no interrupts"));
}

TEST_F(readiness, says_what_each_is_good_for_and_how_it_is_had) {
    for (const Condition &condition : read_conditions(3, none_of_them, root_)) {
        EXPECT_FALSE(condition.found.empty()) << condition.name;
        EXPECT_FALSE(condition.why.empty()) << condition.name;
        EXPECT_FALSE(condition.fix.empty()) << condition.name;
    }
}

TEST(cpu_list, names_single_processors_and_ranges) {
    EXPECT_TRUE(is_in_cpu_list("0-2,5", 0));
    EXPECT_TRUE(is_in_cpu_list("0-2,5", 2));
    EXPECT_TRUE(is_in_cpu_list("0-2,5", 5));
    EXPECT_FALSE(is_in_cpu_list("0-2,5", 3));
    EXPECT_FALSE(is_in_cpu_list("0-2,5", 6));
    EXPECT_FALSE(is_in_cpu_list("15", 5));
    EXPECT_FALSE(is_in_cpu_list("", 0));
    EXPECT_FALSE(is_in_cpu_list("(null)", 0));
}
