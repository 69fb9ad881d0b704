// The allocator behind a preloaded library, and the memory that serves while it is looked up.
extern "C" {
#include "preload/next.h"
}

#include <cstdint>
#include <cstring>

#include <gtest/gtest.h>

namespace {

TEST(next, knows_all_functions_of_the_allocator_and_the_operators_behind_it) {
    ASSERT_TRUE(next_is_ready());
#define EXPECT_KNOWN(member, name, result, parameters) EXPECT_NE(next.member, nullptr) << name;
    NEXT_OF_MALLOC(EXPECT_KNOWN)
    NEXT_OF_NEW(EXPECT_KNOWN)
    NEXT_OF_DELETE(EXPECT_KNOWN)
#undef EXPECT_KNOWN
    void *block = next.malloc(100);
    ASSERT_NE(block, nullptr);
    next.free(block);
    next_look_up_operators(__builtin_return_address(0));
    next.delete_one(next.new_one(10));
}

TEST(first_memory, is_zeroed_and_aligned_and_has_an_end) {
    std::size_t taken = 0;
    char *last = nullptr;
    for (std::size_t size = 1;; size = size % 300 + 7) {
        auto *block = static_cast<char *>(first_memory_take(size));
        if (block == nullptr) break;
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block) % 16, 0U);
        ASSERT_TRUE(last == nullptr || block > last);
        for (std::size_t i = 0; i < size; i++) ASSERT_EQ(block[i], 0);
        std::memset(block, 1, size);
        EXPECT_TRUE(first_memory_owns(block));
        taken += size;
        last = block;
    }
    EXPECT_LE(taken, 16384U);
    EXPECT_GT(taken, 14000U);
    EXPECT_EQ(first_memory_take(SIZE_MAX), nullptr);
    EXPECT_EQ(first_memory_take(SIZE_MAX - 14), nullptr);
    int outside = 0;
    EXPECT_FALSE(first_memory_owns(&outside));
    EXPECT_FALSE(first_memory_owns(nullptr));
    ASSERT_TRUE(next_is_ready());
    void *moved = nullptr;
    ASSERT_TRUE(first_memory_resizes(last, 100000, &moved));
    ASSERT_NE(moved, nullptr);
    EXPECT_EQ(*static_cast<char *>(moved), 1);
    EXPECT_FALSE(first_memory_owns(moved));
    next.free(moved);
    ASSERT_TRUE(first_memory_resizes_array(last, 1000, 100, &moved));
    ASSERT_NE(moved, nullptr);
    next.free(moved);
    ASSERT_TRUE(first_memory_resizes_array(last, SIZE_MAX / 2, 3, &moved));
    EXPECT_EQ(moved, nullptr);
    EXPECT_FALSE(first_memory_resizes(&outside, 10, &moved));
    EXPECT_FALSE(first_memory_resizes(nullptr, 10, &moved));
}

} // namespace
