// heap_inspect.c: flat_heap_check sees every kind of damage. What the other functions tell: heap_test.cpp.
#include "core/heap_corrupt.h"
#include "core/test_heap.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace {

// As heap_corrupt.h describes it.
void build(flat_heap *heap) {
    const auto cell = [](const void *block, const flat_heap *of) {
        return (test::address_of(block) - test::heap_live(of).front().first) / test::heap_cell;
    };
    std::vector<void *> slots;
    for (int i = 0; i < 16; i++) slots.push_back(flat_heap_alloc(heap, 64));
    void *second = flat_heap_alloc(heap, 512), *third = flat_heap_alloc(heap, 512),
         *fourth = flat_heap_alloc(heap, 1024);
    void *sixth = flat_heap_alloc(heap, 512), *seventh = flat_heap_alloc(heap, 512);
    ASSERT_EQ(cell(slots[8], heap), 1u);
    ASSERT_EQ(cell(second, heap), 2u);
    ASSERT_EQ(cell(third, heap), 3u);
    ASSERT_EQ(cell(fourth, heap), 4u);
    ASSERT_EQ(cell(seventh, heap), 7u);
    for (void *block : {slots[1], slots[3], slots[9], second, sixth}) ASSERT_EQ(flat_heap_free(heap, block), FLAT_OK);
}

} // namespace

TEST(heap_check, sees_every_kind_of_damage) {
    ASSERT_GT(heap_corruptions(), 30u);
    for (std::size_t kind = 0; kind < heap_corruptions(); kind++) {
        test::test_heap heap(16 * test::heap_cell);
        build(heap);
        ASSERT_EQ(flat_heap_check(heap), FLAT_OK);
        const auto before = heap.state();
        const char *words = corrupt_heap(heap, kind);
        ASSERT_NE(heap.state(), before) << words << ": nothing was damaged";
        EXPECT_EQ(flat_heap_check(heap), FLAT_CORRUPTED) << words;
        heap.restore(before);
        EXPECT_EQ(flat_heap_check(heap), FLAT_OK);
    }
}
