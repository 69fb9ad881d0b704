#include "audit/readable.hpp"

#include "made_findings.hpp"

#include <gtest/gtest.h>

#include <string>

using namespace flat::audit;

TEST(readable, leaves_text_as_it_is) {
    for (const char *text : {"", "operator new(unsigned long)", "größe<日本語>", "a \"b\"; c"})
        EXPECT_EQ(readable(text), text);
}

TEST(readable, marks_what_is_not_utf8) {
    EXPECT_EQ(readable("a\xff\x62"), "a\uFFFD"
                                     "b");
    EXPECT_EQ(readable("half \xe2\x82"), "half \uFFFD");
    EXPECT_EQ(readable("\xed\xa0\x80").find('\xed'), std::string::npos); // half of a pair of UTF-16
}

TEST(readable, has_nothing_that_ends_a_line_or_commands_a_terminal) {
    EXPECT_EQ(readable("two\nlines\r\x1b[31m"), "two?lines??[31m");
    EXPECT_EQ(readable(std::string("a zero\0byte", 11)), "a zero?byte");
    EXPECT_EQ(readable("\x7f\u009b"), "??"); // delete, and the one byte that begins a command
    EXPECT_EQ(readable("\u2028"), "?");      // ends a line, too
    EXPECT_EQ(readable("\u202e"), "?");      // what follows is shown from right to left
}

TEST(readable, counts_columns_and_not_bytes) {
    EXPECT_EQ(columns_in("größe"), 5u);
    EXPECT_EQ(columns_in("日本語"), 6u);
    EXPECT_EQ(columns_in("e\u0301"), 1u); // with a combining accent
}

TEST(readable, is_cut_to_the_columns_that_there_are) {
    EXPECT_EQ(without_end("abcdef", 6), "abcdef");
    EXPECT_EQ(without_end("abcdefg", 6), "abcde…");
    EXPECT_EQ(without_beginning("abcdef", 6), "abcdef");
    EXPECT_EQ(without_beginning("abcdefg", 6), "…cdefg");
    EXPECT_EQ(without_end("日本語", 4), "日…"); // two halves of a letter are none
    EXPECT_EQ(without_beginning("日本語", 4), "…語");
    for (const std::string &name : test::hostile_names())
        for (std::size_t columns = 1; columns < 40; ++columns) {
            EXPECT_LE(columns_in(without_end(readable(name), columns)), columns);
            EXPECT_LE(columns_in(without_beginning(readable(name), columns)), columns);
        }
}
