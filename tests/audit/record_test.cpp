// A call in 24 bytes: what fits comes back as it was, and what does not is the greatest value, beside which details say
// it.
#include "audit/record.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace {

/// Values around each power of two up to `most`.
std::vector<std::uint64_t> boundaries(std::uint64_t most) {
    std::vector<std::uint64_t> values{0, most};
    for (unsigned bit = 0; bit < 64; bit++)
        for (const std::uint64_t value : {(std::uint64_t{1} << bit) - 1, std::uint64_t{1} << bit})
            if (value <= most) values.push_back(value);
    return values;
}

TEST(record, of_a_call_gives_back_what_it_was_made_of) {
    constexpr std::uint64_t longest = (std::uint64_t{1} << 56) - 1, highest = (std::uint64_t{1} << 48) - 8;
    for (std::uint64_t operation = AUDIT_MALLOC; operation < AUDIT_CALLS_END; operation++)
        for (const std::uint64_t begin : {std::uint64_t{0}, std::uint64_t{1}, longest - 1, longest})
            for (const std::uint64_t duration : boundaries(UINT32_MAX))
                for (const std::uint64_t size : boundaries(AUDIT_SIZE_MAX)) {
                    const std::uint64_t stack = (duration ^ size) & 0xfffff, block = (begin ^ size << 3) & highest;
                    const audit_record record =
                        audit_record_of_call(operation, begin, duration, stack, size, block / 8 * 8);
                    ASSERT_EQ(audit_operation_of(&record), operation);
                    ASSERT_EQ(audit_time_of(&record), begin);
                    ASSERT_EQ(audit_duration_of(&record), duration);
                    ASSERT_EQ(audit_stack_of(&record), stack);
                    ASSERT_EQ(audit_size_of(&record), size);
                    ASSERT_EQ(audit_block_of(&record), block / 8 * 8);
                }
}

TEST(record, of_a_call_has_every_address_of_a_block_below_2_to_the_48) {
    for (const std::uint64_t block : boundaries((std::uint64_t{1} << 48) - 8)) {
        const audit_record record = audit_record_of_call(AUDIT_FREE, 1, 1, 0xfffff, AUDIT_SIZE_MAX, block);
        EXPECT_EQ(audit_block_of(&record), block / 8 * 8);
        EXPECT_EQ(audit_size_of(&record), AUDIT_SIZE_MAX);
    }
}

TEST(record, of_a_call_that_does_not_fit_has_the_greatest_values) {
    for (const std::uint64_t more : {std::uint64_t{UINT32_MAX}, std::uint64_t{UINT32_MAX} + 1, UINT64_MAX}) {
        const audit_record record = audit_record_of_call(AUDIT_MALLOC, 5, more, 3, more, 16);
        EXPECT_EQ(audit_duration_of(&record), UINT32_MAX);
        EXPECT_EQ(audit_size_of(&record), AUDIT_SIZE_MAX);
        EXPECT_EQ(audit_stack_of(&record), 3U);
        EXPECT_EQ(audit_block_of(&record), 16U);
    }
}

TEST(record, of_a_detail_has_its_values_whole) {
    for (const std::uint64_t value : boundaries(UINT64_MAX)) {
        const audit_record record = audit_record_of_detail(AUDIT_SYSTEM_CALL, 77, value, ~value);
        EXPECT_EQ(audit_operation_of(&record), AUDIT_SYSTEM_CALL);
        EXPECT_EQ(audit_time_of(&record), 77U);
        EXPECT_EQ(record.words[1], value);
        EXPECT_EQ(record.words[2], ~value);
    }
}

} // namespace
