// What the tests of readers share: the message of a refusal, which must be one line.
#ifndef FLATLINE_TESTS_PLAN_TEXTS_HPP
#define FLATLINE_TESTS_PLAN_TEXTS_HPP

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace test {

// What `read` throws; "" where it throws nothing. A message has one line, prints, and is not endless.
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
