// descriptor.h: the cache line that travels.
#include "engine/parts.h"

#include <flatline/engine.h>

#include <gtest/gtest.h>

#include <cstddef>

TEST(engine_descriptor, is_one_cache_line_and_its_payload_is_aligned_to_sixteen) {
    const part_descriptor_layout layout = part_descriptor_layout_of();
    EXPECT_EQ(layout.size, 64u);
    EXPECT_EQ(layout.alignment, 64u);
    EXPECT_EQ(layout.room_at % 16, 0u);
    EXPECT_EQ(layout.room_size, static_cast<std::size_t>(FLAT_ENGINE_INLINE_BYTES));
}

TEST(engine_descriptor, times_are_behind_the_payload_that_may_stand_beside_them) {
    const part_descriptor_layout layout = part_descriptor_layout_of();
    for (const bool deadline : {false, true}) {
        for (const bool start : {false, true}) {
            const std::size_t times = static_cast<std::size_t>(deadline) + static_cast<std::size_t>(start);
            const std::size_t payload_ends = layout.room_at + FLAT_ENGINE_INLINE_BYTES - 8 * times;
            const std::size_t deadline_at = part_deadline_at(deadline, start),
                              start_at = part_start_at(deadline, start);
            EXPECT_TRUE(!deadline || (deadline_at >= payload_ends && deadline_at + 8 <= layout.size));
            EXPECT_TRUE(!start || (start_at >= payload_ends && start_at + 8 <= layout.size));
            EXPECT_TRUE(!deadline || !start || deadline_at != start_at);
        }
    }
}

TEST(engine_descriptor, flags_have_bits_of_their_own) { EXPECT_TRUE(part_flags_are_apart()); }
