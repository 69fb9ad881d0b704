// What a replay shows beside what was recorded.
#include "cli/replay_result.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include <nlohmann/json.hpp>

namespace flat::cli {
namespace {

/// Two stalls of one site, in a recording of three operations, of which the last one gives back.
RecordedWork recorded() {
    RecordedWork made;
    made.work.operations = {{64, 0, 0, 1, 4}, {64, 1, 0, 1, 4}, {64, 0, 0, 0, 4}};
    made.work.threads = 1;
    made.threads = 1;
    audit::Stall stall;
    stall.operation = "malloc";
    stall.stack.push_back({"render", "/src/render.cpp", 12, false, ""});
    made.findings.over_ns = 1000;
    made.findings.stalls.push_back(stall);
    made.stalls = {{0, 0, 5000}, {1, 0, 7000}};
    return made;
}

/// A process in which the first stall's call took so many ns and the second's as well.
bench::ReplayTimes times(std::uint32_t first, std::uint32_t second) {
    bench::ReplayTimes made;
    made.ticks_per_ns = 2;
    made.version = "1";
    made.times = {{2 * first, 40}, {2 * second, 40}, {60, 0}};
    return made;
}

Replayed replayed(const RecordedWork &from) {
    Replayed made;
    made.backend = "flatline-pool";
    made.runs = 2;
    add_run(made.copies[0], from, times(100, 3000));
    add_run(made.copies[1], from, times(200, 3000));
    add_run(made.copies[1], from, times(9000, 20)); // one process in which the machine did something else
    add_run(made.copies[0], from, times(300, 4000));
    return made;
}

TEST(Replayed, AStallIsGoneIfMostProcessesStayBelowTheLimit) {
    const RecordedWork from = recorded();
    const auto document = nlohmann::json::parse(replay_document(from, replayed(from)));
    ASSERT_EQ(document["stalls"].size(), 2U);
    EXPECT_TRUE(document["stalls"][0]["gone"]);
    EXPECT_FALSE(document["stalls"][1]["gone"]);
    EXPECT_EQ(document["stalls"][0]["recorded_ns"], 5000);
    EXPECT_EQ(document["stalls"][1]["by_process_ns"], nlohmann::json::parse("[[3000, 4000], [3000, 20]]"));
    EXPECT_EQ(document["stalls"][1]["line"], 12);
    EXPECT_EQ(document["schema"], "flatline.replay/1");
}

TEST(Replayed, CountsAllocationsFreesAndFirstWritesApart) {
    const RecordedWork from = recorded();
    const auto copy = nlohmann::json::parse(replay_document(from, replayed(from)))["copies"][0];
    EXPECT_EQ(copy["allocations"]["count"], 4);
    EXPECT_EQ(copy["allocations"]["worst"], 4000);
    EXPECT_EQ(copy["frees"]["count"], 2);
    EXPECT_NEAR(copy["frees"]["P50"].get<double>(), 30, 1);
    EXPECT_EQ(copy["first_writes"]["count"], 4);
    EXPECT_NEAR(copy["first_writes"]["worst"].get<double>(), 20, 1);
}

TEST(Replayed, ShowsEachSiteBesideItsReplayInLinesThatFit) {
    RecordedWork from = recorded();
    from.findings.stalls[0].stack[0].function = std::string(300, 'f');
    from.left_out = {.first_touch = 1, .no_block = 1, .not_chosen = 0, .shorter = 1};
    Look look;
    look.width = 100;
    const std::string text = replay_text(from, replayed(from), look);
    EXPECT_NE(text.find("1 of 2 recorded stalls"), std::string::npos) << text;
    EXPECT_NE(text.find("render.cpp:12"), std::string::npos) << text;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 102U) << line; // "…" has three bytes
}

Look plain_look() {
    Look look;
    look.width = 100;
    return look;
}

std::string in_one_line(const std::string &text) {
    std::istringstream in(text);
    std::string all;
    for (std::string word; in >> word;) all += word + " ";
    return all;
}

TEST(Replayed, SaysWhyStallsAreLeftOut) {
    RecordedWork from = recorded();
    const auto text = [&] { return in_one_line(replay_text(from, replayed(from), plain_look())); };
    EXPECT_EQ(text().find("Left out"), std::string::npos);
    from.left_out = {.first_touch = 5, .no_block = 1, .not_chosen = 2, .shorter = 30};
    EXPECT_NE(
        text().find("Left out 38 more stalls recorded: 5 of first touch, which the lines of first writes show, 1 "
                    "whose call returned no block, 2 of other programs, phases or threads and 30 shorter than all "
                    "of these."),
        std::string::npos)
        << text();
    EXPECT_EQ(nlohmann::json::parse(replay_document(from, replayed(from)))["stalls_left_out"], 38);
}

TEST(Replayed, CountsNoStallAsGoneThatAnotherTaskHasCaused) {
    RecordedWork from = recorded();
    from.findings.stalls.push_back(from.findings.stalls.front());
    from.findings.stalls.back().cause = {audit::CauseKind::preempted, -1};
    from.stalls[0].stall = 1; // the one that is fast in the replay
    const std::string text = in_one_line(replay_text(from, replayed(from), plain_look()));
    EXPECT_NE(text.find("Gone 0 of 1 recorded stall:"), std::string::npos) << text;
    EXPECT_NE(text.find("1 more was preempted by another task, which no allocator changes."), std::string::npos)
        << text;
}

TEST(Replayed, SaysThatThereWasNoStall) {
    RecordedWork from = recorded();
    from.stalls.clear();
    const std::string text = in_one_line(replay_text(from, replayed(from), plain_look()));
    EXPECT_NE(text.find("none was recorded as a stall of 1.0 us or more"), std::string::npos) << text;
}

TEST(Replayed, SaysWhichPartItShows) {
    RecordedWork from = recorded();
    EXPECT_NE(replay_text(from, replayed(from), plain_look()).find("allocations, recorded"), std::string::npos);
    from.part = {"steady", "render (3)"};
    EXPECT_NE(replay_text(from, replayed(from), plain_look()).find("allocations, whole recording"), std::string::npos);
    const auto document = nlohmann::json::parse(replay_document(from, replayed(from)));
    EXPECT_EQ(document["phase"], "steady");
    EXPECT_EQ(document["thread"], "render (3)");
}

} // namespace
} // namespace flat::cli
