// Realloc, in every way a block can go: in place, by moving, and not at all.
#include "core/environment.hpp"
#include "core/heap_expectations.hpp"
#include "core/random_source.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <vector>

namespace {

using test::address_of;
using test::free_pieces;
using test::heap_pieces;
using test::random_source;
using test::test_heap;

constexpr std::size_t kib = 1024;

char pattern(std::size_t at, unsigned of) { return static_cast<char>(at * 7 + of * 31 + (at >> 8)); }
void fill(void *block, std::size_t size, unsigned of) {
    for (std::size_t i = 0; i < size; i++) static_cast<char *>(block)[i] = pattern(i, of);
}
bool holds(const void *block, std::size_t size, unsigned of) {
    for (std::size_t i = 0; i < size; i++) {
        if (static_cast<const char *>(block)[i] != pattern(i, of)) return false;
    }
    return true;
}

class heap_realloc : public testing::Test {
  protected:
    test_heap heap{64 * kib, PROT_READ | PROT_WRITE};

    void *made(std::size_t size, unsigned of) {
        void *block = flat_heap_alloc(heap, size);
        fill(block, size, of);
        return block;
    }
};

} // namespace

TEST_F(heap_realloc, of_null_allocates) {
    void *block = nullptr;
    EXPECT_EQ(flat_heap_realloc(heap, &block, 100), FLAT_OK);
    EXPECT_EQ(flat_heap_usable_size(heap, block), 128u);
    void *nothing = nullptr;
    EXPECT_EQ(flat_heap_realloc(heap, &nothing, 0), FLAT_OK);
    EXPECT_EQ(flat_heap_usable_size(heap, nothing), 32u);
    void *none = nullptr;
    EXPECT_EQ(flat_heap_realloc(heap, &none, SIZE_MAX), FLAT_OUT_OF_MEMORY);
    EXPECT_EQ(none, nullptr);
    EXPECT_EQ(heap.stats().refused, 1u);
}

TEST_F(heap_realloc, of_no_pointer_at_all_is_refused) {
    const auto before = heap.state();
    EXPECT_EQ(flat_heap_realloc(heap, nullptr, 100), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(heap.state(), before);
}

TEST_F(heap_realloc, stays_where_the_power_of_two_stays) {
    for (std::size_t size = 32; size <= 32 * kib; size *= 2) {
        void *block = made(size, 1), *before = block;
        const auto state = heap.state();
        for (std::size_t to : {size / 2 + 1, size - 1, size}) {
            ASSERT_EQ(flat_heap_realloc(heap, &block, to), FLAT_OK);
            EXPECT_EQ(block, before);
            EXPECT_TRUE(holds(block, size / 2 + 1, 1));
        }
        EXPECT_EQ(heap.state(), state);
        ASSERT_EQ(flat_heap_free(heap, block), FLAT_OK);
    }
}

TEST_F(heap_realloc, doubles_in_place_where_the_memory_behind_is_free) {
    for (std::size_t size = 512; size <= 32 * kib; size *= 2) {
        void *block = made(size, 2), *before = block;
        ASSERT_EQ(flat_heap_realloc(heap, &block, size + 1), FLAT_OK);
        EXPECT_EQ(block, before);
        EXPECT_TRUE(holds(block, size, 2));
        EXPECT_EQ(flat_heap_usable_size(heap, block), 2 * size);
        EXPECT_EQ(heap.stats().live, 2 * size);
        EXPECT_EQ(heap.stats().high_water, 2 * size) << "nothing else was live for a moment";
        EXPECT_EQ(flat_heap_check(heap), FLAT_OK);
        ASSERT_EQ(flat_heap_free(heap, block), FLAT_OK);
        flat_heap_reset(heap);
    }
}

TEST_F(heap_realloc, moves_where_the_memory_behind_is_taken) {
    for (std::size_t size = 512; size <= 8 * kib; size *= 2) {
        void *block = made(size, 3), *before = block, *behind = flat_heap_alloc(heap, size);
        ASSERT_EQ(address_of(behind), address_of(block) + size);
        ASSERT_EQ(flat_heap_realloc(heap, &block, 2 * size), FLAT_OK);
        EXPECT_NE(block, before);
        EXPECT_TRUE(holds(block, size, 3));
        EXPECT_EQ((address_of(block) - address_of(heap.start())) % (2 * size), 0u) << "a moved block is aligned";
        EXPECT_EQ(flat_heap_free(heap, before), FLAT_DOUBLE_FREE) << "the old block came back";
        EXPECT_EQ(heap.stats().live, 3 * size);
        EXPECT_EQ(heap.stats().high_water, 4 * size) << "old and new were live for a moment";
        EXPECT_EQ(flat_heap_check(heap), FLAT_OK);
        flat_heap_reset(heap);
    }
}

TEST_F(heap_realloc, moves_an_upper_half_even_if_the_lower_one_is_free) {
    void *lower = flat_heap_alloc(heap, 1024), *block = made(1024, 4), *before = block;
    ASSERT_EQ(flat_heap_free(heap, lower), FLAT_OK);
    ASSERT_EQ(flat_heap_realloc(heap, &block, 2048), FLAT_OK);
    EXPECT_NE(block, before);
    EXPECT_TRUE(holds(block, 1024, 4));
    EXPECT_EQ(flat_heap_check(heap), FLAT_OK);
}

TEST_F(heap_realloc, grows_a_slot_by_moving) {
    for (std::size_t size = 32; size <= 256; size *= 2) {
        void *block = made(size, 5), *before = block;
        ASSERT_EQ(flat_heap_realloc(heap, &block, size + 1), FLAT_OK);
        EXPECT_NE(block, before);
        EXPECT_TRUE(holds(block, size, 5));
        EXPECT_EQ(heap.stats().live, 2 * size);
        ASSERT_EQ(flat_heap_free(heap, block), FLAT_OK);
        EXPECT_EQ(free_pieces(heap), heap_pieces(64 * kib)) << "the cell of the old slot was closed";
    }
}

TEST_F(heap_realloc, grows_by_more_than_a_power_of_two) {
    for (std::size_t from : {1u, 40u, 200u, 500u, 3000u}) {
        void *block = made(from, 6);
        ASSERT_EQ(flat_heap_realloc(heap, &block, 20000), FLAT_OK);
        EXPECT_TRUE(holds(block, from, 6));
        EXPECT_EQ(heap.stats().live, 32 * kib);
        ASSERT_EQ(flat_heap_free(heap, block), FLAT_OK);
    }
}

TEST_F(heap_realloc, shrinks_a_piece_in_place_where_nothing_smaller_is_free) {
    for (std::size_t to = 32; to < 64 * kib; to *= 2) {
        void *block = made(64 * kib, 7), *before = block;
        ASSERT_EQ(flat_heap_realloc(heap, &block, to), FLAT_OK);
        EXPECT_EQ(block, before);
        EXPECT_TRUE(holds(block, to, 7));
        EXPECT_EQ(flat_heap_usable_size(heap, block), to);
        EXPECT_EQ(heap.stats().live, to);
        EXPECT_EQ(heap.stats().largest_free, 32 * kib) << "the end was not given back";
        EXPECT_EQ(flat_heap_check(heap), FLAT_OK);
        ASSERT_EQ(flat_heap_free(heap, block), FLAT_OK);
        EXPECT_EQ(free_pieces(heap), heap_pieces(64 * kib));
    }
}

TEST_F(heap_realloc, shrinks_by_moving_where_a_request_would_be_placed_better) {
    // The block could give back its end, but a smaller piece is free elsewhere: there a new request would go.
    void *block = made(32 * kib, 8), *before = block;
    void *wall = flat_heap_alloc(heap, 512);
    ASSERT_EQ(flat_heap_realloc(heap, &block, 512), FLAT_OK);
    EXPECT_EQ(address_of(block), address_of(wall) + 512);
    EXPECT_TRUE(holds(block, 512, 8));
    EXPECT_EQ(flat_heap_free(heap, before), FLAT_DOUBLE_FREE);
    ASSERT_EQ(flat_heap_free(heap, wall), FLAT_OK);
    ASSERT_EQ(flat_heap_free(heap, block), FLAT_OK);
    EXPECT_EQ(free_pieces(heap), heap_pieces(64 * kib));
}

TEST_F(heap_realloc, shrinks_to_a_free_slot_of_the_size) {
    void *slot = flat_heap_alloc(heap, 100);
    void *rest[8] = {};
    for (std::size_t i = 0, size = 512; size < 64 * kib; size *= 2) rest[i++] = flat_heap_alloc(heap, size);
    void *block = rest[6]; // of 32 KiB; nothing is free but three slots
    ASSERT_EQ(heap.stats().largest_free, 0u);
    fill(block, 32 * kib, 9);
    ASSERT_EQ(flat_heap_realloc(heap, &block, 65), FLAT_OK);
    EXPECT_EQ(address_of(block), address_of(slot) + 128);
    EXPECT_TRUE(holds(block, 65, 9));
    EXPECT_EQ(heap.stats().largest_free, 32 * kib);
}

TEST_F(heap_realloc, shrinks_a_slot_by_moving) {
    for (std::size_t size = 64; size <= 256; size *= 2) {
        void *block = made(size, 10), *before = block;
        ASSERT_EQ(flat_heap_realloc(heap, &block, 0), FLAT_OK);
        EXPECT_NE(block, before);
        EXPECT_TRUE(holds(block, 1, 10));
        EXPECT_EQ(flat_heap_usable_size(heap, block), 32u);
        ASSERT_EQ(flat_heap_free(heap, block), FLAT_OK);
    }
}

TEST_F(heap_realloc, cannot_fail_to_shrink_when_there_is_no_memory) {
    test_heap full(512, PROT_READ | PROT_WRITE);
    void *slots[4];
    for (unsigned i = 0; i < 4; i++) fill(slots[i] = flat_heap_alloc(full, 128), 128, i);
    const auto before = full.state();
    void *block = slots[2];
    ASSERT_EQ(flat_heap_realloc(full, &block, 20), FLAT_OK) << "no slot of 32 is to be had";
    EXPECT_EQ(block, slots[2]);
    EXPECT_EQ(flat_heap_usable_size(full, block), 128u) << "it stays as it is";
    EXPECT_TRUE(holds(block, 20, 2));
    EXPECT_EQ(full.state(), before) << "and nothing was refused";
}

TEST_F(heap_realloc, refused_to_grow_leaves_everything_as_it_was) {
    void *block = made(16 * kib, 11), *wall = flat_heap_alloc(heap, 16 * kib), *rest = flat_heap_alloc(heap, 32 * kib);
    ASSERT_NE(wall, nullptr);
    ASSERT_NE(rest, nullptr);
    for (std::size_t size : {16 * kib + 1, 64 * kib, 64 * kib + 1, SIZE_MAX, SIZE_MAX / 2}) {
        const auto before = heap.state();
        const std::uint64_t refused = heap.stats().refused;
        void *same = block;
        EXPECT_EQ(flat_heap_realloc(heap, &same, size), FLAT_OUT_OF_MEMORY);
        test::expect_refused(heap, nullptr, before, refused);
        EXPECT_EQ(same, block);
    }
    EXPECT_TRUE(holds(block, 16 * kib, 11));
}

TEST_F(heap_realloc, keeps_a_block_at_a_multiple_of_its_size_whatever_it_goes_through) {
    random_source random(test::seed());
    std::cout << "seed: FLATLINE_TEST_SEED=" << test::seed() << std::endl;
    std::vector<std::pair<void *, std::size_t>> blocks(24, {nullptr, 0});
    for (std::size_t step = 0; step < test::scaled(20000); step++) {
        const unsigned which = static_cast<unsigned>(random.below(blocks.size()));
        auto &[block, size] = blocks[which];
        const std::size_t to = random.magnitude(16 * kib);
        const flat_status status = flat_heap_realloc(heap, &block, to);
        ASSERT_TRUE(status == FLAT_OK || (status == FLAT_OUT_OF_MEMORY && to > size));
        ASSERT_TRUE(holds(block, std::min(size, to), which)) << "seed " << test::seed();
        if (status != FLAT_OK) continue;
        size = to;
        fill(block, size, which);
        const std::size_t usable = flat_heap_usable_size(heap, block);
        ASSERT_GE(usable, size);
        ASSERT_EQ((address_of(block) - address_of(heap.start())) % usable, 0u);
    }
    EXPECT_EQ(flat_heap_check(heap), FLAT_OK);
}
