// arena.h and arena.c: the contract, function by function. Memory that need not be touched is PROT_NONE.
#include "core/arena_calls.h"
#include "core/environment.hpp"
#include "core/mapping.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace {

constexpr std::size_t largest_power = SIZE_MAX / 2 + 1;

// An arena over bytes that nobody may touch, at a multiple of 1 MiB.
class untouched_arena {
  public:
    explicit untouched_arena(std::size_t bytes) : memory_(bytes + 1, std::size_t{1} << 20, PROT_NONE) {
        EXPECT_EQ(flat_arena_init(&arena, {memory_.start(), bytes}), FLAT_OK);
    }
    untouched_arena(const untouched_arena &) = delete;
    untouched_arena &operator=(const untouched_arena &) = delete;
    ~untouched_arena() { flat_arena_destroy(&arena); }

    char *start() const { return memory_.start(); }
    char *alloc(std::size_t size) { return static_cast<char *>(call_arena_alloc(&arena, size)); }
    char *alloc(std::size_t alignment, std::size_t size) {
        return static_cast<char *>(call_arena_aligned_alloc(&arena, alignment, size));
    }
    flat_arena_stats stats() const {
        flat_arena_stats stats{};
        flat_arena_get_stats(&arena, &stats);
        return stats;
    }
    flat_arena arena{};

  private:
    test::mapping memory_;
};

// What init says of this memory; an arena that it refused must be as it was.
flat_status status_of_init(void *start, std::size_t size) {
    flat_arena arena, before;
    std::memset(&arena, 0x5a, sizeof arena);
    std::memcpy(&before, &arena, sizeof arena);
    const flat_status status = flat_arena_init(&arena, {start, size});
    if (status != FLAT_OK) {
        EXPECT_EQ(std::memcmp(&arena, &before, sizeof arena), 0) << "a refused call changed its result";
    }
    return status;
}

void *at(std::uintptr_t address) { return reinterpret_cast<void *>(address); }

} // namespace

TEST(arena_init, refuses_what_is_no_memory) {
    char memory[64];
    EXPECT_EQ(flat_arena_init(nullptr, {memory, 64}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of_init(nullptr, 1), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of_init(memory, FLAT_ARENA_MAX_BYTES + 1), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of_init(memory, SIZE_MAX), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of_init(at(UINTPTR_MAX - 99), 100), FLAT_INVALID_ARGUMENT) << "its end is not an address";
    EXPECT_EQ(status_of_init(at(UINTPTR_MAX), 2), FLAT_INVALID_ARGUMENT);
}

TEST(arena_init, takes_the_whole_granules_of_unaligned_memory) {
    alignas(16) char memory[96];
    for (std::size_t offset = 0; offset < 32; offset++) {
        for (std::size_t size = 0; size <= 64; size++) {
            flat_arena arena;
            ASSERT_EQ(flat_arena_init(&arena, {memory + offset, size}), FLAT_OK);
            const std::size_t first = (offset + 15) / 16 * 16, last = (offset + size) / 16 * 16;
            const std::size_t bytes = last > first ? last - first : 0;
            flat_arena_stats stats;
            flat_arena_get_stats(&arena, &stats);
            ASSERT_EQ(stats.bytes, bytes) << size << " from " << offset;
            if (bytes > 0) {
                ASSERT_EQ(call_arena_aligned_alloc(&arena, 1, bytes), memory + first);
            }
            ASSERT_EQ(call_arena_aligned_alloc(&arena, 1, 1), nullptr);
            flat_arena_destroy(&arena);
        }
    }
}

TEST(arena_init, an_arena_of_size_0_refuses_everything) {
    char somewhere[1];
    for (void *start : {static_cast<void *>(nullptr), static_cast<void *>(somewhere), at(UINTPTR_MAX)}) {
        flat_arena arena;
        ASSERT_EQ(flat_arena_init(&arena, {start, 0}), FLAT_OK);
        for (std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{16}, SIZE_MAX}) {
            EXPECT_EQ(call_arena_alloc(&arena, size), nullptr);
            for (std::size_t alignment = 1; alignment != 0; alignment *= 2) {
                EXPECT_EQ(call_arena_aligned_alloc(&arena, alignment, size), nullptr);
            }
        }
        flat_arena_stats stats;
        flat_arena_get_stats(&arena, &stats);
        EXPECT_EQ(stats.bytes, 0u);
        EXPECT_EQ(stats.high_water, 0u);
        EXPECT_FALSE(call_arena_owns(&arena, start));
        EXPECT_EQ(flat_arena_rewind(&arena, call_arena_get_mark(&arena)), FLAT_OK);
        flat_arena_reset(&arena);
        EXPECT_FALSE(flat_arena_resize(&arena, start, 0, 1));
        flat_arena_destroy(&arena);
    }
}

TEST(arena_init, a_flat_arena_of_zero_bytes_is_an_arena_of_size_0) {
    flat_arena arena{};
    EXPECT_EQ(call_arena_alloc(&arena, 0), nullptr);
    EXPECT_EQ(call_arena_aligned_alloc(&arena, largest_power, 1), nullptr);
    EXPECT_FALSE(call_arena_owns(&arena, nullptr));
    EXPECT_FALSE(flat_arena_resize(&arena, nullptr, 0, 0));
    flat_arena_reset(&arena);
    flat_arena_stats stats;
    flat_arena_get_stats(&arena, &stats);
    EXPECT_EQ(stats.bytes, 0u);
    EXPECT_EQ(stats.needed, SIZE_MAX) << "of the second request";
    EXPECT_EQ(stats.refused, 2u);
    flat_arena_destroy(&arena);
    flat_arena_destroy(nullptr);
}

TEST(arena_init, memory_may_end_where_the_address_space_does) {
    if (test::address_sanitizer) GTEST_SKIP() << "AddressSanitizer has no shadow there";
    const std::uintptr_t start = UINTPTR_MAX - 4095;
    for (std::size_t size : {std::size_t{4095}, std::size_t{4090}, std::size_t{4080}}) {
        flat_arena arena;
        ASSERT_EQ(flat_arena_init(&arena, {at(start), size}), FLAT_OK);
        EXPECT_EQ(call_arena_aligned_alloc(&arena, 4096, 1), at(start));
        EXPECT_EQ(call_arena_aligned_alloc(&arena, 4096, 1), nullptr);
        EXPECT_EQ(call_arena_aligned_alloc(&arena, 1, 4076), at(start + 1));
        EXPECT_EQ(call_arena_alloc(&arena, 1), nullptr) << "rounding the cursor up reaches the end";
        EXPECT_EQ(call_arena_aligned_alloc(&arena, 1, 3), at(start + 4077));
        EXPECT_EQ(call_arena_aligned_alloc(&arena, 1, 1), nullptr);
        EXPECT_FALSE(call_arena_owns(&arena, at(UINTPTR_MAX)));
    }
    flat_arena arena;
    ASSERT_EQ(flat_arena_init(&arena, {at(UINTPTR_MAX - 5), 5}), FLAT_OK);
    EXPECT_EQ(call_arena_aligned_alloc(&arena, 1, 1), nullptr) << "no multiple of the granule lies in it";
}

TEST(arena_alloc, hands_out_blocks_one_behind_the_other) {
    untouched_arena of(160);
    EXPECT_EQ(of.alloc(16), of.start());
    EXPECT_EQ(of.alloc(17), of.start() + 16);
    EXPECT_EQ(of.alloc(1), of.start() + 48) << "at the next granule";
    EXPECT_EQ(of.alloc(96), of.start() + 64);
    EXPECT_EQ(of.alloc(1), nullptr) << "full";
}

TEST(arena_alloc, serves_the_last_byte_and_not_one_more) {
    for (std::size_t before : {0u, 1u, 15u, 16u, 100u}) {
        untouched_arena of(4096);
        if (before > 0) {
            ASSERT_NE(of.alloc(1, before), nullptr);
        }
        const std::size_t left = 4096 - (before + 15) / 16 * 16;
        EXPECT_EQ(of.alloc(left + 1), nullptr);
        EXPECT_EQ(of.alloc(left), of.start() + 4096 - left);
        EXPECT_EQ(of.alloc(0), nullptr);
        EXPECT_EQ(of.stats().used, 4096u);
    }
}

TEST(arena_alloc, a_refused_request_takes_nothing_and_a_smaller_one_still_fits) {
    untouched_arena of(64);
    EXPECT_EQ(of.alloc(48), of.start());
    EXPECT_EQ(of.alloc(17), nullptr);
    EXPECT_EQ(of.stats().used, 48u);
    EXPECT_EQ(of.alloc(16), of.start() + 48);
}

TEST(arena_alloc, size_0_counts_as_1) {
    untouched_arena of(32);
    char *first = of.alloc(0), *second = of.alloc(1, 0);
    EXPECT_EQ(first, of.start());
    EXPECT_EQ(second, of.start() + 1);
    EXPECT_EQ(of.stats().used, 2u);
    EXPECT_EQ(of.alloc(0), of.start() + 16);
    EXPECT_EQ(of.alloc(0), nullptr);
}

TEST(arena_alloc, sizes_near_size_max_are_refused_wherever_the_cursor_is) {
    for (std::size_t before = 0; before < 40; before++) {
        untouched_arena of(4096);
        if (before > 0) {
            ASSERT_NE(of.alloc(1, before), nullptr);
        }
        for (std::size_t less = 0; less < 5000; less = less < 40 ? less + 1 : less * 2) {
            for (std::size_t size : {SIZE_MAX - less, largest_power - less, largest_power + less}) {
                ASSERT_EQ(of.alloc(size), nullptr) << size;
                for (std::size_t alignment = 1; alignment != 0; alignment *= 2) {
                    ASSERT_EQ(of.alloc(alignment, size), nullptr) << alignment << ", " << size;
                }
            }
        }
        ASSERT_EQ(of.stats().used, before);
    }
}

TEST(arena_alloc, never_touches_its_memory) {
    untouched_arena of(4096);
    const flat_arena_mark mark = call_arena_get_mark(&of.arena);
    char *block = of.alloc(64, 100);
    EXPECT_TRUE(flat_arena_resize(&of.arena, block, 100, 1000));
    EXPECT_TRUE(flat_arena_resize(&of.arena, block, 1000, 10));
    EXPECT_EQ(of.alloc(5000), nullptr);
    EXPECT_EQ(flat_arena_rewind(&of.arena, mark), FLAT_OK);
    flat_arena_reset(&of.arena);
    EXPECT_EQ(of.alloc(4096), of.start());
}

TEST(arena_alloc, blocks_can_be_written_over_their_whole_length) {
    alignas(16) static unsigned char memory[8192];
    flat_arena arena;
    ASSERT_EQ(flat_arena_init(&arena, {memory, sizeof memory}), FLAT_OK);
    std::vector<std::pair<unsigned char *, std::size_t>> blocks;
    for (std::size_t size = 1; auto *block = static_cast<unsigned char *>(flat_arena_alloc(&arena, size)); size++) {
        std::memset(block, static_cast<int>(size), size);
        blocks.emplace_back(block, size);
    }
    EXPECT_GT(blocks.size(), 100u);
    for (const auto &[block, size] : blocks) {
        for (std::size_t i = 0; i < size; i++) ASSERT_EQ(block[i], size & 0xff);
    }
    flat_arena_destroy(&arena);
}

TEST(arena_aligned_alloc, every_power_of_two_up_to_a_mebibyte_is_served) {
    for (std::size_t alignment = 1; alignment <= std::size_t{1} << 20; alignment *= 2) {
        untouched_arena of(std::size_t{4} << 20);
        ASSERT_EQ(of.alloc(1, 1), of.start());
        ASSERT_EQ(of.alloc(alignment, 1), of.start() + alignment);
        ASSERT_EQ(of.alloc(alignment, alignment), of.start() + 2 * alignment);
        ASSERT_EQ(of.stats().used, 3 * alignment);
    }
}

TEST(arena_aligned_alloc, an_alignment_with_no_multiple_left_is_refused) {
    untouched_arena of(std::size_t{1} << 20);
    ASSERT_EQ(of.alloc(1, 1), of.start());
    EXPECT_EQ(of.alloc(std::size_t{1} << 20, 1), nullptr) << "the next multiple is the end";
    EXPECT_EQ(of.alloc(std::size_t{1} << 19, std::size_t{1} << 19), of.start() + (std::size_t{1} << 19));
    EXPECT_EQ(of.alloc(32, 1), nullptr);
    for (std::size_t alignment = std::size_t{1} << 20; alignment != 0; alignment *= 2) {
        EXPECT_EQ(of.alloc(alignment, 1), nullptr) << alignment;
    }
}

TEST(arena_aligned_alloc, small_alignments_leave_no_gap) {
    untouched_arena of(64);
    EXPECT_EQ(of.alloc(1, 3), of.start());
    EXPECT_EQ(of.alloc(1, 4), of.start() + 3);
    EXPECT_EQ(of.alloc(4, 4), of.start() + 8);
    EXPECT_EQ(of.alloc(8, 2), of.start() + 16);
    EXPECT_EQ(of.alloc(2, 46), of.start() + 18);
    EXPECT_EQ(of.alloc(1, 0), nullptr);
}

TEST(arena_aligned_alloc, what_is_no_power_of_two_is_no_alignment_and_no_refusal) {
    untouched_arena of(4096);
    for (std::size_t alignment : {std::size_t{0}, std::size_t{3}, std::size_t{6}, std::size_t{17}, std::size_t{48},
                                  largest_power + 1, SIZE_MAX, SIZE_MAX - 1}) {
        EXPECT_EQ(of.alloc(alignment, 1), nullptr) << alignment;
    }
    EXPECT_EQ(of.stats().refused, 0u);
    EXPECT_EQ(of.stats().used, 0u);
}

TEST(arena_mark, a_rewind_gives_back_what_came_after_and_keeps_what_came_before) {
    untouched_arena of(256);
    EXPECT_EQ(of.alloc(16), of.start());
    const flat_arena_mark mark = call_arena_get_mark(&of.arena);
    EXPECT_EQ(of.alloc(100), of.start() + 16);
    EXPECT_EQ(of.alloc(100), of.start() + 128);
    EXPECT_EQ(flat_arena_rewind(&of.arena, mark), FLAT_OK);
    EXPECT_EQ(of.stats().used, 16u);
    EXPECT_EQ(of.alloc(240), of.start() + 16);
    EXPECT_EQ(flat_arena_rewind(&of.arena, mark), FLAT_OK) << "a mark serves more than once";
    EXPECT_EQ(of.stats().used, 16u);
}

TEST(arena_mark, marks_nest) {
    untouched_arena of(1024);
    std::vector<flat_arena_mark> marks;
    for (int i = 0; i < 10; i++) {
        marks.push_back(call_arena_get_mark(&of.arena));
        ASSERT_NE(of.alloc(64), nullptr);
    }
    for (std::size_t i = 10; i-- > 0;) {
        ASSERT_EQ(flat_arena_rewind(&of.arena, marks[i]), FLAT_OK);
        ASSERT_EQ(of.stats().used, 64 * i);
    }
}

TEST(arena_mark, one_above_the_cursor_is_refused_and_changes_nothing) {
    untouched_arena of(256);
    const flat_arena_mark outer = call_arena_get_mark(&of.arena);
    ASSERT_NE(of.alloc(64), nullptr);
    const flat_arena_mark inner = call_arena_get_mark(&of.arena);
    ASSERT_EQ(flat_arena_rewind(&of.arena, outer), FLAT_OK);
    EXPECT_EQ(flat_arena_rewind(&of.arena, inner), FLAT_INVALID_ARGUMENT);
    ASSERT_NE(of.alloc(1, 63), nullptr);
    EXPECT_EQ(flat_arena_rewind(&of.arena, inner), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(of.stats().used, 63u);
    flat_arena_reset(&of.arena);
    EXPECT_EQ(flat_arena_rewind(&of.arena, inner), FLAT_INVALID_ARGUMENT);
}

TEST(arena_mark, another_arenas_is_refused_also_where_the_memories_meet) {
    untouched_arena of(256);
    flat_arena lower, upper;
    ASSERT_EQ(flat_arena_init(&lower, {of.start(), 128}), FLAT_OK);
    ASSERT_EQ(flat_arena_init(&upper, {of.start() + 128, 128}), FLAT_OK);
    ASSERT_NE(call_arena_alloc(&lower, 128), nullptr);
    ASSERT_NE(call_arena_alloc(&upper, 128), nullptr);
    EXPECT_EQ(flat_arena_rewind(&upper, call_arena_get_mark(&lower)), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_arena_rewind(&lower, call_arena_get_mark(&upper)), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_arena_rewind(&lower, flat_arena_mark{}), FLAT_INVALID_ARGUMENT) << "a mark that nobody took";
    flat_arena_stats stats;
    flat_arena_get_stats(&upper, &stats);
    EXPECT_EQ(stats.used, 128u);
}

TEST(arena_reset, gives_back_everything) {
    untouched_arena of(256);
    ASSERT_NE(of.alloc(256), nullptr);
    flat_arena_reset(&of.arena);
    EXPECT_EQ(of.stats().used, 0u);
    EXPECT_EQ(of.alloc(256), of.start());
}

TEST(arena_resize, the_last_block_grows_and_shrinks_where_it_lies) {
    untouched_arena of(256);
    ASSERT_NE(of.alloc(16), nullptr);
    char *block = of.alloc(10);
    EXPECT_TRUE(flat_arena_resize(&of.arena, block, 10, 200));
    EXPECT_EQ(of.stats().used, 216u);
    EXPECT_TRUE(flat_arena_resize(&of.arena, block, 200, 240)) << "to the last byte";
    EXPECT_EQ(of.alloc(1, 1), nullptr);
    EXPECT_TRUE(flat_arena_resize(&of.arena, block, 240, 240));
    EXPECT_TRUE(flat_arena_resize(&of.arena, block, 240, 3));
    EXPECT_EQ(of.alloc(1, 1), block + 3);
}

TEST(arena_resize, no_further_than_the_arena_and_then_nothing_changes) {
    untouched_arena of(256);
    char *block = of.alloc(16);
    for (std::size_t size : {std::size_t{257}, std::size_t{272}, largest_power, SIZE_MAX - 15, SIZE_MAX}) {
        EXPECT_FALSE(flat_arena_resize(&of.arena, block, 16, size));
        EXPECT_EQ(of.stats().used, 16u);
    }
    EXPECT_EQ(of.stats().refused, 5u);
    EXPECT_TRUE(flat_arena_resize(&of.arena, block, 16, 256));
}

TEST(arena_resize, only_the_last_block_and_only_at_its_true_size) {
    untouched_arena of(256);
    char *first = of.alloc(16), *second = of.alloc(16), *third = of.alloc(20);
    EXPECT_FALSE(flat_arena_resize(&of.arena, first, 16, 8));
    EXPECT_FALSE(flat_arena_resize(&of.arena, second, 16, 20));
    EXPECT_FALSE(flat_arena_resize(&of.arena, third, 16, 20)) << "it is longer";
    EXPECT_FALSE(flat_arena_resize(&of.arena, third, 21, 20)) << "it is shorter";
    EXPECT_FALSE(flat_arena_resize(&of.arena, third + 4, 20, 4));
    EXPECT_FALSE(flat_arena_resize(&of.arena, first - 16, 68, 4)) << "begins before the arena";
    EXPECT_FALSE(flat_arena_resize(&of.arena, third + 40, SIZE_MAX - 19, 4)) << "wraps around to the cursor";
    EXPECT_FALSE(flat_arena_resize(&of.arena, nullptr, 0, 4));
    EXPECT_EQ(of.stats().used, 52u);
    EXPECT_EQ(of.stats().refused, 0u) << "none of these was a matter of room";
}

TEST(arena_resize, size_0_counts_as_1) {
    untouched_arena of(64);
    char *block = of.alloc(0);
    EXPECT_TRUE(flat_arena_resize(&of.arena, block, 0, 30));
    EXPECT_TRUE(flat_arena_resize(&of.arena, block, 30, 0));
    EXPECT_EQ(of.stats().used, 1u);
    EXPECT_TRUE(flat_arena_resize(&of.arena, block, 1, 2));
}

TEST(arena_owns, its_memory_handed_out_or_not) {
    untouched_arena of(256);
    ASSERT_NE(of.alloc(16), nullptr);
    for (const char *inside : {of.start(), of.start() + 15, of.start() + 16, of.start() + 255}) {
        EXPECT_TRUE(call_arena_owns(&of.arena, inside));
    }
    for (const char *outside : {of.start() - 1, of.start() + 256}) EXPECT_FALSE(call_arena_owns(&of.arena, outside));
    EXPECT_FALSE(call_arena_owns(&of.arena, nullptr));
    EXPECT_FALSE(call_arena_owns(&of.arena, &of));
    EXPECT_FALSE(call_arena_owns(&of.arena, at(UINTPTR_MAX)));
}

TEST(arena_stats, the_high_water_mark_outlives_rewind_reset_and_shrinking) {
    untouched_arena of(1024);
    char *block = of.alloc(100);
    EXPECT_EQ(of.stats().high_water, 100u);
    ASSERT_TRUE(flat_arena_resize(&of.arena, block, 100, 10));
    EXPECT_EQ(of.stats().high_water, 100u);
    const flat_arena_mark mark = call_arena_get_mark(&of.arena);
    ASSERT_NE(of.alloc(300), nullptr);
    ASSERT_EQ(flat_arena_rewind(&of.arena, mark), FLAT_OK);
    EXPECT_EQ(of.stats().high_water, 316u);
    ASSERT_NE(of.alloc(400), nullptr);
    flat_arena_reset(&of.arena);
    ASSERT_NE(of.alloc(8), nullptr);
    EXPECT_EQ(of.stats().high_water, 416u);
    EXPECT_EQ(of.stats().used, 8u);
    EXPECT_EQ(of.stats().needed, 416u) << "nothing was refused";
}

TEST(arena_stats, say_how_many_bytes_would_have_been_enough) {
    untouched_arena of(1024);
    ASSERT_NE(of.alloc(1008), nullptr);
    EXPECT_EQ(of.alloc(640), nullptr);
    EXPECT_EQ(of.stats().needed, 1008u + 640);
    EXPECT_EQ(of.alloc(320), nullptr);
    EXPECT_EQ(of.stats().needed, 1008u + 640 + 320);
    ASSERT_NE(of.alloc(16), nullptr) << "this one is served, and comes on top";
    EXPECT_EQ(of.stats().needed, 1008u + 640 + 320 + 16);
    EXPECT_EQ(of.stats().refused, 2u);
    EXPECT_EQ(of.stats().high_water, 1024u);
    flat_arena_reset(&of.arena);
    ASSERT_NE(of.alloc(1024), nullptr);
    EXPECT_EQ(of.stats().needed, 1008u + 640 + 320 + 16) << "the most that was ever needed at once";
    EXPECT_EQ(of.alloc(1024), nullptr);
    EXPECT_EQ(of.stats().needed, 2048u);
}

TEST(arena_stats, the_bytes_needed_are_less_than_a_granule_too_many_for_each_refused_request) {
    untouched_arena of(64);
    ASSERT_NE(of.alloc(1, 63), nullptr);
    for (std::size_t refused = 1; refused <= 10; refused++) {
        ASSERT_EQ(of.alloc(1, 17), nullptr);
        ASSERT_GE(of.stats().needed, 63 + 17 * refused);
        ASSERT_LE(of.stats().needed, 63 + 17 * refused + 15 * refused);
    }
}

TEST(arena_stats, what_was_refused_behind_a_mark_is_given_back_with_it) {
    untouched_arena of(256);
    ASSERT_NE(of.alloc(16), nullptr);
    EXPECT_EQ(of.alloc(256), nullptr);
    const flat_arena_mark mark = call_arena_get_mark(&of.arena);
    for (std::size_t size = 512; size < 592; size += 16) {
        EXPECT_EQ(of.alloc(size), nullptr);
        ASSERT_NE(of.alloc(32), nullptr);
        EXPECT_EQ(of.stats().needed, 16u + 256 + size + 32) << "no more than this round's";
        ASSERT_EQ(flat_arena_rewind(&of.arena, mark), FLAT_OK);
    }
    EXPECT_EQ(of.stats().refused, 6u);
}

TEST(arena_stats, a_growth_that_was_refused_counts_by_what_it_lacks) {
    untouched_arena of(256);
    char *block = of.alloc(200);
    EXPECT_FALSE(flat_arena_resize(&of.arena, block, 200, 520));
    EXPECT_EQ(of.stats().needed, 520u);
    EXPECT_EQ(of.stats().refused, 1u);
}

TEST(arena_stats, more_than_any_arena_has_is_size_max) {
    for (std::size_t size : {SIZE_MAX, largest_power, FLAT_ARENA_MAX_BYTES}) {
        untouched_arena of(256);
        ASSERT_NE(of.alloc(16), nullptr);
        EXPECT_EQ(of.alloc(size), nullptr);
        EXPECT_EQ(of.stats().needed, SIZE_MAX);
        for (int i = 0; i < 100; i++) EXPECT_EQ(of.alloc(SIZE_MAX), nullptr);
        EXPECT_EQ(of.stats().needed, SIZE_MAX);
        ASSERT_NE(of.alloc(64, 16), nullptr);
        EXPECT_EQ(of.stats().needed, SIZE_MAX);
    }
    untouched_arena of(256);
    EXPECT_EQ(of.alloc(FLAT_ARENA_MAX_BYTES - 15), nullptr);
    EXPECT_EQ(of.stats().needed, FLAT_ARENA_MAX_BYTES - 15) << "the most there can be";
}

TEST(arena_destroy, leaves_the_callers_memory_and_an_arena_of_size_0) {
    alignas(16) char memory[64];
    flat_arena arena;
    ASSERT_EQ(flat_arena_init(&arena, {memory, sizeof memory}), FLAT_OK);
    ASSERT_NE(call_arena_alloc(&arena, 1), nullptr);
    flat_arena_destroy(&arena);
    std::memset(memory, 0x5a, sizeof memory);
    EXPECT_EQ(call_arena_alloc(&arena, 1), nullptr);
    EXPECT_FALSE(call_arena_owns(&arena, memory));
    flat_arena_destroy(&arena);
}

TEST(arena_in_cpp, the_inlined_functions_are_the_same_ones) {
    untouched_arena of(256);
    EXPECT_EQ(flat_arena_alloc(&of.arena, 10), of.start());
    EXPECT_EQ(flat_arena_aligned_alloc(&of.arena, 1, 1), of.start() + 10);
    EXPECT_EQ(flat_arena_aligned_alloc(&of.arena, 64, 1), of.start() + 64);
    const flat_arena_mark mark = flat_arena_get_mark(&of.arena);
    EXPECT_EQ(flat_arena_alloc(&of.arena, 176), of.start() + 80);
    EXPECT_EQ(flat_arena_alloc(&of.arena, 176), nullptr);
    EXPECT_EQ(flat_arena_rewind(&of.arena, mark), FLAT_OK);
    EXPECT_EQ(of.stats().refused, 1u);
}
