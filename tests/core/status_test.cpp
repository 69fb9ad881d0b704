#include <flatline/status.h>

#include <gtest/gtest.h>
#include <set>
#include <string>

namespace {

constexpr flat_status last = FLAT_TIMED_OUT;

} // namespace

TEST(status, every_status_has_a_phrase_of_its_own) {
    std::set<std::string> phrases;
    for (int status = FLAT_OK; status <= last; status++) {
        phrases.insert(flat_status_string(static_cast<flat_status>(status)));
    }
    EXPECT_EQ(phrases.size(), static_cast<std::size_t>(last) + 1);
    EXPECT_EQ(phrases.count("unknown status"), 0u);
}

TEST(status, phrases_are_phrases) {
    for (int status = FLAT_OK; status <= last; status++) {
        const std::string phrase = flat_status_string(static_cast<flat_status>(status));
        ASSERT_FALSE(phrase.empty());
        EXPECT_NE(phrase.back(), '.') << phrase;
    }
}

TEST(status, a_value_outside_the_enumeration_is_unknown) {
    // 15 lies in the range that C++ grants an enumeration of 0 .. 14, so making the value is not undefined itself.
    EXPECT_STREQ(flat_status_string(static_cast<flat_status>(last + 1)), "unknown status");
}
