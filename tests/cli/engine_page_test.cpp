// engine_page.cpp: what an engine shows is read in units of time, and nothing is believed that cannot be.
#include "cli/engine_page.hpp"
#include "engine_shown.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using flat::cli::engine_page_of;
using flat::cli::EnginePage;
using flat::cli::Moment;

// "" if it is read.
std::string refusal_of(const std::vector<std::byte> &bytes) {
    try {
        (void)engine_page_of(bytes, Moment::of_page);
    } catch (const std::runtime_error &error) {
        return error.what();
    }
    return {};
}

} // namespace

TEST(engine_page, durations_are_in_nanoseconds_of_the_pages_rate) {
    test::engine_shown shown;
    worker_statistics &worker = shown.worker(1);
    worker.running = 0x1234;
    worker.running_since = 3000;
    worker.looked = 9000; // the latest moment
    worker.service_estimate[3] = 16 * 500;
    worker.classes[0].longest_sojourn = 4000;
    worker.sojourn.counts[histogram_bucket(1000)] = 7;
    const EnginePage page = engine_page_of(shown.bytes(), Moment::of_page);
    EXPECT_EQ(page.up_ns, 4000u);
    EXPECT_EQ(page.watchdog_ns, 2500000u);
    EXPECT_EQ(page.process, 4711u);
    EXPECT_EQ(page.state, "open");
    ASSERT_EQ(page.workers.size(), 2u);
    EXPECT_EQ(page.workers[1].running_ns, 3000u);
    EXPECT_EQ(page.workers[1].estimate_ns[3], 250u);
    EXPECT_EQ(page.workers[1].classes.at(0).longest_sojourn_ns, 2000u);
    const flat_histogram &sojourn = page.workers[1].durations[FLAT_DURATION_SOJOURN];
    EXPECT_EQ(flat_histogram_count(&sojourn), 7u);
    EXPECT_GE(flat_histogram_quantile(&sojourn, 1), 500u);
    EXPECT_LE(flat_histogram_quantile(&sojourn, 1), 532u);
    EXPECT_EQ(page.workers[0].doing, flat::cli::Doing::nothing);
    EXPECT_EQ(page.workers[1].doing, flat::cli::Doing::running);
}

TEST(engine_page, rates_are_per_second_and_end_while_a_worker_sleeps) {
    test::engine_shown shown;
    worker_statistics &worker = shown.worker(0);
    worker.rated = 1000;
    worker.arrivals = 1 << 20; // 2^-20 a tick, of 2 ticks a ns: 1907 per s
    EXPECT_NEAR(engine_page_of(shown.bytes(), Moment::of_page).workers[0].arrivals_per_s, 2e9 / (1 << 20), 1e-6);
    worker.asleep = 1;
    EXPECT_GT(engine_page_of(shown.bytes(), Moment::of_page).workers[0].arrivals_per_s, 0);
    shown.worker(1).looked = 1000 + 1000001; // one more than rated_ticks
    EXPECT_EQ(engine_page_of(shown.bytes(), Moment::of_page).workers[0].arrivals_per_s, 0);
}

TEST(engine_page, what_was_accepted_and_is_not_known_to_the_worker_is_in_a_lane) {
    test::engine_shown shown;
    shown.accepted(0, 1) = 10;
    shown.accepted(4, 1) = 7; // worker 1's own
    shown.accepted(2, 0) = 1;
    shown.worker(1).outcomes[0] = 5;
    shown.worker(1).queued[2] = 3;
    shown.worker(1).timed = 2;
    shown.worker(1).running = 1;
    shown.submitter(2).refused[FLAT_REFUSAL_DRAINING] = 4;
    const EnginePage page = engine_page_of(shown.bytes(), Moment::of_page);
    EXPECT_EQ(page.workers[1].accepted, 17u);
    EXPECT_EQ(page.workers[1].untaken, 6u);
    ASSERT_EQ(page.submitters.size(), 5u);
    EXPECT_EQ(page.submitters[4].worker, 1u);
    EXPECT_EQ(page.submitters[2].worker, std::nullopt);
    EXPECT_EQ(page.submitters[2].accepted, 1u);
    EXPECT_EQ(page.submitters[2].refused[FLAT_REFUSAL_DRAINING], 4u);
}

TEST(engine_page, names_are_printable_whatever_they_hold) {
    test::engine_shown shown;
    std::memset(shown.head().types[2], 'x', sizeof shown.head().types[2]); // without an end
    std::memcpy(shown.head().types[3], "a\x1b[2J\n\xff", 8);
    const EnginePage page = engine_page_of(shown.bytes(), Moment::of_page);
    EXPECT_EQ(page.types[2], std::string(FLAT_ENGINE_TYPE_NAME, 'x'));
    EXPECT_EQ(page.types[3], "a?[2J??");
}

TEST(engine_page, what_contradicts_itself_is_refused) {
    using Change = std::function<void(test::engine_shown &)>;
    const std::vector<std::pair<const char *, Change>> changes{
        {"magic", [](auto &shown) { shown.head().magic++; }},
        {"bytes, fewer", [](auto &shown) { shown.head().bytes -= 4096; }},
        {"bytes, more", [](auto &shown) { shown.head().bytes += 4096; }},
        {"no worker", [](auto &shown) { shown.head().worker_count = 0; }},
        {"workers", [](auto &shown) { shown.head().worker_count = FLAT_ENGINE_MAX_WORKERS + 1; }},
        {"more workers than fit", [](auto &shown) { shown.head().worker_count = 3; }},
        {"lanes", [](auto &shown) { shown.head().lane_count = FLAT_ENGINE_MAX_LANES + 1; }},
        {"more lanes than fit", [](auto &shown) { shown.head().lane_count = 1000; }},
        {"no lane", [](auto &shown) { shown.head().lane_count = 0; }},
        {"workers_at", [](auto &shown) { shown.head().workers_at = UINT64_MAX - 7; }},
        {"workers_at, odd", [](auto &shown) { shown.head().workers_at -= 1; }},
        {"submitters_at", [](auto &shown) { shown.head().submitters_at = shown.head().bytes - 8; }},
        {"worker_bytes", [](auto &shown) { shown.head().worker_bytes = 8; }},
        {"submitter_bytes", [](auto &shown) { shown.head().submitter_bytes = 0; }},
        {"rate", [](auto &shown) { shown.head().rate.ns_per_tick = 0; }},
        {"classes", [](auto &shown) { shown.worker(1).class_count = STATISTICS_CLASSES; }},
    };
    EXPECT_EQ(refusal_of(test::engine_shown().bytes()), "");
    for (const auto &[what, change] : changes) {
        test::engine_shown shown;
        change(shown);
        const std::string refusal = refusal_of(shown.bytes());
        EXPECT_NE(refusal, "") << what;
        EXPECT_EQ(refusal.find('\n'), std::string::npos) << what;
    }
}

TEST(engine_page, every_truncation_is_refused) {
    const std::vector<std::byte> whole = test::engine_shown().bytes();
    for (std::size_t size = 0; size < whole.size(); size += size < 600 ? 1 : 997)
        EXPECT_NE(refusal_of({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}), "") << size;
    std::vector<std::byte> longer = whole;
    longer.push_back(std::byte{0});
    EXPECT_NE(refusal_of(longer), "");
}
