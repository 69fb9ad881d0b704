#include "symbols/system_call_name.hpp"

#include <gtest/gtest.h>

#include <climits>
#include <string>

#include <sys/syscall.h>

using flat::symbols::system_call_name;

TEST(system_call_name, is_that_of_this_machine) {
    EXPECT_EQ(system_call_name(SYS_read), "read");
    EXPECT_EQ(system_call_name(SYS_mmap), "mmap");
    EXPECT_EQ(system_call_name(SYS_futex), "futex");
    EXPECT_EQ(system_call_name(SYS_clock_nanosleep), "clock_nanosleep");
}

TEST(system_call_name, is_the_number_of_a_call_that_no_table_has) {
    EXPECT_EQ(system_call_name(99'999), "number 99999");
    EXPECT_EQ(system_call_name(-1), "number -1");
    EXPECT_EQ(system_call_name(LONG_MAX), "number " + std::to_string(LONG_MAX));
    EXPECT_EQ(system_call_name((1L << 32) + SYS_read), "number " + std::to_string((1L << 32) + SYS_read));
}
