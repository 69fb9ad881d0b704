// What an engine recorded, as a workload.
#include "core/environment.hpp"
#include "engine/test_engine.hpp"
#include "simulate/arrivals.hpp"
#include "simulate/recording.hpp"
#include "simulate/simulation.hpp"
#include "simulate/workloads.hpp"

#include <flatline/engine_statistics.h>

#include <gtest/gtest.h>

#include <string>
#include <sys/mman.h>
#include <unistd.h>

using namespace flat::simulate;

namespace {

const std::string head = "# flatline-record/1 workers=2 submitters=4 missed=3\n"
                         "submitted_ns,service_ns,held_ns,type,submitter,worker\n";

// A task every microsecond, which takes half of that, by submitters 1 and 3, the last one first.
std::string regular(std::size_t tasks = 200) {
    std::string text = head;
    for (std::size_t i = tasks; i-- > 0;) {
        const std::size_t submitter = i % 2 == 0 ? 3 : 1;
        text += std::to_string(5'000'000 + i * 1000) + ",500," + std::to_string(i == 7 ? 4000 : 0) + ',' +
                std::to_string(i % 3) + ',' + std::to_string(submitter) + ',' + std::to_string(i % 2) + '\n';
    }
    return text;
}

std::string refusal_of(const std::string &text) {
    try {
        (void)recording_of(text);
    } catch (const std::runtime_error &why) {
        return why.what();
    }
    return "";
}

} // namespace

TEST(recording, is_replayed_in_order_with_its_times_in_units_of_the_mean_service) {
    const Recording recording = recording_of(regular());
    EXPECT_EQ(recording.missed, 3U);
    EXPECT_DOUBLE_EQ(recording.mean_service_ns, 500);
    const Workload &workload = recording.workload;
    EXPECT_EQ(workload.shards, 2U);
    EXPECT_EQ(workload.dispatchers, 2U);
    EXPECT_EQ(workload.types.size(), 3U);
    EXPECT_NEAR(workload.load, 0.25, 0.01);
    Arrivals arrivals(workload, 9);
    for (std::uint64_t i = 0; i < 200; i++) {
        const Arrival each = arrivals.next();
        ASSERT_EQ(each.time, static_cast<std::uint64_t>(2 * usual_service) * i);
        ASSERT_EQ(each.service, static_cast<std::uint64_t>(usual_service));
        ASSERT_EQ(each.hold, i == 7 ? static_cast<std::uint64_t>(8 * usual_service) : 0);
        ASSERT_EQ(each.type, i % 3);
        ASSERT_EQ(each.dispatcher, i % 2);
    }
}

TEST(recording, is_simulated_under_every_policy) {
    const Workload workload = recording_of(regular()).workload;
    for (std::uint32_t policy = 0; policy < DISPATCH_POLICIES; policy++) {
        Chooser choice;
        choice.options.policy = static_cast<dispatch_policy>(policy);
        const SimulatedRun outcome = simulate(workload, choice, test::seed(), {20, 180});
        EXPECT_EQ(outcome.tasks(), 180U);
        EXPECT_EQ(outcome.refused_share(), 0);
        EXPECT_GE(outcome.sojourns.at(0.5), usual_service * 0.99);
    }
}

TEST(recording, of_an_engine_is_what_its_tasks_were) {
    test::engine_options options;
    options.value.recorded_tasks = 200;
    const test::test_engine engine(options);
    flat_submitter *const lane = engine.lane();
    const test::action act = [&](flat_worker *) {
        for (const std::uint64_t until = engine.now() + 20'000; engine.now() < until;) continue;
    };
    for (int i = 0; i < 150; i++) {
        flat_task task{};
        task.type = static_cast<unsigned>(i % 2);
        ASSERT_EQ(test::submit_action(lane, static_cast<std::size_t>(i % 2), act, task), FLAT_OK);
        (void)engine.run();
    }
    const int file = memfd_create("record", MFD_CLOEXEC);
    ASSERT_EQ(flat_engine_write_record(engine, file), FLAT_OK);
    std::string text(static_cast<std::size_t>(lseek(file, 0, SEEK_END)), ' ');
    ASSERT_EQ(pread(file, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    (void)close(file);
    const Recording recording = recording_of(text);
    EXPECT_EQ(recording.workload.recorded->size(), 150U);
    EXPECT_EQ(recording.workload.shards, 2U);
    EXPECT_EQ(recording.workload.dispatchers, 1U);
    EXPECT_EQ(recording.workload.types.size(), 2U);
    EXPECT_GE(recording.mean_service_ns, 19'900);
    EXPECT_GT(recording.workload.load, 0);
}

TEST(recording, that_is_none_is_refused_with_its_line) {
    EXPECT_EQ(refusal_of(""), "line 0: it is empty: give a file that flat_engine_write_record wrote");
    EXPECT_NE(refusal_of("submitted_ns\n").find("line 1: there is no \"# flatline-record/1"), std::string::npos);
    EXPECT_NE(refusal_of("# flatline-record/1 workers=2000 submitters=1 missed=0\n").find("up to 1024"),
              std::string::npos);
    EXPECT_NE(refusal_of("# flatline-record/1 workers=0 submitters=1 missed=0\n").find("no head"), std::string::npos);
    EXPECT_NE(refusal_of("# flatline-record/1 workers=1 submitters=0 missed=0\n").find("no head"), std::string::npos);
    EXPECT_NE(
        refusal_of("# flatline-record/1 workers=1 submitters=1 missed=0\na,b\n").find("line 2: there are no columns"),
        std::string::npos);
    EXPECT_NE(refusal_of(regular(99)).find("fewer than 100"), std::string::npos);
    for (const std::string line : {"", "1", "1,2,3,0,0", "1,2,3,0,0,", "1,2,3,16,0,0", "1,2,3,0,4,0", "1,2,3,0,0,2",
                                   "-1,2,3,0,0,0", "1,2,3,0,0,0,0", "99999999999999999,2,3,0,0,0", "1;2;3;0;0;0"})
        EXPECT_EQ(refusal_of(regular(150) + line + "\n").substr(0, 9), "line 153:") << line;
    std::string idle = head;
    for (int i = 0; i < 200; i++) idle += "1,0,0,0,0,0\n";
    EXPECT_NE(refusal_of(idle).find("no task took any time"), std::string::npos);
}
