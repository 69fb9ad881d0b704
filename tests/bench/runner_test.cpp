#include "bench/journal_entries.hpp"
#include "bench/runner.hpp"

#include "scratch_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

using namespace flat::bench;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

/// A directory with fake drivers, one for each backend that a test adds.
class runner : public ::testing::Test {
  protected:
    runner() {
        schedule_.cells = {{"hot", 64, 32, "", 50}};
        schedule_.rounds = 2;
        schedule_.cpu = 0;
        schedule_.seed = 7;
        schedule_.limit = 30s;
    }

    /// A fake driver reports its own executable as the library that served it, which is checked least strictly.
    void add(const char *backend, const std::string &fault = "", const fs::path &preload = {}) {
        const fs::path driver = root_ / backend;
        fs::copy_file(FAKE_DRIVER, driver);
        if (!fault.empty()) std::ofstream(driver.string() + ".fault") << fault;
        schedule_.places.push_back({find_backend(backend), driver, preload});
    }

    Campaign run() const {
        const SignalWatch signals;
        return run_campaign(schedule_, signals, {});
    }

    /// Returns the message of the only failure.
    std::string failure() const {
        const Campaign campaign = run();
        EXPECT_EQ(campaign.failures.size(), 1U);
        return campaign.failures.empty() ? "" : campaign.failures.front().message;
    }

    std::vector<std::vector<std::string>> calls() const {
        std::ifstream in(root_ / "calls");
        std::vector<std::vector<std::string>> calls;
        for (std::string line; std::getline(in, line);) {
            std::istringstream words(line);
            calls.emplace_back(std::istream_iterator<std::string>(words), std::istream_iterator<std::string>());
        }
        return calls;
    }

    const test::scratch_folder root_;
    Schedule schedule_;
};

void expect_in(const std::string &part, const std::string &text) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

} // namespace

TEST_F(runner, keeps_every_sample_of_every_process) {
    add("flatline-pool");
    add("floor");
    schedule_.cells.push_back({"hot", 64, 1, "", 20});
    const Campaign campaign = run();
    EXPECT_TRUE(campaign.failures.empty());
    ASSERT_EQ(campaign.measurements.size(), 6U); // pair, alloc, free for each of two backends
    EXPECT_EQ(campaign.measurements[0].operation, "pair");
    EXPECT_EQ(campaign.measurements[1].backend->name, "floor");
    EXPECT_EQ(campaign.measurements[2].operation, "alloc");
    EXPECT_EQ(campaign.measurements[5].operation, "free");
    for (const Measurement &measurement : campaign.measurements) {
        ASSERT_EQ(measurement.runs.size(), 2U);
        for (const auto &process : measurement.runs) EXPECT_EQ(process.values.size(), measurement.cell.samples);
    }
    EXPECT_EQ(campaign.context_switches, 8U * 3);
    EXPECT_EQ(campaign.identities.size(), 2U);
    EXPECT_EQ(campaign.clock_step, 26U);
}

TEST_F(runner, gives_ns_of_a_call_and_rates_of_operations) {
    add("floor");
    schedule_.cells = {{"hot", 64, 32, "", 1}, {"throughput", 64, 0, "", 1}};
    schedule_.rounds = 1;
    const Campaign campaign = run();
    ASSERT_EQ(campaign.measurements.size(), 2U);
    const double steps_in_block = campaign.measurements[0].runs[0].values.max() * 32 * 2.6 / 26;
    EXPECT_NEAR(steps_in_block, std::round(steps_in_block), 1e-6); // made-up samples are multiples of the step
    EXPECT_GE(steps_in_block, 410);
    EXPECT_LE(steps_in_block, 414);
    // 410 to 414 steps of 10 ns for 200,000 operations.
    EXPECT_NEAR(campaign.measurements[1].runs[0].values.max(), 200'000 / 4120.0 * 1000, 600);
}

TEST_F(runner, interleaves_in_a_random_order_and_backwards_with_one_seed_a_round) {
    add("flatline-pool");
    add("floor");
    add("list");
    run();
    const auto made = calls();
    ASSERT_EQ(made.size(), 6U);
    std::vector<std::string> order;
    for (const auto &call : made) order.push_back(call[0]);
    EXPECT_EQ(std::set<std::string>(order.begin(), order.begin() + 3).size(), 3U);
    EXPECT_TRUE(std::equal(order.begin(), order.begin() + 3, order.rbegin()));
    const std::size_t seed = 6;
    EXPECT_EQ(made[0][seed], made[2][seed]);
    EXPECT_EQ(made[3][seed], made[5][seed]);
    EXPECT_NE(made[0][seed], made[3][seed]);
}

TEST_F(runner, runs_rounds_by_the_driver_for_containers) {
    schedule_.cells = {{"hot", 64, 32, "", 50}, {"containers", 0, 1, "list", 50, 0, 0, plain_arrays}};
    add("floor");
    schedule_.places.back().containers = root_ / "floor-containers";
    fs::copy_file(FAKE_DRIVER, schedule_.places.back().containers);
    add("flatline-pool"); // not part of the other suite
    EXPECT_TRUE(run().failures.empty());
    std::multiset<std::string> used;
    for (const std::vector<std::string> &call : calls()) used.insert(call.at(0) + " " + call.at(1));
    EXPECT_EQ(used, (std::multiset<std::string>{"flatline-pool hot", "flatline-pool hot", "floor hot", "floor hot",
                                                "floor-containers containers", "floor-containers containers"}));
}

TEST_F(runner, gives_every_backend_every_place_in_the_order) {
    add("flatline-pool");
    add("floor");
    add("list");
    schedule_.rounds = 30;
    run();
    const auto made = calls();
    ASSERT_EQ(made.size(), 90U);
    std::set<std::string> first;
    for (std::size_t round = 0; round < schedule_.rounds; ++round) first.insert(made[3 * round][0]);
    EXPECT_EQ(first.size(), 3U);
}

TEST_F(runner, repeats_a_campaign_from_its_seed_and_varies_the_environment) {
    add("floor");
    schedule_.rounds = 4;
    run();
    const auto first = calls();
    fs::remove(root_ / "calls");
    run();
    EXPECT_EQ(first, calls());
    std::set<std::string> paddings;
    for (const auto &call : first) {
        for (const std::string &word : call) {
            if (word.starts_with("FLATLINE_PADDING=")) paddings.insert(word);
        }
    }
    EXPECT_GT(paddings.size(), 1U);
}

TEST_F(runner, runs_each_backend_in_its_own_settings) {
    for (const char *backend : {"flatline-malloc", "flatline-malloc-latency", "flatline-malloc-memory"}) add(backend);
    schedule_.rounds = 1;
    (void)run(); // refused, because another library served the fake, but the driver was called
    std::set<std::string> policies;
    for (const auto &call : calls()) {
        std::string policy = "none";
        for (const std::string &word : call) {
            if (word.starts_with("FLATLINE_POLICY=")) policy = word;
        }
        policies.insert(call[0] + " " + policy);
    }
    EXPECT_EQ(policies,
              (std::set<std::string>{"flatline-malloc none", "flatline-malloc-latency FLATLINE_POLICY=latency",
                                     "flatline-malloc-memory FLATLINE_POLICY=memory"}));
}

TEST_F(runner, reports_an_allocation_that_failed_and_goes_on_with_the_others) {
    add("flatline-pool", "null");
    add("floor");
    const Campaign campaign = run();
    ASSERT_EQ(campaign.failures.size(), 1U);
    EXPECT_EQ(campaign.failures[0].backend->name, "flatline-pool");
    expect_in("status 3: fake: an allocation of the workload returned NULL", campaign.failures[0].message);
    EXPECT_EQ(campaign.failures[0].message.find("second line"), std::string::npos);
    ASSERT_EQ(campaign.measurements.size(), 1U);
    EXPECT_EQ(campaign.measurements[0].runs.size(), 2U);
    EXPECT_EQ(calls().size(), 3U); // failures are not retried
}

TEST_F(runner, reports_a_crash) {
    add("list", "crash");
    expect_in("ended by signal 11", failure());
}

TEST_F(runner, ends_a_driver_that_hangs) {
    add("list", "slow");
    schedule_.limit = 300ms;
    expect_in("longer than 0.3 s", failure());
}

TEST_F(runner, reports_output_that_is_cut_too_long_or_no_output) {
    for (const char *fault : {"short", "long", "garbage"}) {
        SCOPED_TRACE(fault);
        root_.clear();
        schedule_.places.clear();
        add("list", fault);
        expect_in("cannot understand", failure());
    }
}

TEST_F(runner, reports_a_driver_that_is_not_pinned) {
    add("list", "unpinned");
    expect_in("did not stay on processor 0", failure());
}

TEST_F(runner, reports_a_clock_that_changes_its_rate) {
    add("floor");
    add("list", "clock");
    expect_in("the clock ran at 5 ticks", failure());
}

TEST_F(runner, reports_a_preload_that_did_not_take) {
    const fs::path library = root_ / "libjemalloc.so.2";
    fs::copy_file(FAKE_DRIVER, library); // exists, but another file serves the calls
    add("jemalloc", "library /usr/lib/x86_64-linux-gnu/libc.so.6", library);
    expect_in("the preload did not work: " + library.string() + " should have served", failure());
}

TEST_F(runner, accepts_a_preload_that_is_a_link_to_what_served) {
    const fs::path library = root_ / "libjemalloc.so.2", real = root_ / "libjemalloc.so.2.5";
    std::ofstream(real) << "";
    fs::create_symlink(real, library);
    add("jemalloc", "library " + real.string(), library);
    EXPECT_TRUE(run().failures.empty());
}

TEST_F(runner, reports_that_glibc_was_not_what_served_glibc) {
    add("glibc", "library /usr/lib/libjemalloc.so.2");
    expect_in("the wrong library served the calls", failure());
}

TEST_F(runner, refuses_what_may_not_be_timed) {
    for (const char *fault : {"unoptimised", "assertions", "sanitizer", "timer"}) {
        SCOPED_TRACE(fault);
        root_.clear();
        schedule_.places.clear();
        add("list", fault);
        add("floor");
        EXPECT_THROW(run(), Refused);
        EXPECT_EQ(calls().size(), 1U); // nothing else runs
    }
}

TEST_F(runner, pauses_between_rounds_and_only_there) {
    add("floor");
    add("list");
    schedule_.rounds = 3;
    std::vector<std::size_t> done;
    const SignalWatch signals;
    run_campaign(schedule_, signals, {.between_rounds = [&] { done.push_back(calls().size()); }});
    EXPECT_EQ(done, (std::vector<std::size_t>{2, 4}));
}

TEST_F(runner, starts_no_backend_for_what_it_cannot_do) {
    add("flatline-pool");
    add("glibc", "library /lib/libc.so.6");
    schedule_.cells = {{"threads", 64, 1, "larson", 20, 0, 0, several_threads | remote_free, 2}};
    std::size_t total = 0;
    const SignalWatch signals;
    const Campaign campaign =
        run_campaign(schedule_, signals, {.on_step = [&](const CampaignStep &step) { total = step.total; }});
    EXPECT_TRUE(campaign.failures.empty());
    EXPECT_EQ(total, schedule_.rounds);
    for (const auto &call : calls()) EXPECT_EQ(call[0], "glibc");
    for (const Measurement &measurement : campaign.measurements) EXPECT_EQ(measurement.backend->name, "glibc");
}

TEST_F(runner, gives_arrivals_a_share_of_what_the_slowest_can_do_in_every_round) {
    const std::size_t load = 8;
    add("floor", "faster 100"); // a control, not a backend to compare
    add("list", "faster 100");
    add("boost-pool");
    add("foonathan-pool", "faster 2");
    schedule_.cells = {{"arrivals", 0, 0, "closed", 5, 2000}, {"arrivals", 0, 1, "poisson-50", 5, 0, 50}};
    run();
    const auto made = calls();
    ASSERT_EQ(made.size(), 16U);
    EXPECT_EQ(made[0][load], "2000");
    // Half of the rate of the slowest backend, whose five samples (one of 4,100 ns, four of 100 to 140 ns) stand for
    // 200,000 requests each.
    const double mean_ns = (4120.0 + 4 * 120) / 5;
    const double rate = std::stod(made[4][load]);
    EXPECT_GE(rate, 0.5e9 / (mean_ns + 20) * 200'000);
    EXPECT_LE(rate, 0.5e9 / (mean_ns - 20) * 200'000);
    for (const std::size_t i : {5U, 6U, 7U, 12U, 13U, 14U, 15U}) EXPECT_EQ(made[i][load], made[4][load]) << i;
}

TEST_F(runner, reports_a_share_of_a_capacity_that_nobody_has) {
    add("floor");
    schedule_.cells = {{"arrivals", 0, 1, "poisson-50", 5, 0, 50}};
    expect_in("capacity", failure());
    EXPECT_TRUE(calls().empty());
}

TEST_F(runner, tells_how_far_it_is) {
    add("floor");
    add("list");
    schedule_.rounds = 4;
    std::vector<CampaignStep> steps;
    const SignalWatch signals;
    run_campaign(schedule_, signals, {.on_step = [&](const CampaignStep &step) { steps.push_back(step); }});
    ASSERT_EQ(steps.size(), 8U);
    EXPECT_EQ(steps.front().round, 1U);
    EXPECT_EQ(steps.back().round, 4U);
    EXPECT_EQ(steps.back().done, 7U);
    EXPECT_LT(steps.front().seconds_left, 0);
    EXPECT_GE(steps.back().seconds_left, 0);
}

TEST_F(runner, knows_from_before_an_interruption_what_is_left) {
    add("floor");
    add("list");
    schedule_.rounds = 4;
    const fs::path file = root_ / "run.unfinished";
    Journal begun = Journal::begin(file, "head");
    const SignalWatch signals;
    run_campaign(schedule_, signals, {.journal = &begun});
    const std::vector<Timed<Entry>> ran = entries_of(Journal::go_on(file));
    ASSERT_EQ(ran.size(), 8U);
    Journal shorter = Journal::begin(file, "head");
    for (int i = 0; i < 6; ++i) append(shorter, {ran[static_cast<std::size_t>(i)].entry, 10}, false);
    Journal left = Journal::go_on(file);
    std::vector<CampaignStep> steps;
    run_campaign(schedule_, signals,
                 {.on_step = [&](const CampaignStep &step) { steps.push_back(step); }, .journal = &left});
    ASSERT_EQ(steps.size(), 2U);
    EXPECT_DOUBLE_EQ(steps.front().seconds_left, 20);
}

TEST(common_step, is_what_frequent_readings_share) {
    std::vector<std::uint64_t> ticks(500, 26 * 7);
    ticks.insert(ticks.end(), 500, 26 * 10);
    EXPECT_EQ(common_step(0, ticks), 26U * 1);
    EXPECT_EQ(common_step(13, ticks), 13U);
    ticks.push_back(1001); // off the grid, once
    EXPECT_EQ(common_step(0, ticks), 26U);
    ticks.insert(ticks.end(), 100, 27);
    EXPECT_EQ(common_step(0, ticks), 1U);
    EXPECT_EQ(common_step(5, {}), 5U);
}
