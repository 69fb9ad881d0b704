// pool_create.c: the pool that brings its own memory.
#include "os/system_memory.hpp"
#include "os/trap.hpp"

#include <flatline/pool.h>
#include <flatline/region.h>

#include <gtest/gtest.h>

#include <cstring>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "../../src/os/faults.h"

namespace {

// Block memory of whole pages, so that both of its ends are guards.
const std::vector<flat_class> whole_pages = {{4096, 4}};
const std::vector<flat_class> mixed = {{16, 1000}, {48, 500}, {1024, 100}, {5000, 20}};

flat_pool *create(const std::vector<flat_class> &classes, const flat_region_options *region = nullptr) {
    flat_pool_options options{};
    options.classes = classes.data();
    options.class_count = classes.size();
    flat_pool *pool = nullptr;
    EXPECT_EQ(flat_pool_create(&pool, &options, region), FLAT_OK);
    return pool;
}

} // namespace

TEST(pool_create, serves_blocks_that_can_be_written) {
    flat_pool *pool = create(mixed);
    for (const flat_class &c : mixed) {
        for (std::size_t i = 0; i < c.block_count; i++) {
            void *block = flat_pool_alloc(pool, c.block_size);
            ASSERT_NE(block, nullptr);
            std::memset(block, 0x5a, c.block_size);
        }
        EXPECT_EQ(flat_pool_alloc(pool, c.block_size), nullptr);
    }
    EXPECT_EQ(flat_pool_check(pool), FLAT_OK);
    flat_pool_destroy(pool);
}

TEST(pool_create, faults_no_page_in_after_it_returns) {
    if (!test::faults_are_ours) GTEST_SKIP() << "ThreadSanitizer faults pages of its own";
    constexpr std::size_t pages = 2000;
    flat_pool *pool = create({{4096, pages}});
    const flat_faults before = flat_faults_now();
    while (void *block = flat_pool_alloc(pool, 4096)) test::write(block);
    // Not 0: what runs beneath this program, an emulator or a sanitizer, has pages of its own.
    EXPECT_LT(flat_faults_now().minor - before.minor, pages / 4);
    flat_pool_destroy(pool);
}

TEST(pool_create, a_write_above_the_blocks_dies) {
    flat_pool *pool = create(whole_pages);
    char *last = nullptr;
    for (int i = 0; i < 4; i++) last = static_cast<char *>(flat_pool_alloc(pool, 4096));
    test::write(last + 4095);
    EXPECT_TRAP(test::write(last + 4096));
    EXPECT_TRAP(test::read(last + 4096));
    flat_pool_destroy(pool);
}

TEST(pool_create, a_write_below_the_blocks_dies) {
    flat_pool *pool = create(whole_pages);
    char *first = static_cast<char *>(flat_pool_alloc(pool, 4096));
    test::write(first);
    EXPECT_TRAP(test::write(first - 1));
    EXPECT_TRAP(test::read(first - 1));
    flat_pool_destroy(pool);
}

TEST(pool_create, destroy_gives_everything_back) {
    flat_pool *warm = create(mixed);
    flat_pool_destroy(warm);
    const std::size_t before = test::mapped_bytes();
    flat_pool *pool = create({{4096, 10000}});
    char *block = static_cast<char *>(flat_pool_alloc(pool, 4096));
    flat_pool_destroy(pool);
    EXPECT_FALSE(test::is_mapped(block, 4096));
    EXPECT_FALSE(test::is_mapped(pool, 1));
    EXPECT_LT(test::mapped_bytes(), before + (std::size_t{16} << 20));
    flat_pool_destroy(nullptr);
}

TEST(pool_create, refuses_invalid_options_and_then_maps_nothing) {
    flat_pool_options options{};
    flat_pool *pool = reinterpret_cast<flat_pool *>(&options);
    EXPECT_EQ(flat_pool_create(&pool, &options, nullptr), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(pool, nullptr);
    EXPECT_EQ(flat_pool_create(&pool, nullptr, nullptr), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_pool_create(nullptr, &options, nullptr), FLAT_INVALID_ARGUMENT);
}

TEST(pool_create, says_when_the_system_has_no_room_for_the_blocks) {
    const flat_class c{FLAT_POOL_MAX_BLOCK_SIZE, FLAT_POOL_MAX_BLOCK_COUNT / 64}; // 2^48 bytes
    flat_pool_options options{};
    options.classes = &c;
    options.class_count = 1;
    const flat_region_options lazily{.lazy = true, .base_pages = false};
    flat_pool *pool = reinterpret_cast<flat_pool *>(&options);
    const std::size_t before = test::mapped_bytes();
    for (int i = 0; i < 100; i++) ASSERT_EQ(flat_pool_create(&pool, &options, &lazily), FLAT_OUT_OF_MEMORY);
    EXPECT_EQ(pool, nullptr);
    EXPECT_LT(test::mapped_bytes(), before + (std::size_t{32} << 20)) << "the metadata's region was kept";
}

TEST(pool_create, takes_no_memory_for_blocks_before_they_are_touched_where_it_is_lazy) {
    const flat_region_options lazily{.lazy = true, .base_pages = false};
    flat_pool *pool = create({{1 << 20, 64}}, &lazily);
    char *block = static_cast<char *>(flat_pool_alloc(pool, 1 << 20));
    EXPECT_EQ(test::resident_pages(block, 1 << 20), 0u);
    flat_pool_destroy(pool);
}
