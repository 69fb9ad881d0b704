// top_text.cpp and top_document.cpp: an engine as lines of a screen and as a document.
#include "cli/top_text.hpp"
#include "engine_shown.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace {

using namespace flat::cli;

std::string name_of(std::uint64_t address) {
    return address == 1 ? "run_quote" : "a_function_whose_name_is_very_long_indeed";
}

std::string text_of(const std::vector<StyledLine> &lines) {
    std::string text;
    for (const StyledLine &line : lines) {
        for (const auto &[part, style] : line) text += part;
        text += "\n";
    }
    return text;
}

EngineLook look_at(test::engine_shown &shown) {
    return {engine_page_of(shown.bytes(), Moment::of_page), std::nullopt, 0};
}

// The line that begins with this, without its spaces at the begin.
std::string line_with(const std::string &text, const std::string &begin) {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at), first = text.find_first_not_of(' ', at);
        if (text.compare(first, begin.size(), begin) == 0) return text.substr(first, end - first);
        at = end + 1;
    }
    return {};
}

std::vector<std::string> words_of(const std::string &line) {
    std::vector<std::string> words;
    for (std::size_t at = 0; (at = line.find_first_not_of(' ', at)) != std::string::npos;) {
        const std::size_t end = std::min(line.find(' ', at), line.size());
        words.push_back(line.substr(at, end - at));
        at = end;
    }
    return words;
}

} // namespace

TEST(top_text, times_and_counts_are_short) {
    EXPECT_EQ(short_time(0), "0 ns");
    EXPECT_EQ(short_time(999), "999 ns");
    EXPECT_EQ(short_time(1000), "1.0 us");
    EXPECT_EQ(short_time(9960), "10 us");
    EXPECT_EQ(short_time(999499), "999 us");
    EXPECT_EQ(short_time(999600), "1.0 ms");
    EXPECT_EQ(short_time(12345678901), "12.3 s");
    EXPECT_EQ(short_time(3600ull * 1000000000), "3600 s");
    EXPECT_EQ(short_count(0), "0");
    EXPECT_EQ(short_count(999.4), "999");
    EXPECT_EQ(short_count(999.6), "1.0k");
    EXPECT_EQ(short_count(12345), "12k");
    EXPECT_EQ(short_count(9.96e6), "10M");
    for (std::uint64_t value = 1; value != 0; value *= 2) {
        EXPECT_LE(short_time(value - 1).size(), 7u) << value;
        EXPECT_LE(short_count(static_cast<double>(value)).size(), 5u) << value;
    }
    EXPECT_LE(short_time(std::numeric_limits<std::uint64_t>::max()).size(), 7u);
}

TEST(top_text, shows_workers_queues_classes_and_refusals) {
    test::engine_shown shown;
    std::strcpy(shown.head().types[1], "quote");
    worker_statistics &worker = shown.worker(0);
    worker.running = 1;
    worker.running_since = 1000;
    worker.looked = 25000;
    worker.queued[0] = 400;
    worker.queued[1] = 30;
    worker.queued[2] = 2;
    worker.queued[3] = 1;
    worker.timed = 5;
    worker.outcomes[FLAT_TASK_EXPIRED] = 2;
    worker.outcomes[FLAT_TASK_CANCELLED] = 3;
    shown.worker(1).outcomes[FLAT_TASK_DONE] = 1500;
    worker.service_estimate[1] = 16 * 10000;
    worker.classes[0].block_count = 1200;
    worker.classes[0].free = 700;
    worker.classes[0].granted = 500;
    worker.classes[0].in_flight = 44;
    worker.classes[0].service_ticks = 20000;
    worker.classes[0].over_service = 3;
    worker.sojourn.counts[histogram_bucket(2000)] = 99;
    worker.sojourn.counts[histogram_bucket(4000000)] = 1;
    shown.worker(1).asleep = 1;
    shown.accepted(0, 0) = 1000;
    shown.submitter(0).thread = 77;
    shown.submitter(0).refused[FLAT_REFUSAL_NO_GRANT] = 12345;
    const std::string text = text_of(top_lines(look_at(shown), name_of, 100));
    EXPECT_NE(text.find("engine open, up 12 us, 2 workers, 3 lanes, watchdog at 2.5 ms: 0 reported"), std::string::npos)
        << text;
    EXPECT_EQ(words_of(line_with(text, "0 ")),
              (std::vector<std::string>{"0", "5000", "running", "run_quote", "12", "us", "0", "0", "1", "2", "30",
                                        "400", "5", "556"}));
    EXPECT_EQ(words_of(line_with(text, "1 ")).at(2), "asleep");
    EXPECT_EQ(words_of(line_with(text, "sojourn")).at(1), "1.0");
    EXPECT_EQ(words_of(line_with(text, "sojourn")).back(), "100");
    EXPECT_NE(line_with(text, "sojourn").find("2.0 ms"), std::string::npos) << text;
    EXPECT_EQ(line_with(text, "ended"), "ended: 1.5k done, 2 expired, 3 cancelled");
    EXPECT_EQ(line_with(text, "service, est"), "service, estimated: quote 5.0 us");
    EXPECT_EQ(words_of(line_with(text, "64 B")), (std::vector<std::string>{"64", "B", "1.2k", "700", "500", "44", "0",
                                                                           "10", "us", "3", "0", "ns", "0", "ns"}));
    EXPECT_EQ(words_of(line_with(text, "lane 0")),
              (std::vector<std::string>{"lane", "0", "77", "1.0k", "12k", "0", "0", "0", "0"}));
    EXPECT_EQ(line_with(text, "lane 1"), "");
}

TEST(top_text, shows_what_the_policy_of_dispatch_gains) {
    test::engine_shown shown;
    EXPECT_EQ(line_with(text_of(top_lines(look_at(shown), name_of, 100)), "dispatch"),
              "dispatch predictive: its gain is not known yet, 0 and 0 tasks counted");
    // Of two submitters, in each slice: a thousand tasks of 1,000 to 1,999 ticks, which are half as long under the
    // policy.
    const switchback_options &options = shown.switchback_of(0).options;
    for (std::uint64_t slice = 0; slice < 200; slice++) {
        const std::uint64_t sent = options.begin + slice * 1024 + 512;
        const bool falls_back = switchback_arm_at(&options, sent) == SWITCHBACK_FALLBACK;
        for (std::uint64_t task = 0; task < 1000; task++)
            flat_switchback_count(&shown.switchback_of(task % 2), sent, (1000 + task) * (falls_back ? 2 : 1), sent);
    }
    shown.worker(0).looked = options.begin + 210 * 1024; // when the page was looked at
    EXPECT_EQ(line_with(text_of(top_lines(look_at(shown), name_of, 100)), "dispatch"),
              "dispatch predictive: gain 50 % (50 to 50 %) at P99.9, 1.0 us for 2.0 us, 96k and 96k tasks");
    const std::string document = top_document(1, "program", {look_at(shown)}, name_of);
    EXPECT_NE(document.find("\"fallback_tasks\": 96000"), std::string::npos) << document.substr(0, 2000);
    shown.switchback_of(1).options.seed++; // not of the same slices
    EXPECT_NE(line_with(text_of(top_lines(look_at(shown), name_of, 100)), "dispatch").find("48k and 48k"),
              std::string::npos);
    shown.switchback_of(0).options.slice_bits = 64;
    EXPECT_EQ(line_with(text_of(top_lines(look_at(shown), name_of, 100)), "dispatch"), "");
    shown.head().switchbacks_at = 0;
    EXPECT_EQ(line_with(text_of(top_lines(look_at(shown), name_of, 100)), "dispatch"), "");
}

TEST(top_text, shows_the_last_interval_where_it_looked_before) {
    test::engine_shown shown;
    shown.worker(0).sojourn.counts[histogram_bucket(4000000)] = 5;
    shown.submitter(0).refused[FLAT_REFUSAL_NO_GRANT] = 1000;
    EngineLook look = look_at(shown);
    look.before = look.now;
    shown.worker(0).sojourn.counts[histogram_bucket(2000)] = 3;
    shown.submitter(0).refused[FLAT_REFUSAL_NO_GRANT] = 1100;
    look.now = look_at(shown).now;
    look.seconds = 2;
    const std::string text = text_of(top_lines(look, name_of, 100));
    EXPECT_NE(text.find("times, last 2.0 s"), std::string::npos);
    EXPECT_EQ(words_of(line_with(text, "sojourn")).back(), "3");
    EXPECT_EQ(line_with(text, "sojourn").find("ms"), std::string::npos) << text;
    EXPECT_EQ(words_of(line_with(text, "lane 0")).at(4), "50");
}

TEST(top_text, no_line_is_wider_than_the_screen_whatever_the_numbers) {
    test::engine_shown shown(4, 3, 5);
    const engine_statistics head = shown.head();
    for (std::uint64_t i = 0; i < 4; i++) {
        worker_statistics &worker = shown.worker(i);
        std::memset(&worker, i % 2 == 0 ? 0xff : 0x7f, sizeof worker);
        worker.class_count = 5;
        shown.submitter(i).thread = UINT32_MAX;
        for (std::uint64_t &refused : shown.submitter(i).refused) refused = UINT64_MAX;
        shown.accepted(i, 0) = UINT64_MAX / 8;
    }
    std::memset(shown.head().types, 'y', sizeof head.types);
    for (const std::size_t width : {80u, 99u, 100u}) {
        for (const StyledLine &line : top_lines(look_at(shown), name_of, width)) ASSERT_LE(columns_of(line), width);
        test::engine_shown usual;
        usual.worker(0).running = 2;
        for (const StyledLine &line : top_lines(look_at(usual), name_of, width)) ASSERT_LE(columns_of(line), width);
        // Nothing that is usual is cut off: the last heading of each table is whole.
        const std::string text = text_of(top_lines(look_at(usual), name_of, width));
        for (const char *heading : {"timed lane\n", "tasks\n", "sojourn\n", "invalid\n"}) {
            EXPECT_NE(text.find(heading), std::string::npos) << heading << width;
        }
    }
}

TEST(top_text, the_document_has_what_the_lines_show) {
    test::engine_shown shown;
    shown.worker(0).running = 1;
    shown.worker(0).queued[3] = 9;
    shown.accepted(0, 0) = 1000;
    const std::string text = top_document(4711, "program \xff", {look_at(shown)}, name_of);
    for (const char *part : {"\"schema\": \"flatline.top/1\"", "\"process\": 4711", "\"function\": \"run_quote\"",
                             "\"accepted\": 1000", "\"state\": \"open\"", "\"no_grant\": 0", "\"untaken\": 990"})
        EXPECT_NE(text.find(part), std::string::npos) << part;
}
