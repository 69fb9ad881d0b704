#include "cli/audit_text.hpp"

#include "audit/readable.hpp"
#include "cli/lines_of.hpp"
#include "made_findings.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>

using namespace flat;
using test::has;
using test::line_with;

namespace {

cli::Look plain_look(std::size_t width = 100) {
    cli::Look look;
    look.width = width;
    return look;
}

std::string text_of(const audit::Findings &findings) { return cli::audit_text(findings, plain_look()); }

/// Every line of at most 100 columns, and no byte that a terminal obeys.
void expect_narrow(const audit::Findings &findings, std::size_t width) {
    std::istringstream in(cli::audit_text(findings, plain_look(width)));
    for (std::string line; std::getline(in, line);) {
        EXPECT_LE(audit::columns_in(line), 100u) << line;
        EXPECT_EQ(audit::readable(line), line);
    }
}

audit::Findings without_stalls() {
    audit::Findings findings = test::made_findings();
    findings.stalls.clear();
    findings.slow_calls.clear();
    findings.slow_count = 0;
    findings.taking.all.max_ns = 8'000;
    findings.giving.all.max_ns = 9'400;
    return findings;
}

} // namespace

TEST(audit_text, says_first_what_ran_and_which_causes_could_be_told) {
    const std::string text = text_of(test::made_findings());
    EXPECT_TRUE(text.starts_with("Program    ./render --fast\nMachine    AMD EPYC, 2 processors, Linux 6.1\n"));
    const std::string head = text.substr(0, text.find("\n\n"));
    EXPECT_TRUE(has(head, "libc.so.6"));
    EXPECT_TRUE(has(head, "1,234,567 calls in 2 threads, 4.2 s."));
    EXPECT_TRUE(has(head, "19 stalls took 10 us or longer"));
    EXPECT_TRUE(has(head, "None was dropped"));
    EXPECT_TRUE(has(head, "page fault, system call, lock and first touch of a block"));
    EXPECT_TRUE(has(head, "preempted and blocked: perf_event_open is refused (perf_event_paranoid is 3)"));
    EXPECT_TRUE(has(head, "Times of one thread are not known."));
}

TEST(audit_text, says_what_remains_only_where_that_is_told) {
    audit::Findings findings = test::made_findings();
    EXPECT_TRUE(has(text_of(findings), "What remains is own work or the"));
    findings.available = {audit::CauseKind::page_fault};
    EXPECT_FALSE(has(text_of(findings), "What remains"));
}

TEST(audit_text, says_what_was_dropped_and_that_a_recording_was_cut) {
    audit::Findings findings = test::made_findings();
    findings.dropped = 1'234;
    findings.whole = false;
    EXPECT_TRUE(has(text_of(findings), "Dropped    1,234 of these calls"));
    EXPECT_TRUE(has(text_of(findings), "ends before the program did"));
    EXPECT_FALSE(has(text_of(findings), "None was dropped"));
}

TEST(audit_text, shows_a_stall_with_its_figures_and_its_stack_from_the_site_on) {
    const std::string text = text_of(test::made_findings());
    const std::size_t at = text.find("operator new: page fault");
    ASSERT_NE(at, std::string::npos);
    const std::string row = line_with("operator new: page fault", text);
    for (const char *figure : {" 17 ", "120 us", "1.9 ms", "2.0 ms", "3.0 ms"}) EXPECT_TRUE(has(row, figure)) << figure;
    const std::string stack = text.substr(at, text.find("slowest in", at) - at);
    EXPECT_TRUE(has(stack, "at  mix  /home/a/mix.cpp:31\n"));
    EXPECT_TRUE(has(stack, "from  render(Frame&)  /home/a/render.cpp:123\n"));
    EXPECT_TRUE(has(stack, "from  main  /home/a/main.cpp:7\n"));
    EXPECT_FALSE(has(stack, "vector.tcc")); // not the program's own
    EXPECT_FALSE(has(stack, "libc.so.6"));  // the fourth line
    EXPECT_TRUE(
        has(line_with("slowest in", text, at), "render (101) at 1.500 s, up to 65,536 bytes, 2,040 page faults"));
    EXPECT_LT(at, text.find("free: system call read"));
    EXPECT_LT(text.find("free: system call read"), text.find("malloc: own work or the machine"));
}

TEST(audit_text, names_files_from_the_working_folder_on) {
    audit::Findings findings = test::made_findings();
    findings.stalls.front().stack[1].file = std::filesystem::current_path() / "source/mix.cpp";
    EXPECT_TRUE(has(text_of(findings), "at  mix  source/mix.cpp:31\n"));
}

TEST(audit_text, shows_as_much_of_a_place_as_the_function_leaves_room_for) {
    audit::Findings findings = test::made_findings();
    const std::string path = "/home/a/" + std::string(60, 'p') + ".cpp";
    findings.stalls.front().stack[1].file = path;
    EXPECT_TRUE(has(text_of(findings), "at  mix  " + path + ":31\n"));
    findings.stalls.front().stack[1].function = std::string(60, 'f');
    EXPECT_TRUE(has(text_of(findings), "ppp.cpp:31\n"));
    EXPECT_FALSE(has(text_of(findings), path));
    expect_narrow(findings, 100);
}

TEST(audit_text, ends_a_stack_with_main) {
    audit::Findings findings = test::made_findings();
    audit::Stack &stack = findings.stalls.front().stack;
    stack.erase(stack.begin() + 2); // render
    stack.push_back({"_start", "", 0, false, "/home/a/render"});
    const std::string text = text_of(findings);
    EXPECT_TRUE(has(text, "from  main  /home/a/main.cpp:7\n          slowest in"));
}

TEST(audit_text, leaves_out_callers_that_are_the_standard_librarys) {
    audit::Findings findings = test::made_findings();
    audit::Stack &stack = findings.stalls.front().stack;
    const symbols::SourceFrame pointer{"std::unique_ptr<Frame>::~unique_ptr()", "/usr/include/c++/12/bits/unique_ptr.h",
                                       396, true, "/home/a/render"};
    stack.insert(stack.begin() + 2, 4, pointer);
    const std::string text = text_of(findings);
    EXPECT_FALSE(has(text, "unique_ptr"));
    EXPECT_TRUE(has(text, "from  render(Frame&)"));
    EXPECT_TRUE(has(text, "from  main"));
}

TEST(audit_text, says_how_a_program_ended_that_did_not_succeed) {
    audit::Findings findings = test::made_findings();
    EXPECT_FALSE(has(text_of(findings), "Ended"));
    findings.status = 0;
    EXPECT_FALSE(has(text_of(findings), "Ended"));
    findings.status = 3;
    EXPECT_TRUE(has(text_of(findings), "Ended      with exit status 3.\n"));
    findings.status = 139;
    EXPECT_TRUE(has(text_of(findings), "Ended      with exit status 139, as by signal 11: Segmentation fault.\n"));
    findings.status = 255; // no signal has this number
    EXPECT_TRUE(has(text_of(findings), "Ended      with exit status 255.\n"));
}

TEST(audit_text, counts_processes_if_there_are_several) {
    audit::Findings findings = test::made_findings();
    EXPECT_FALSE(has(text_of(findings), "processes"));
    findings.threads[1].process = 200;
    EXPECT_TRUE(has(text_of(findings), "1,234,567 calls in 2 threads of 2 processes, 4.2 s."));
}

TEST(audit_text, says_of_calls_that_were_not_timed_what_a_time_is_of) {
    audit::Findings findings = test::made_findings();
    findings.timed = false;
    const std::string text = text_of(findings);
    EXPECT_TRUE(has(text, "19 stalls spent 10 us or longer in page faults and"));
    EXPECT_FALSE(has(text, "All calls")); // there are no percentiles of calls
    EXPECT_FALSE(has(text, "took 10 us"));
    findings = without_stalls();
    findings.timed = false;
    EXPECT_TRUE(has(text_of(findings), "No stall: no call spent 10 us or longer in page faults and system calls.\n"));
}

TEST(audit_text, breaks_what_is_known_of_a_stall_between_its_parts) {
    audit::Findings findings = test::made_findings();
    audit::Stall &stall = findings.stalls.front();
    stall.thread = "a thread with a very long name (1234567)";
    stall.page_faults = stall.system_calls = 12'345'678;
    const std::string text = text_of(findings);
    EXPECT_TRUE(has(
        text, "at 1.500 s, up to 65,536 bytes,\n          12,345,678 page faults, 12,345,678 system calls in all\n"));
    expect_narrow(findings, 100);
}

TEST(audit_text, counts_the_stalls_that_it_does_not_show) {
    audit::Findings findings = test::made_findings();
    findings.stalls.resize(1);
    for (int i = 0; i < 14; ++i) findings.stalls.push_back(findings.stalls.front());
    const std::string text = text_of(findings);
    std::size_t shown = 0;
    for (std::size_t at = text.find("operator new: "); at != std::string::npos;
         at = text.find("operator new: ", at + 1))
        ++shown;
    EXPECT_EQ(shown, cli::most_stalls_shown);
    EXPECT_TRUE(has(text, "5 more stalls not shown: 85 calls took 15 ms in total"));
}

TEST(audit_text, says_plainly_that_there_is_no_stall) {
    const std::string text = text_of(without_stalls());
    EXPECT_TRUE(has(text, "No stall: no call took 10 us or longer. The longest call took 9.4 us; it freed a block.\n"));
    EXPECT_FALSE(has(text, "What to do"));
    EXPECT_TRUE(has(text, "No stall took 10 us or longer"));
    EXPECT_TRUE(has(text_of({}), "No call was recorded."));
}

TEST(audit_text, shows_the_percentiles_beside_the_floor_and_the_undisturbed_where_they_differ) {
    const std::string text = text_of(test::made_findings());
    const std::size_t at = text.find("All calls");
    ASSERT_NE(at, std::string::npos);
    EXPECT_TRUE(
        has(line_with("allocating", text, at), "700,000    55 ns   110 ns   220 ns   500 us   1.0 ms   2.0 ms"));
    EXPECT_TRUE(has(line_with("freeing", text, at), "534,567    41 ns"));
    EXPECT_TRUE(has(line_with("floor", text, at), "1,000    30 ns"));
    const std::size_t first = text.find("without system calls", at);
    ASSERT_NE(first, std::string::npos);
    EXPECT_LT(first, text.find("freeing", at)); // of the calls that allocate alone
    EXPECT_EQ(text.find("without system calls", first + 1), std::string::npos);
    EXPECT_TRUE(has(text, "The cost of telling a system call, 2.1 us each, is subtracted."));
}

TEST(audit_text, says_what_to_do_about_each_kind_that_occurs_and_no_other) {
    for (const audit::CauseKind kind : audit::all_causes) {
        audit::Findings findings = test::made_findings();
        findings.stalls.resize(1);
        findings.stalls.front().cause = {kind, -1};
        const std::string text = text_of(findings);
        const std::size_t at = text.find("What to do\n");
        ASSERT_NE(at, std::string::npos);
        for (const audit::CauseKind other : audit::all_causes)
            EXPECT_EQ(has(text.substr(at), "\n" + std::string(in_words(other)) + ": 17 times, 3.0 ms in total\n  "),
                      other == kind);
    }
}

TEST(audit_text, explains_the_site_of_a_first_touch) {
    audit::Findings findings = test::made_findings();
    EXPECT_FALSE(has(text_of(findings), "First touch:"));
    findings.stalls.front().operation = "first touch";
    EXPECT_TRUE(has(text_of(findings), "First touch:"));
}

TEST(audit_text, stays_within_100_columns_whatever_the_names_and_figures_are) {
    for (const unsigned width : {1u, 80u, 100u, 400u}) {
        expect_narrow(test::made_findings(), width);
        expect_narrow(test::huge_findings(), width);
        expect_narrow({}, width);
        for (const std::string &name : test::hostile_names()) expect_narrow(test::findings_named(name), width);
    }
}
