// Shared by the tests of readers: the message of a refusal, which must be one line.
#ifndef FLATLINE_TESTS_PLAN_TEXTS_HPP
#define FLATLINE_TESTS_PLAN_TEXTS_HPP

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace test {

// Returns the message that `read` throws, or "" if it does not throw. A message must be one printable line of limited
// length.
template <typename Read> std::string refusal_of(const Read &read) {
    try {
        read();
    } catch (const std::runtime_error &error) {
        const std::string message = error.what();
        EXPECT_TRUE(std::ranges::all_of(message, [](char each) { return each >= ' ' && each <= '~'; })) << message;
        EXPECT_LT(message.size(), 300U) << message;
        return message;
    }
    return "";
}

} // namespace test

#endif
