// Checks of what a refused call of a heap must not change, and of the free pieces of a heap.
#ifndef FLATLINE_TESTS_CORE_HEAP_EXPECTATIONS_HPP
#define FLATLINE_TESTS_CORE_HEAP_EXPECTATIONS_HPP

#include "core/test_heap.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace test {

// The sizes of the free pieces, largest first. Does not change the heap's live blocks.
inline std::vector<std::size_t> free_pieces(test_heap &heap) {
    const std::vector<char> before = heap.state();
    std::vector<std::size_t> sizes;
    flat_heap_stats stats = heap.stats();
    while (stats.largest_free != 0) {
        sizes.push_back(stats.largest_free);
        if (sizes.size() > heap.blocks().size / FLAT_HEAP_GRANULE) return {}; // a damaged heap might never end
        if (flat_heap_alloc(heap, stats.largest_free) == nullptr) return {};
        stats = heap.stats();
    }
    heap.restore(before);
    return sizes;
}

// The number of 8-byte words in which two states of one heap differ.
inline std::size_t differing_words(const std::vector<char> &a, const std::vector<char> &b) {
    std::size_t count = 0;
    for (std::size_t i = 0; i + 8 <= a.size(); i += 8) count += std::memcmp(&a[i], &b[i], 8) != 0;
    return count;
}

// A refused request increments the count of refusals and changes nothing else.
inline void expect_refused(test_heap &heap, const void *block, const std::vector<char> &before, std::uint64_t refused) {
    EXPECT_EQ(block, nullptr);
    EXPECT_EQ(heap.stats().refused, refused + 1);
    EXPECT_EQ(differing_words(before, heap.state()), 1u) << "more than the count of refusals changed";
}

} // namespace test

// The macros expect a test_heap named `heap`.
#define EXPECT_REFUSED(request)                                                                                        \
    do {                                                                                                               \
        const std::vector<char> state_before = heap.state();                                                           \
        const std::uint64_t refused_before = heap.stats().refused;                                                     \
        test::expect_refused(heap, request, state_before, refused_before);                                             \
    } while (0)

#define EXPECT_FREE_REFUSED(address, status)                                                                           \
    do {                                                                                                               \
        const std::vector<char> state_before = heap.state();                                                           \
        EXPECT_EQ(flat_heap_free(heap, address), status);                                                              \
        EXPECT_EQ(heap.state(), state_before) << "a refused free changed the heap";                                    \
    } while (0)

#define EXPECT_REALLOC_REFUSED(pointer, size, status)                                                                  \
    do {                                                                                                               \
        const std::vector<char> state_before = heap.state();                                                           \
        void *pointer_now = pointer;                                                                                   \
        EXPECT_EQ(flat_heap_realloc(heap, &pointer_now, size), status);                                                \
        EXPECT_EQ(pointer_now, pointer) << "a refused realloc moved the pointer";                                      \
        EXPECT_EQ(heap.state(), state_before) << "a refused realloc changed the heap";                                 \
    } while (0)

#endif
