#include <flatline/version.h>

#include <gtest/gtest.h>
#include <string>

TEST(version, the_library_says_what_the_header_says) { EXPECT_STREQ(flat_version(), FLAT_VERSION_STRING); }

TEST(version, the_string_is_made_of_the_three_numbers) {
    EXPECT_EQ(FLAT_VERSION_STRING, std::to_string(FLAT_VERSION_MAJOR) + "." + std::to_string(FLAT_VERSION_MINOR) + "." +
                                       std::to_string(FLAT_VERSION_PATCH));
}
