#include "audit/cause.hpp"

#include <gtest/gtest.h>

#include <climits>
#include <set>
#include <string>

#include <sys/syscall.h>

using namespace flat::audit;

TEST(causes, have_the_words_that_the_manual_promises) {
    EXPECT_EQ(in_words(Cause{CauseKind::page_fault, -1}), "page fault");
    EXPECT_EQ(in_words(Cause{CauseKind::system_call, SYS_madvise}), "system call madvise");
    EXPECT_EQ(in_words(Cause{CauseKind::lock, -1}), "lock");
    EXPECT_EQ(in_words(Cause{CauseKind::preempted, -1}), "preempted");
    EXPECT_EQ(in_words(Cause{CauseKind::blocked, -1}), "blocked");
    EXPECT_EQ(in_words(Cause{CauseKind::own_work, -1}), "own work or the machine");
}

TEST(causes, are_all_named_and_each_by_words_of_its_own) {
    std::set<std::string> words;
    for (const CauseKind kind : all_causes) words.insert(in_words(kind));
    EXPECT_EQ(words.size(), std::size(all_causes));
    EXPECT_EQ(words.count("unknown"), 0u);
}

TEST(causes, name_a_lock_alike_whatever_its_system_call) {
    EXPECT_EQ(in_words(Cause{CauseKind::lock, SYS_futex}), "lock");
}

TEST(causes, name_the_system_calls_of_this_machine) {
    EXPECT_EQ(system_call_name(SYS_read), "read");
    EXPECT_EQ(system_call_name(SYS_mmap), "mmap");
    EXPECT_EQ(system_call_name(SYS_futex), "futex");
    EXPECT_EQ(system_call_name(SYS_clock_nanosleep), "clock_nanosleep");
}

TEST(causes, number_the_system_calls_that_no_table_has) {
    EXPECT_EQ(system_call_name(99'999), "number 99999");
    EXPECT_EQ(system_call_name(-1), "number -1");
    EXPECT_EQ(system_call_name(LONG_MAX), "number " + std::to_string(LONG_MAX));
    EXPECT_EQ(system_call_name((1L << 32) + SYS_read), "number " + std::to_string((1L << 32) + SYS_read));
    EXPECT_EQ(in_words(Cause{CauseKind::system_call, 99'999}), "system call number 99999");
    EXPECT_EQ(in_words(Cause{CauseKind::system_call, -1}), "system call");
}
