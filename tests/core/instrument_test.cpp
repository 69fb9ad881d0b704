// instrument.h: what AddressSanitizer is told of a pool's and a heap's blocks. Its counterpart for Valgrind is
// tests/os/valgrind.py.
#include "core/environment.hpp"
#include "core/test_heap.hpp"
#include "core/test_pool.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace {

using test::test_heap;
using test::test_pool;

// Reads and writes that the compiler neither drops nor judges.
void read(const char *address) { (void)*const_cast<const volatile char *>(address); }
void write(char *address) { *const_cast<volatile char *>(address) = 1; }

const std::vector<flat_class> plain = {{48, 4}, {5000, 2}};

class instrument : public testing::Test {
  protected:
    void SetUp() override {
        static_assert(test::address_sanitizer, "tests/core/CMakeLists.txt builds this file in such builds only");
        testing::FLAGS_gtest_death_test_style = "fast";
    }
    test_pool pool{plain};
    test_heap heap{16384, PROT_READ | PROT_WRITE, 4096};

    char *from_heap(std::size_t size) { return static_cast<char *>(flat_heap_alloc(heap, size)); }
    // The block after it was resized.
    char *resized(char *block, std::size_t size) {
        void *now = block;
        EXPECT_EQ(flat_heap_realloc(heap, &now, size), FLAT_OK);
        return static_cast<char *>(now);
    }
    // Whether exactly `size` bytes of the block are open.
    void expect_open(char *block, std::size_t size) {
        std::memset(block, 1, size);
        EXPECT_DEATH(write(block + size), "AddressSanitizer: use-after-poison") << size;
    }
};

} // namespace

TEST_F(instrument, a_use_after_free_dies) {
    char *block = static_cast<char *>(flat_pool_alloc(pool, 48));
    write(block);
    ASSERT_EQ(flat_pool_free(pool, block), FLAT_OK);
    EXPECT_DEATH(read(block), "AddressSanitizer: use-after-poison");
    EXPECT_DEATH(write(block + 47), "AddressSanitizer: use-after-poison");
}

TEST_F(instrument, an_overflow_by_one_byte_dies) {
    for (std::size_t size : {1u, 7u, 13u, 33u, 47u, 48u, 49u, 4999u, 5000u}) {
        char *block = static_cast<char *>(flat_pool_alloc(pool, size));
        write(block + size - 1);
        EXPECT_DEATH(write(block + size), "AddressSanitizer: use-after-poison") << size;
        ASSERT_EQ(flat_pool_free(pool, block), FLAT_OK);
    }
}

TEST_F(instrument, a_smaller_second_tenant_does_not_inherit_the_firsts_bytes) {
    char *block = static_cast<char *>(flat_pool_alloc(pool, 48));
    ASSERT_EQ(flat_pool_free(pool, block), FLAT_OK);
    ASSERT_EQ(flat_pool_alloc(pool, 9), block);
    write(block + 8);
    EXPECT_DEATH(write(block + 9), "AddressSanitizer: use-after-poison");
}

TEST_F(instrument, a_block_never_handed_out_and_padding_die) {
    char *block = static_cast<char *>(flat_pool_alloc(pool, 48));
    EXPECT_DEATH(read(block + 48), "AddressSanitizer: use-after-poison");
    EXPECT_DEATH(read(block + 4 * 48), "AddressSanitizer: use-after-poison") << "padding behind the class";
}

TEST_F(instrument, usable_size_opens_the_rest_of_the_block) {
    char *block = static_cast<char *>(flat_pool_alloc(pool, 5));
    ASSERT_EQ(flat_pool_usable_size(pool, block), 48u);
    std::memset(block, 0, 48);
    EXPECT_DEATH(write(block + 48), "AddressSanitizer: use-after-poison");
}

TEST_F(instrument, alloc_many_and_aligned_alloc_open_their_blocks) {
    void *many[2];
    ASSERT_EQ(flat_pool_alloc_many(pool, 40, many, 2), 2u);
    std::memset(many[0], 0, 40);
    std::memset(many[1], 0, 40);
    EXPECT_DEATH(write(static_cast<char *>(many[1]) + 40), "AddressSanitizer: use-after-poison");
    char *aligned = static_cast<char *>(flat_pool_aligned_alloc(pool, 16, 30));
    std::memset(aligned, 0, 30);
    EXPECT_DEATH(write(aligned + 30), "AddressSanitizer: use-after-poison");
}

TEST_F(instrument, reset_closes_every_block) {
    char *block = static_cast<char *>(flat_pool_alloc(pool, 48));
    flat_pool_reset(pool);
    EXPECT_DEATH(read(block), "AddressSanitizer: use-after-poison");
}

TEST_F(instrument, a_refused_free_leaves_the_block_open) {
    char *block = static_cast<char *>(flat_pool_alloc(pool, 48));
    ASSERT_EQ(flat_pool_free(pool, block + 16), FLAT_INTERIOR_POINTER);
    std::memset(block, 0, 48);
}

TEST_F(instrument, destroy_opens_the_memory_for_its_owner) {
    flat_pool_options options{};
    options.classes = plain.data();
    options.class_count = plain.size();
    flat_footprint need;
    ASSERT_EQ(flat_pool_footprint(&options, &need), FLAT_OK);
    test::mapping metadata(need.metadata_bytes, need.metadata_alignment),
        blocks(need.block_bytes, need.block_alignment);
    flat_pool *own;
    ASSERT_EQ(flat_pool_init(&own, &options, metadata.memory(), blocks.memory()), FLAT_OK);
    EXPECT_DEATH(read(blocks.start()), "AddressSanitizer: use-after-poison");
    flat_pool_destroy(own);
    std::memset(blocks.start(), 0, need.block_bytes);
}

TEST_F(instrument, a_heaps_blocks_are_open_for_what_was_asked) {
    for (std::size_t size : {1u, 31u, 33u, 300u, 511u, 513u, 5000u}) {
        char *block = from_heap(size);
        expect_open(block, size);
        ASSERT_EQ(flat_heap_free(heap, block), FLAT_OK);
        EXPECT_DEATH(read(block), "AddressSanitizer: use-after-poison");
        EXPECT_DEATH(write(block + size - 1), "AddressSanitizer: use-after-poison");
    }
    char *nothing = from_heap(0);
    expect_open(nothing, 1);
    char *aligned = static_cast<char *>(flat_heap_aligned_alloc(heap, 4096, 30));
    expect_open(aligned, 30);
}

TEST_F(instrument, a_heaps_block_is_open_for_its_new_size_where_it_stays) {
    char *block = from_heap(600);
    ASSERT_EQ(resized(block, 1000), block);
    expect_open(block, 1000);
    ASSERT_EQ(resized(block, 520), block);
    expect_open(block, 520);
    ASSERT_EQ(flat_heap_usable_size(heap, block), 1024u);
    std::memset(block, 1, 1024);
}

TEST_F(instrument, a_heaps_block_is_open_for_its_new_size_where_it_grows_in_place) {
    char *block = from_heap(600);
    ASSERT_EQ(resized(block, 1500), block);
    expect_open(block, 1500);
}

TEST_F(instrument, a_heaps_block_is_open_for_its_new_size_where_it_shrinks_in_place) {
    for (std::size_t size : {20u, 700u, 5000u}) {
        char *block = from_heap(16000);
        ASSERT_EQ(resized(block, size), block);
        expect_open(block, size);
        EXPECT_DEATH(read(block + 8192), "AddressSanitizer: use-after-poison");
        flat_heap_reset(heap);
    }
}

TEST_F(instrument, a_heaps_block_that_moves_is_closed_where_it_was) {
    char *small = from_heap(40);
    std::memset(small, 1, 40);
    char *grown = resized(small, 400);
    ASSERT_NE(grown, small);
    expect_open(grown, 400);
    EXPECT_DEATH(read(small), "AddressSanitizer: use-after-poison");
    char *slot = from_heap(100), *shrunk = resized(slot, 10);
    ASSERT_NE(shrunk, slot);
    expect_open(shrunk, 10);
    EXPECT_DEATH(read(slot), "AddressSanitizer: use-after-poison");
}

TEST_F(instrument, a_refused_call_leaves_a_heaps_block_as_open_as_it_was) {
    char *block = from_heap(600);
    void *same = block;
    ASSERT_EQ(flat_heap_realloc(heap, &same, 100000), FLAT_OUT_OF_MEMORY);
    expect_open(block, 600);
    ASSERT_EQ(flat_heap_free(heap, block + 32), FLAT_INTERIOR_POINTER);
    expect_open(block, 600);
}

TEST_F(instrument, a_heaps_reset_closes_and_its_destroy_opens) {
    char *block = from_heap(600);
    flat_heap_reset(heap);
    EXPECT_DEATH(read(block), "AddressSanitizer: use-after-poison");
    flat_heap_destroy(heap);
    std::memset(heap.start(), 0, 16384);
    heap.start_again();
}
