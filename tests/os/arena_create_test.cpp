// arena_create.c: the arena that brings its own memory.
#include "os/system_memory.hpp"
#include "os/trap.hpp"

#include <flatline/arena.h>

#include <gtest/gtest.h>

#include <cstring>

#include "../../src/os/faults.h"

namespace {

constexpr flat_region_options lazily = [] {
    flat_region_options options{};
    options.lazy = true;
    return options;
}();

class created_arena {
  public:
    explicit created_arena(std::size_t bytes, const flat_region_options *region = nullptr) {
        EXPECT_EQ(flat_arena_create(&arena, bytes, region), FLAT_OK);
    }
    created_arena(const created_arena &) = delete;
    created_arena &operator=(const created_arena &) = delete;
    ~created_arena() { flat_arena_destroy(&arena); }

    char *alloc(std::size_t alignment, std::size_t size) {
        return static_cast<char *>(flat_arena_aligned_alloc(&arena, alignment, size));
    }
    std::size_t bytes() const {
        flat_arena_stats stats{};
        flat_arena_get_stats(&arena, &stats);
        return stats.bytes;
    }
    flat_arena arena{};
};

// What create says; an arena that it refused must be as it was.
flat_status status_of(std::size_t bytes) {
    flat_arena arena, before;
    std::memset(&arena, 0x5a, sizeof arena);
    std::memcpy(&before, &arena, sizeof arena);
    const flat_status status = flat_arena_create(&arena, bytes, &lazily);
    if (status == FLAT_OK) {
        flat_arena_destroy(&arena);
    } else {
        EXPECT_EQ(std::memcmp(&arena, &before, sizeof arena), 0) << "a refused call changed its result";
    }
    return status;
}

} // namespace

TEST(arena_create, has_the_bytes_asked_for_in_whole_granules) {
    for (std::size_t bytes : {1u, 15u, 16u, 17u, 4095u, 4096u, 100000u}) {
        created_arena of(bytes);
        EXPECT_EQ(of.bytes(), (bytes + 15) / 16 * 16);
        char *all = of.alloc(1, of.bytes());
        ASSERT_NE(all, nullptr);
        std::memset(all, 0x5a, of.bytes());
        EXPECT_EQ(of.alloc(1, 1), nullptr);
    }
}

TEST(arena_create, the_byte_behind_it_is_the_guard) {
    for (std::size_t bytes : {16u, 1000u, 4096u, 65552u}) {
        created_arena of(bytes);
        char *all = of.alloc(1, of.bytes());
        test::write(all + of.bytes() - 1);
        EXPECT_TRAP(test::write(all + of.bytes()));
        EXPECT_TRAP(test::read(all + of.bytes()));
    }
}

TEST(arena_create, faults_no_page_in_after_it_returns) {
    if (!test::faults_are_ours) GTEST_SKIP() << "ThreadSanitizer faults pages of its own";
    constexpr std::size_t pages = 2000;
    created_arena of(pages * 4096);
    const flat_faults before = flat_faults_now();
    while (char *block = of.alloc(1, 4096)) test::write(block);
    // Not 0: what runs beneath this program, an emulator or a sanitizer, has pages of its own.
    EXPECT_LT(flat_faults_now().minor - before.minor, pages / 4);
}

TEST(arena_create, takes_no_memory_before_it_is_touched_where_it_is_lazy) {
    created_arena of(std::size_t{64} << 20, &lazily);
    char *block = of.alloc(4096, 1 << 20);
    EXPECT_EQ(test::resident_pages(block, 1 << 20), 0u);
}

TEST(arena_create, an_arena_of_size_0_maps_nothing_and_refuses_everything) {
    bool nothing = false; // in one of several tries: an emulator beneath this program maps memory of its own
    for (int i = 0; i < 20; i++) {
        const std::size_t before = test::mapped_bytes();
        created_arena of(0);
        nothing = nothing || test::mapped_bytes() == before;
        EXPECT_EQ(of.bytes(), 0u);
        EXPECT_EQ(of.alloc(1, 0), nullptr);
    }
    EXPECT_TRUE(nothing);
}

TEST(arena_create, destroy_gives_everything_back_and_leaves_an_arena_of_size_0) {
    flat_arena arena;
    ASSERT_EQ(flat_arena_create(&arena, 100000, nullptr), FLAT_OK);
    const void *block = flat_arena_alloc(&arena, 100000);
    ASSERT_TRUE(test::is_mapped(block, 100000));
    flat_arena_destroy(&arena);
    EXPECT_FALSE(test::is_mapped(block, 100000));
    EXPECT_EQ(flat_arena_alloc(&arena, 1), nullptr);
    flat_arena_destroy(&arena);
    flat_arena_destroy(nullptr);
}

TEST(arena_create, says_why_it_is_refused) {
    EXPECT_EQ(flat_arena_create(nullptr, 4096, nullptr), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of(FLAT_ARENA_MAX_BYTES + 1), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of(SIZE_MAX), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of(FLAT_ARENA_MAX_BYTES), FLAT_INVALID_ARGUMENT) << "no region has so many in whole granules";
    EXPECT_EQ(status_of(FLAT_ARENA_MAX_BYTES - 15), FLAT_OUT_OF_MEMORY);
    EXPECT_EQ(status_of(4096), FLAT_OK);
}

TEST(arena_create, a_refused_arena_maps_nothing) {
    const std::size_t before = test::mapped_bytes();
    for (int i = 0; i < 100; i++) ASSERT_EQ(status_of(FLAT_ARENA_MAX_BYTES - 15), FLAT_OUT_OF_MEMORY);
    EXPECT_LT(test::mapped_bytes(), before + (std::size_t{64} << 20));
}
