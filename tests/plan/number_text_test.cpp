#include "plan/number_text.hpp"

#include <gtest/gtest.h>

using namespace flat::plan;

TEST(number_text, bytes_are_digits_and_at_most_a_suffix) {
    EXPECT_EQ(bytes_from("0"), 0U);
    EXPECT_EQ(bytes_from("4096"), 4096U);
    EXPECT_EQ(bytes_from("4K"), 4096U);
    EXPECT_EQ(bytes_from("4k"), 4096U);
    EXPECT_EQ(bytes_from("4KiB"), 4096U);
    EXPECT_EQ(bytes_from("3M"), 3U << 20);
    EXPECT_EQ(bytes_from("2g"), std::uint64_t{2} << 30);
    EXPECT_EQ(bytes_from("18446744073709551615"), UINT64_MAX);
    EXPECT_EQ(bytes_from("17179869183G"), ((std::uint64_t{1} << 34) - 1) << 30);
    for (const char *text : {"",
                             "K",
                             "KiB",
                             "-1",
                             "+1",
                             " 1",
                             "1 ",
                             "1 K",
                             "1.5K",
                             "0x10",
                             "1T",
                             "4KB",
                             "4Ki",
                             "4KiBi",
                             "4KK",
                             "1e3",
                             "18446744073709551616",
                             "17179869184G",
                             "99999999999999999999K",
                             "４"})
        EXPECT_EQ(bytes_from(text), std::nullopt) << text;
}

TEST(number_text, numbers_are_digits) {
    EXPECT_EQ(number_from("0"), 0U);
    EXPECT_EQ(number_from("00012"), 12U);
    EXPECT_EQ(number_from("18446744073709551615"), UINT64_MAX);
    for (const char *text : {"", "-1", "+1", " 1", "1 ", "1K", "1.0", "18446744073709551616"})
        EXPECT_EQ(number_from(text), std::nullopt) << text;
}

TEST(number_text, what_is_shown_is_one_printable_line) {
    EXPECT_EQ(shown("classes"), "classes");
    EXPECT_EQ(shown("a\nb\x1b[31m\xff\x7f"), "a?b?[31m??");
    EXPECT_EQ(shown(std::string(40, 'x')), std::string(40, 'x'));
    EXPECT_EQ(shown(std::string(41, 'x')), std::string(40, 'x').append("..."));
    EXPECT_EQ(shown("abcdef", 3), "abc...");
}

TEST(number_text, durations_have_a_unit) {
    EXPECT_EQ(duration_from("20us"), 20000U);
    EXPECT_EQ(duration_from("20 us"), 20000U);
    EXPECT_EQ(duration_from("5ms"), 5000000U);
    EXPECT_EQ(duration_from("0s"), 0U);
    EXPECT_EQ(duration_from("18446744073709551615ns"), UINT64_MAX);
    EXPECT_EQ(duration_from("18446744073s"), 18446744073000000000U);
    for (const char *text : {"", "us", "20", "20 ", "20  us", "20us ", "-1us", "1.5ms", "20Us", "20m", "18446744074s",
                             "18446744073709551616ns", "99999999999999999999ns"})
        EXPECT_FALSE(duration_from(text).has_value()) << text;
}

TEST(number_text, a_duration_that_was_written_is_read_back) {
    for (const std::uint64_t ns : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{999}, std::uint64_t{1000},
                                   std::uint64_t{1500}, std::uint64_t{20000000}, UINT64_MAX})
        EXPECT_EQ(duration_from(duration_text(ns)), ns) << duration_text(ns);
    EXPECT_EQ(duration_text(20000), "20us");
    EXPECT_EQ(duration_text(1500), "1500ns");
    EXPECT_EQ(duration_text(2000000000), "2s");
}
