// pool_create.c: the pool that brings its own memory.
#include "os/child.hpp"
#include "os/system_memory.hpp"
#include "os/test_region.hpp"
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

const flat_region_options lazily = test::options_with([](flat_region_options &o) { o.lazy = true; });

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
    flat_pool *pool = reinterpret_cast<flat_pool *>(&options);
    const std::size_t before = test::mapped_bytes();
    for (int i = 0; i < 100; i++) ASSERT_EQ(flat_pool_create(&pool, &options, &lazily), FLAT_OUT_OF_MEMORY);
    EXPECT_EQ(pool, nullptr);
    EXPECT_LT(test::mapped_bytes(), before + (std::size_t{32} << 20)) << "the metadata's region was kept";
}

TEST(pool_create, takes_no_memory_for_blocks_before_they_are_touched_where_it_is_lazy) {
    flat_pool *pool = create({{1 << 20, 64}}, &lazily);
    char *block = static_cast<char *>(flat_pool_alloc(pool, 1 << 20));
    EXPECT_EQ(test::resident_pages(block, 1 << 20), 0u);
    flat_pool_destroy(pool);
}

TEST(pool_create, shares_the_blocks_with_another_process_and_the_metadata_with_nobody) {
    const flat_region_options shared = test::options_with([](flat_region_options &o) { o.shared = true; });
    flat_pool *pool = create(mixed, &shared);
    const flat_region *region = flat_pool_region(pool);
    ASSERT_NE(region, nullptr);
    EXPECT_TRUE(region->shared);
    char *const block = static_cast<char *>(flat_pool_alloc(pool, 48));
    ASSERT_NE(block, nullptr);
    const std::size_t offset = flat_region_offset(region, block);
    ASSERT_NE(offset, FLAT_NO_OFFSET);
    EXPECT_EQ(test::in_child([&] {
                  flat_region there{};
                  DEMAND(flat_region_map(&there, region->descriptor, 0, 0, nullptr) == FLAT_OK);
                  DEMAND(there.start != region->start && there.size == region->size);
                  std::memset(flat_region_address(&there, offset), 'x', 48);
                  // This process's copy of the pool: what it does stays here.
                  DEMAND(flat_pool_free(pool, block) == FLAT_OK);
                  return 0;
              }),
              0);
    EXPECT_EQ(block[47], 'x');
    EXPECT_EQ(flat_pool_usable_size(pool, block), 48u);
    EXPECT_EQ(flat_pool_free(pool, block), FLAT_OK);
    flat_pool_destroy(pool);
}

TEST(pool_create, describes_where_its_blocks_lie) {
    flat_pool *pool = create(mixed);
    const flat_region *region = flat_pool_region(pool);
    ASSERT_NE(region, nullptr);
    flat_region_facts facts{};
    ASSERT_EQ(flat_region_report(region, &facts), FLAT_OK);
    EXPECT_EQ(facts.resident, facts.bytes);
    void *const block = flat_pool_alloc(pool, 5000);
    EXPECT_NE(flat_region_offset(region, block), FLAT_NO_OFFSET);
    EXPECT_EQ(flat_region_offset(region, pool), FLAT_NO_OFFSET);
    flat_pool_destroy(pool);
}

TEST(pool_create, says_why_a_region_was_refused) {
    char message[200] = "";
    flat_region_options region{};
    region.bound = true;
    region.node = 1u << 20;
    region.message = message;
    region.message_size = sizeof message;
    flat_pool_options options{};
    options.classes = whole_pages.data();
    options.class_count = whole_pages.size();
    flat_pool *pool = nullptr;
    EXPECT_EQ(flat_pool_create(&pool, &options, &region), FLAT_UNAVAILABLE);
    EXPECT_EQ(pool, nullptr);
    EXPECT_NE(std::strstr(message, "NUMA node 1048576"), nullptr) << message;
}
