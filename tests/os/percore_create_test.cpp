// percore_create.c: the set that brings its own memory.
#include "os/child.hpp"
#include "os/system_memory.hpp"
#include "os/test_region.hpp"
#include "os/trap.hpp"

#include <flatline/percore.h>
#include <flatline/region.h>

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace {

// Block memory of whole pages, so that both of its ends are guards.
const std::vector<flat_class> whole_pages = {{4096, 4}};
const std::vector<flat_class> mixed = {{16, 1000}, {48, 500}, {1024, 100}, {5000, 20}};

const flat_region_options lazily = test::options_with([](flat_region_options &o) { o.lazy = true; });

flat_percore_options options_for(const std::vector<flat_class> &classes, std::size_t shards = 3) {
    return {classes.data(), classes.size(), shards};
}

flat_percore *create(const std::vector<flat_class> &classes, const flat_region_options *region = nullptr) {
    const flat_percore_options options = options_for(classes);
    flat_percore *set = nullptr;
    EXPECT_EQ(flat_percore_create(&set, &options, region), FLAT_OK);
    return set;
}

std::vector<void *> take_all(flat_pool *shard, std::size_t size) {
    std::vector<void *> blocks;
    while (void *block = flat_percore_alloc(shard, size)) blocks.push_back(block);
    return blocks;
}

} // namespace

TEST(percore_create, serves_blocks_that_can_be_written) {
    flat_percore *set = create(mixed);
    ASSERT_EQ(flat_percore_shard_count(set), 3u);
    for (std::size_t s = 0; s < 3; s++) {
        flat_pool *shard = flat_percore_shard(set, s);
        EXPECT_EQ(flat_percore_of(shard), set);
        for (const flat_class &c : mixed) {
            const std::vector<void *> blocks = take_all(shard, c.block_size);
            ASSERT_EQ(blocks.size(), c.block_count);
            for (void *block : blocks) {
                std::memset(block, 0x5a, c.block_size);
                ASSERT_EQ(flat_percore_free(set, block), FLAT_OK);
            }
        }
        EXPECT_EQ(flat_percore_check(shard), FLAT_OK);
    }
    flat_percore_destroy(set);
}

TEST(percore_create, writes_around_the_blocks_die) {
    flat_percore *set = create(whole_pages);
    char *const first = static_cast<char *>(flat_percore_alloc(flat_percore_shard(set, 0), 4096));
    char *const last = static_cast<char *>(take_all(flat_percore_shard(set, 2), 4096).back());
    test::write(first);
    test::write(last + 4095);
    EXPECT_TRAP(test::write(first - 1));
    EXPECT_TRAP(test::write(last + 4096));
    flat_percore_destroy(set);
}

TEST(percore_create, destroy_gives_everything_back) {
    flat_percore *warm = create(mixed);
    flat_percore_destroy(warm);
    const std::size_t before = test::mapped_bytes();
    flat_percore *set = create({{4096, 3000}});
    char *const block = static_cast<char *>(flat_percore_alloc(flat_percore_shard(set, 1), 4096));
    flat_percore_destroy(set);
    EXPECT_FALSE(test::is_mapped(block, 4096));
    EXPECT_FALSE(test::is_mapped(set, 1));
    EXPECT_LT(test::mapped_bytes(), before + (std::size_t{16} << 20));
    flat_percore_destroy(nullptr);
}

TEST(percore_create, refuses_invalid_options_and_then_maps_nothing) {
    flat_percore_options options = options_for(mixed, 0);
    flat_percore *set = reinterpret_cast<flat_percore *>(&options);
    EXPECT_EQ(flat_percore_create(&set, &options, nullptr), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(set, nullptr);
    set = reinterpret_cast<flat_percore *>(&options);
    EXPECT_EQ(flat_percore_create(&set, nullptr, nullptr), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(set, nullptr);
    options = options_for(mixed);
    EXPECT_EQ(flat_percore_create(nullptr, &options, nullptr), FLAT_INVALID_ARGUMENT);
}

TEST(percore_create, says_when_the_system_has_no_room_for_the_blocks) {
    const std::vector<flat_class> huge = {{FLAT_POOL_MAX_BLOCK_SIZE, FLAT_PERCORE_MAX_BLOCK_COUNT / 2}}; // 2^48 bytes
    const flat_percore_options options = options_for(huge, 1);
    flat_percore *set = reinterpret_cast<flat_percore *>(&set);
    const std::size_t before = test::mapped_bytes();
    for (int i = 0; i < 20; i++) ASSERT_EQ(flat_percore_create(&set, &options, &lazily), FLAT_OUT_OF_MEMORY);
    EXPECT_EQ(set, nullptr);
    EXPECT_LT(test::mapped_bytes(), before + (std::size_t{16} << 20)) << "the metadata's region was kept";
}

TEST(percore_create, takes_no_memory_for_blocks_before_they_are_touched_where_it_is_lazy) {
    flat_percore *set = create({{1 << 20, 8}}, &lazily);
    void *block = flat_percore_alloc(flat_percore_shard(set, 2), 1 << 20);
    EXPECT_EQ(test::resident_pages(static_cast<char *>(block), 1 << 20), 0u);
    EXPECT_EQ(flat_percore_free(set, block), FLAT_OK);
    EXPECT_EQ(test::resident_pages(static_cast<char *>(block), 1 << 20), 0u);
    flat_percore_destroy(set);
}

TEST(percore_create, describes_where_its_blocks_lie) {
    flat_percore *set = create(mixed);
    const flat_region *region = flat_percore_region(set);
    ASSERT_NE(region, nullptr);
    flat_region_facts facts{};
    ASSERT_EQ(flat_region_report(region, &facts), FLAT_OK);
    EXPECT_EQ(facts.resident, facts.bytes) << "prefaulted, unless the options say otherwise";
    for (std::size_t s = 0; s < 3; s++) {
        void *const block = flat_percore_alloc(flat_percore_shard(set, s), 5000);
        EXPECT_NE(flat_region_offset(region, block), FLAT_NO_OFFSET);
        EXPECT_EQ(flat_region_offset(region, flat_percore_shard(set, s)), FLAT_NO_OFFSET);
    }
    EXPECT_EQ(flat_percore_region(nullptr), nullptr);
    flat_percore_destroy(set);
}

TEST(percore_create, shares_the_blocks_with_another_process) {
    const flat_region_options shared = test::options_with([](flat_region_options &o) { o.shared = true; });
    flat_percore *set = create(mixed, &shared);
    const flat_region *region = flat_percore_region(set);
    ASSERT_NE(region, nullptr);
    char *const block = static_cast<char *>(flat_percore_alloc(flat_percore_shard(set, 1), 48));
    EXPECT_EQ(test::in_child([&] {
                  std::memset(block, 'x', 48);
                  // This process's copy of the metadata: what it does stays here.
                  DEMAND(flat_percore_free(set, block) == FLAT_OK);
                  return 0;
              }),
              0);
    EXPECT_EQ(flat_pool_usable_size(flat_percore_shard(set, 1), block), 48u);
    EXPECT_EQ(block[47], 'x');
    flat_percore_destroy(set);
}

TEST(percore_create, says_why_a_region_was_refused) {
    char message[200] = "";
    flat_region_options region{};
    region.bound = true;
    region.node = 1u << 20;
    region.message = message;
    region.message_size = sizeof message;
    const flat_percore_options options = options_for(whole_pages);
    flat_percore *set = reinterpret_cast<flat_percore *>(message);
    EXPECT_EQ(flat_percore_create(&set, &options, &region), FLAT_UNAVAILABLE);
    EXPECT_EQ(set, nullptr);
    EXPECT_NE(std::strstr(message, "NUMA node 1048576"), nullptr) << message;
}
