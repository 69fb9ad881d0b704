// arena.h: what AddressSanitizer is told of an arena's memory.
#include "core/environment.hpp"
#include "core/mapping.hpp"

#include <flatline/arena.h>

#include <gtest/gtest.h>

#include <cstring>

namespace {

// Reads and writes that the compiler neither drops nor judges.
void read(const char *address) { (void)*const_cast<const volatile char *>(address); }
void write(char *address) { *const_cast<volatile char *>(address) = 1; }

class arena_instrument : public testing::Test {
  protected:
    void SetUp() override {
        static_assert(test::address_sanitizer, "tests/core/CMakeLists.txt builds this file in such builds only");
        testing::FLAGS_gtest_death_test_style = "fast";
        ASSERT_EQ(flat_arena_init(&arena, memory.memory()), FLAT_OK);
    }
    void TearDown() override { flat_arena_destroy(&arena); }
    char *alloc(std::size_t size) { return static_cast<char *>(flat_arena_alloc(&arena, size)); }

    test::mapping memory{4096, 4096};
    flat_arena arena{};
};

} // namespace

TEST_F(arena_instrument, memory_that_was_not_handed_out_dies) {
    EXPECT_DEATH(read(memory.start()), "AddressSanitizer: use-after-poison");
    EXPECT_DEATH(write(memory.start() + 4095), "AddressSanitizer: use-after-poison");
}

TEST_F(arena_instrument, a_block_is_open_for_exactly_its_size) {
    for (std::size_t size : {1u, 7u, 8u, 13u, 16u, 33u, 100u}) {
        char *block = alloc(size);
        std::memset(block, 0, size);
        EXPECT_DEATH(write(block + size), "AddressSanitizer: use-after-poison") << size;
    }
}

TEST_F(arena_instrument, what_an_alignment_skips_stays_closed) {
    char *first = alloc(10);
    char *second = static_cast<char *>(flat_arena_aligned_alloc(&arena, 64, 10));
    std::memset(second, 0, 10);
    EXPECT_DEATH(read(first + 10), "AddressSanitizer: use-after-poison");
    EXPECT_DEATH(read(second - 1), "AddressSanitizer: use-after-poison");
}

TEST_F(arena_instrument, a_use_after_rewind_dies_and_what_came_before_the_mark_lives) {
    char *kept = alloc(20);
    const flat_arena_mark mark = flat_arena_get_mark(&arena);
    char *given_back = alloc(100);
    ASSERT_EQ(flat_arena_rewind(&arena, mark), FLAT_OK);
    std::memset(kept, 0, 20);
    EXPECT_DEATH(write(kept + 20), "AddressSanitizer: use-after-poison");
    EXPECT_DEATH(read(given_back), "AddressSanitizer: use-after-poison");
    EXPECT_DEATH(read(given_back + 99), "AddressSanitizer: use-after-poison");
}

TEST_F(arena_instrument, a_smaller_second_tenant_does_not_inherit_the_firsts_bytes) {
    char *first = alloc(100);
    flat_arena_reset(&arena);
    EXPECT_DEATH(read(first), "AddressSanitizer: use-after-poison");
    char *second = alloc(9);
    ASSERT_EQ(second, first);
    write(second + 8);
    EXPECT_DEATH(write(second + 9), "AddressSanitizer: use-after-poison");
}

TEST_F(arena_instrument, resize_opens_what_a_block_gains_and_closes_what_it_loses) {
    char *block = alloc(20);
    ASSERT_TRUE(flat_arena_resize(&arena, block, 20, 50));
    std::memset(block, 0, 50);
    EXPECT_DEATH(write(block + 50), "AddressSanitizer: use-after-poison");
    ASSERT_TRUE(flat_arena_resize(&arena, block, 50, 13));
    std::memset(block, 0, 13);
    EXPECT_DEATH(write(block + 13), "AddressSanitizer: use-after-poison");
    EXPECT_DEATH(write(block + 49), "AddressSanitizer: use-after-poison");
}

TEST_F(arena_instrument, refused_calls_leave_everything_as_it_is) {
    char *block = alloc(20);
    EXPECT_EQ(alloc(5000), nullptr);
    EXPECT_FALSE(flat_arena_resize(&arena, block, 20, 5000));
    EXPECT_EQ(flat_arena_rewind(&arena, flat_arena_mark{}), FLAT_INVALID_ARGUMENT);
    std::memset(block, 0, 20);
    EXPECT_DEATH(write(block + 20), "AddressSanitizer: use-after-poison");
}

TEST_F(arena_instrument, destroy_opens_the_memory_for_its_owner) {
    ASSERT_NE(alloc(20), nullptr);
    flat_arena_destroy(&arena);
    std::memset(memory.start(), 0, 4096);
}
