// instrument.h: what AddressSanitizer is told of a set's blocks.
#include "core/environment.hpp"
#include "core/test_percore.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace {

using test::test_percore;

// Reads and writes that the compiler neither drops nor judges.
void read(const char *address) { (void)*const_cast<const volatile char *>(address); }
void write(char *address) { *const_cast<volatile char *>(address) = 1; }

class percore_instrument : public testing::Test {
  protected:
    void SetUp() override {
        static_assert(test::address_sanitizer, "tests/core/CMakeLists.txt builds this file in such builds only");
        testing::FLAGS_gtest_death_test_style = "fast";
    }
    test_percore set{{{48, 4}, {5000, 2}}, 2, PROT_READ | PROT_WRITE};

    char *alloc(std::size_t size) { return static_cast<char *>(flat_percore_alloc(set.shard(1), size)); }
};

} // namespace

TEST_F(percore_instrument, a_use_after_a_free_of_any_kind_dies) {
    char *const remote = alloc(48), *const local = alloc(48);
    write(remote + 47);
    ASSERT_EQ(flat_percore_free(set, remote), FLAT_OK);
    ASSERT_EQ(flat_percore_free_as(set.shard(1), local), FLAT_OK);
    for (char *block : {remote, local}) {
        EXPECT_DEATH(read(block), "AddressSanitizer: use-after-poison");
        EXPECT_DEATH(write(block + 47), "AddressSanitizer: use-after-poison");
    }
    ASSERT_EQ(flat_percore_flush(set.shard(1)), 1u);
    EXPECT_DEATH(read(remote), "AddressSanitizer: use-after-poison") << "collected, and free still";
}

TEST_F(percore_instrument, a_block_is_open_for_what_was_asked_for_however_it_came) {
    char *const fresh = alloc(30);
    std::memset(fresh, 0, 30);
    EXPECT_DEATH(write(fresh + 30), "AddressSanitizer: use-after-poison");
    for (int i = 0; i < 3; i++) ASSERT_NE(alloc(48), nullptr);
    ASSERT_EQ(flat_percore_free(set, fresh), FLAT_OK);
    ASSERT_EQ(alloc(9), fresh) << "collected";
    std::memset(fresh, 0, 9);
    EXPECT_DEATH(write(fresh + 9), "AddressSanitizer: use-after-poison");
    ASSERT_EQ(flat_percore_free_as(set.shard(1), fresh), FLAT_OK);
    ASSERT_EQ(flat_percore_aligned_alloc(set.shard(1), 16, 17), fresh) << "from the list";
    std::memset(fresh, 0, 17);
    EXPECT_DEATH(write(fresh + 17), "AddressSanitizer: use-after-poison");
}

TEST_F(percore_instrument, blocks_never_handed_out_die_in_every_shard) {
    char *const start = set.blocks().start();
    for (std::size_t s = 0; s < 2; s++) {
        EXPECT_DEATH(read(start + s * set.footprint().block_bytes / 2), "AddressSanitizer: use-after-poison");
    }
}

TEST_F(percore_instrument, a_refused_free_leaves_the_block_open) {
    char *const block = alloc(48);
    ASSERT_EQ(flat_percore_free(set, block + 16), FLAT_INTERIOR_POINTER);
    ASSERT_EQ(flat_pool_free(set.shard(0), block), FLAT_FOREIGN_POINTER);
    std::memset(block, 0, 48);
}

TEST_F(percore_instrument, destroy_opens_the_memory_for_its_owner) {
    const flat_class c{64, 4};
    const flat_percore_options options{&c, 1, 3};
    flat_footprint need;
    ASSERT_EQ(flat_percore_footprint(&options, &need), FLAT_OK);
    test::mapping metadata(need.metadata_bytes, need.metadata_alignment),
        blocks(need.block_bytes, need.block_alignment);
    flat_percore *own;
    ASSERT_EQ(flat_percore_init(&own, &options, metadata.memory(), blocks.memory()), FLAT_OK);
    EXPECT_DEATH(read(blocks.start()), "AddressSanitizer: use-after-poison");
    flat_percore_destroy(own);
    std::memset(blocks.start(), 0, need.block_bytes);
}
