#include "audit/cause.hpp"

#include <gtest/gtest.h>

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

TEST(causes, say_a_system_call_of_which_no_table_has_the_name) {
    EXPECT_EQ(in_words(Cause{CauseKind::system_call, 99'999}), "system call number 99999");
    EXPECT_EQ(in_words(Cause{CauseKind::system_call, -1}), "system call");
}
