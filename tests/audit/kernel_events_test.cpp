// What the kernel tells of a process that executes a program: its page faults, each with an end, its switches, and its
// children.
#include "audit/kernel_events.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace flat::audit {
namespace {

using enum KernelEventKind;

/// What the shell below becomes.
TEST(kernel_events, starts_a_thread) {
    std::thread([] {}).join();
}

/// Events of a shell that takes another name, starts a child, and becomes a program with a second thread. Nothing where
/// the kernel refuses.
std::vector<KernelEvent> events_of_a_program(pid_t &process) {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    std::array<int, 2> gate{};
    if (pipe(gate.data()) != 0) return {};
    process = fork();
    if (process == 0) {
        char byte = 0;
        (void)close(gate[1]);
        if (read(gate[0], &byte, 1) < 0) _exit(1);
        (void)execl("/bin/sh", "sh", "-c",
                    "echo named > /proc/self/comm; sleep 0.01; exec \"$0\" "
                    "--gtest_filter=kernel_events.starts_a_thread > /dev/null",
                    self.c_str(), static_cast<char *>(nullptr));
        _exit(1);
    }
    std::vector<KernelEvent> events;
    std::unique_ptr<KernelEvents> source;
    try {
        source = std::make_unique<KernelEvents>(process, false);
        source->read(events);
        EXPECT_TRUE(events.empty()) << "it begins with the program";
    } catch (const EventsRefused &refusal) {
        EXPECT_FALSE(refusal.why.empty());
    }
    (void)close(gate[1]);
    (void)close(gate[0]);
    int status = 1;
    EXPECT_EQ(waitpid(process, &status, 0), process);
    EXPECT_EQ(status, 0);
    if (source) {
        source->read(events);
        EXPECT_EQ(source->lost(), 0U);
        const std::size_t count = events.size();
        source->read(events);
        EXPECT_EQ(events.size(), count) << "each is told once";
    }
    return events;
}

TEST(kernel_events, are_faults_with_an_end_each_and_switches) {
    pid_t process = 0;
    std::vector<KernelEvent> events = events_of_a_program(process);
    if (events.empty()) GTEST_SKIP() << "the kernel refuses perf_event_open";
    std::stable_sort(events.begin(), events.end(), [](auto &a, auto &b) { return a.time < b.time; });
    std::map<KernelEventKind, std::size_t> counts;
    std::map<std::int32_t, std::size_t> open, processes;
    for (const KernelEvent &event : events) {
        counts[event.kind]++;
        processes[event.process]++;
        if (event.kind == fault_begins) {
            EXPECT_EQ(open[event.thread]++, 0U) << "a fault within a fault";
            EXPECT_NE(event.address, 0U);
            EXPECT_NE(event.instruction, 0U);
        }
        if (event.kind == minor_fault_ends || event.kind == major_fault_ends) {
            EXPECT_EQ(open[event.thread], 1U);
            open[event.thread] = 0;
        }
    }
    EXPECT_GT(counts[fault_begins], 20U);
    EXPECT_EQ(counts[fault_begins], counts[minor_fault_ends] + counts[major_fault_ends]);
    EXPECT_GT(counts[minor_fault_ends], counts[major_fault_ends]);
    EXPECT_GE(counts[blocked], 1U);
    EXPECT_GE(counts[runs_on], counts[blocked]);
    EXPECT_GT(processes[process], 0U);
    EXPECT_GE(processes.size(), 2U) << "children are watched too";
    EXPECT_EQ(counts[forked], 1U);
    EXPECT_EQ(counts[executed], 3U) << "the shell, its child, and what it becomes";
    for (const KernelEvent &event : events) {
        if (event.kind == forked) {
            EXPECT_EQ(event.address, static_cast<std::uint64_t>(process)) << "the parent";
            EXPECT_NE(event.process, process);
        }
        EXPECT_GE(event.time, events.front().time);
    }
}

} // namespace
} // namespace flat::audit
