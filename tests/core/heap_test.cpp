// heap.c and heap_inspect.c: the contract of <flatline/heap.h> for a heap that exists, sentence by sentence. Of the
// making of one, and of the bound: heap_setup_test.cpp.
#include "core/environment.hpp"
#include "core/heap_expectations.hpp"
#include "core/random_source.hpp"
#include "core/test_heap.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <set>
#include <vector>

namespace {

using test::address_of;
using test::at;
using test::free_pieces;
using test::heap_block_size;
using test::heap_cell;
using test::heap_pieces;
using test::random_source;
using test::test_heap;

constexpr std::size_t kib = 1024;

// Regions of every shape: the smallest, powers of two, and their like with many, few and odd bits.
const std::size_t regions[] = {512,      1024,     1536,           2048,           3584,       4096,    7 * 512,
                               16 * kib, 31 * 512, 64 * kib + 512, 100 * kib + 77, 1023 * 512, 1 << 20, (1 << 20) - 1};

// All that is left, in blocks as large as there are.
std::vector<std::pair<void *, std::size_t>> take_everything(flat_heap *heap, std::size_t bytes) {
    std::vector<std::pair<void *, std::size_t>> taken;
    for (std::size_t size = heap_block_size(bytes); size >= FLAT_HEAP_GRANULE; size /= 2) {
        while (void *block = flat_heap_alloc(heap, size)) taken.emplace_back(block, size);
    }
    return taken;
}

} // namespace

TEST(heap_alloc, serves_the_next_power_of_two_at_a_multiple_of_it) {
    test_heap heap(1 << 20, PROT_NONE, 1 << 20);
    for (std::size_t power = 32; power <= 1 << 20; power *= 2) {
        for (std::size_t size : {power / 2 + 1, power - 1, power}) {
            void *block = flat_heap_alloc(heap, size);
            ASSERT_NE(block, nullptr) << size;
            EXPECT_EQ(flat_heap_usable_size(heap, block), power);
            EXPECT_EQ(address_of(block) % power, 0u);
            EXPECT_EQ(heap.stats().live, power);
            EXPECT_EQ(flat_heap_free(heap, block), FLAT_OK);
        }
    }
}

TEST(heap_alloc, aligns_to_the_block_size_as_counted_from_the_start) {
    test_heap heap(1 << 20, PROT_NONE, heap_cell); // the start itself is at a multiple of 512 and no more
    for (std::size_t size = 32; size <= 1 << 20; size *= 2) {
        void *block = flat_heap_alloc(heap, size);
        EXPECT_EQ((address_of(block) - address_of(heap.start())) % size, 0u);
        EXPECT_EQ(flat_heap_free(heap, block), FLAT_OK);
    }
}

TEST(heap_alloc, takes_size_0_for_size_1) {
    test_heap heap(512);
    void *block = flat_heap_alloc(heap, 0);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(flat_heap_usable_size(heap, block), 32u);
    EXPECT_NE(flat_heap_alloc(heap, 0), block);
}

TEST(heap_alloc, refuses_what_no_region_holds_and_changes_nothing) {
    for (std::size_t bytes : regions) {
        test_heap heap(bytes);
        for (std::size_t size : {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / 2 + 2, SIZE_MAX / 2, bytes + 1,
                                 std::size_t{1} << 36, (std::size_t{1} << 36) + 1, (std::size_t{1} << 32) + 1}) {
            EXPECT_REFUSED(flat_heap_alloc(heap, size));
        }
        EXPECT_EQ(flat_heap_check(heap), FLAT_OK);
    }
}

TEST(heap_alloc, refuses_a_size_that_fits_in_the_region_but_in_none_of_its_pieces) {
    test_heap heap(3 * 512);
    EXPECT_REFUSED(flat_heap_alloc(heap, 1025));
    EXPECT_REFUSED(flat_heap_alloc(heap, 1536));
    EXPECT_NE(flat_heap_alloc(heap, 1024), nullptr);
    EXPECT_REFUSED(flat_heap_alloc(heap, 513));
    EXPECT_NE(flat_heap_alloc(heap, 512), nullptr);
    EXPECT_REFUSED(flat_heap_alloc(heap, 1));
}

TEST(heap_alloc, hands_out_every_byte_once_whatever_the_region) {
    for (std::size_t bytes : regions) {
        const std::size_t usable = bytes / 512 * 512;
        for (std::size_t size = 32; size <= usable; size *= 2) {
            test_heap heap(bytes);
            std::set<std::uintptr_t> starts;
            while (void *block = flat_heap_alloc(heap, size)) {
                const std::uintptr_t offset = address_of(block) - address_of(heap.start());
                EXPECT_EQ(offset % size, 0u);
                EXPECT_LE(offset + size, usable);
                ASSERT_TRUE(starts.insert(offset).second) << "handed out twice";
            }
            EXPECT_EQ(starts.size(), usable / size) << bytes << " bytes, blocks of " << size;
            take_everything(heap, bytes);
            EXPECT_EQ(heap.stats().live, usable) << "something was left over";
            EXPECT_EQ(flat_heap_check(heap), FLAT_OK);
        }
    }
}

TEST(heap_alloc, cuts_the_smallest_piece_that_serves) {
    test_heap heap(8 * kib);
    void *small = flat_heap_alloc(heap, 512), *gap = flat_heap_alloc(heap, 1024), *wall = flat_heap_alloc(heap, 512);
    ASSERT_EQ(address_of(wall), address_of(small) + 512); // of what the first one left
    EXPECT_EQ(flat_heap_free(heap, wall), FLAT_OK);
    EXPECT_EQ(flat_heap_alloc(heap, 300), wall) << "a larger piece was cut while a piece of 512 was free";
    EXPECT_EQ(flat_heap_free(heap, gap), FLAT_OK);
    void *slot = flat_heap_alloc(heap, 40);
    EXPECT_EQ(address_of(slot), address_of(gap)) << "a piece of more than 1024 was cut";
    EXPECT_EQ(address_of(flat_heap_alloc(heap, 64)), address_of(slot) + 64)
        << "a free slot of the size was passed over";
}

TEST(heap_alloc, small_sizes_share_a_cell_only_with_their_own) {
    test_heap heap(4 * 512);
    std::set<std::uintptr_t> cells;
    for (std::size_t size : {32u, 64u, 128u, 256u}) {
        cells.insert((address_of(flat_heap_alloc(heap, size)) - address_of(heap.start())) / 512);
    }
    EXPECT_EQ(cells.size(), 4u);
    for (std::size_t size : {32u, 64u, 128u, 256u}) {
        for (std::size_t left = 512 / size - 1; left > 0; left--) EXPECT_NE(flat_heap_alloc(heap, size), nullptr);
        EXPECT_REFUSED(flat_heap_alloc(heap, size));
    }
    EXPECT_EQ(heap.stats().live, 2048u);
}

TEST(heap_aligned_alloc, serves_every_power_of_two_up_to_that_of_the_start) {
    test_heap heap(4 << 20, PROT_NONE, 2 << 20);
    for (std::size_t alignment = 1; alignment <= 2 << 20; alignment *= 2) {
        for (std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{33}, alignment, std::size_t{4097}}) {
            void *block = flat_heap_aligned_alloc(heap, alignment, size);
            ASSERT_NE(block, nullptr) << alignment << ", " << size;
            EXPECT_EQ(address_of(block) % alignment, 0u);
            EXPECT_EQ(flat_heap_usable_size(heap, block), heap_block_size(std::max(alignment, size)));
            EXPECT_EQ(flat_heap_free(heap, block), FLAT_OK);
        }
    }
    const std::size_t two_to_20 = std::size_t{1} << 20;
    for (int i = 0; i < 4; i++) {
        EXPECT_EQ(address_of(flat_heap_aligned_alloc(heap, two_to_20, 3)) % two_to_20, 0u);
    }
    EXPECT_REFUSED(flat_heap_aligned_alloc(heap, two_to_20, 3));
}

TEST(heap_aligned_alloc, refuses_an_alignment_above_that_of_the_start) {
    test_heap heap(1 << 20, PROT_NONE, 4096);
    const std::size_t most = address_of(heap.start()) & (0 - address_of(heap.start()));
    ASSERT_EQ(most, 4096u);
    EXPECT_NE(flat_heap_aligned_alloc(heap, 4096, 1), nullptr);
    for (std::size_t alignment = 8192; alignment != 0; alignment *= 2) {
        EXPECT_REFUSED(flat_heap_aligned_alloc(heap, alignment, 1));
    }
}

TEST(heap_aligned_alloc, refuses_what_is_no_power_of_two) {
    test_heap heap(1 << 20, PROT_NONE, 1 << 20);
    for (std::size_t alignment : {std::size_t{0}, std::size_t{3}, std::size_t{24}, std::size_t{511}, std::size_t{4097},
                                  SIZE_MAX, SIZE_MAX / 2, (std::size_t{1} << 63) + 1}) {
        EXPECT_REFUSED(flat_heap_aligned_alloc(heap, alignment, 1));
    }
}

TEST(heap_aligned_alloc, refuses_sizes_that_no_region_holds) {
    test_heap heap(1 << 20, PROT_NONE, 1 << 20);
    for (std::size_t alignment : {1u, 32u, 4096u, 1u << 20}) {
        EXPECT_REFUSED(flat_heap_aligned_alloc(heap, alignment, SIZE_MAX));
        EXPECT_REFUSED(flat_heap_aligned_alloc(heap, alignment, (1 << 20) + 1));
    }
    test_heap small(512, PROT_NONE, 1 << 20);
    EXPECT_EQ(flat_heap_aligned_alloc(small, 1024, 1), nullptr) << "aligned for it, and too small";
}

TEST(heap_free, of_null_is_ok_and_changes_nothing) {
    test_heap heap(4096);
    EXPECT_FREE_REFUSED(nullptr, FLAT_OK);
}

TEST(heap_free, refuses_every_address_that_is_no_live_blocks_start) {
    // A cell with slots of 64 (the first and third live), a live piece of 2048, the rest free.
    test_heap heap(16 * kib);
    char *first = static_cast<char *>(flat_heap_alloc(heap, 64)),
         *second = static_cast<char *>(flat_heap_alloc(heap, 64));
    char *third = static_cast<char *>(flat_heap_alloc(heap, 50));
    char *large = static_cast<char *>(flat_heap_alloc(heap, 1025));
    ASSERT_EQ(flat_heap_free(heap, second), FLAT_OK);
    const auto state_of = [&](const char *address) {
        if (address == first || address == third || address == large) return FLAT_OK;
        if (address >= first && address < first + 64) return FLAT_INTERIOR_POINTER;
        if (address >= third && address < third + 64) return FLAT_INTERIOR_POINTER;
        if (address >= large && address < large + 2048) return FLAT_INTERIOR_POINTER;
        if (address >= heap.start() && address < heap.start() + 16 * kib) return FLAT_DOUBLE_FREE;
        return FLAT_FOREIGN_POINTER;
    };
    for (char *address = heap.start() - 600; address < heap.start() + 16 * kib + 600; address++) {
        if (state_of(address) != FLAT_OK) EXPECT_FREE_REFUSED(address, state_of(address));
        EXPECT_EQ(flat_heap_usable_size(heap, address) != 0, state_of(address) == FLAT_OK);
        EXPECT_EQ(flat_heap_owns(heap, address), state_of(address) != FLAT_FOREIGN_POINTER);
    }
    EXPECT_EQ(flat_heap_check(heap), FLAT_OK);
    for (char *block : {third, first, large}) EXPECT_EQ(flat_heap_free(heap, block), FLAT_OK);
    EXPECT_EQ(free_pieces(heap), heap_pieces(16 * kib));
}

TEST(heap_free, refuses_addresses_far_away) {
    test_heap heap(1 << 20), other(1 << 20);
    int on_the_stack = 0;
    void *of_another = flat_heap_alloc(other, 100);
    (void)!flat_heap_alloc(heap, 100);
    for (void *address :
         {static_cast<void *>(&on_the_stack), of_another, static_cast<void *>(heap.metadata().start()), at(1), at(32),
          at(UINTPTR_MAX), at(UINTPTR_MAX - 31), at(address_of(heap.start()) - 1), at(address_of(heap.start()) - 32),
          at(address_of(heap.start()) + (1 << 20)), at(address_of(heap.start()) + (std::uintptr_t{1} << 63)),
          at(address_of(heap.start()) + (std::uintptr_t{1} << 36))}) {
        EXPECT_FREE_REFUSED(address, FLAT_FOREIGN_POINTER);
        EXPECT_REALLOC_REFUSED(address, 7, FLAT_FOREIGN_POINTER);
        EXPECT_FALSE(flat_heap_owns(heap, address));
        EXPECT_EQ(flat_heap_usable_size(heap, address), 0u);
    }
}

TEST(heap_free, catches_a_second_free_of_every_size) {
    test_heap heap(1 << 20);
    for (std::size_t size = 32; size <= 1 << 20; size *= 2) {
        for (bool with_neighbours : {false, true}) {
            void *before = with_neighbours ? flat_heap_alloc(heap, size) : nullptr;
            void *block = flat_heap_alloc(heap, size);
            void *behind = with_neighbours ? flat_heap_alloc(heap, size) : nullptr;
            if (block == nullptr) {
                ASSERT_EQ(flat_heap_free(heap, before), FLAT_OK);
                continue;
            }
            ASSERT_EQ(flat_heap_free(heap, block), FLAT_OK);
            EXPECT_FREE_REFUSED(block, FLAT_DOUBLE_FREE);
            EXPECT_REALLOC_REFUSED(block, 10, FLAT_DOUBLE_FREE);
            ASSERT_EQ(flat_heap_free(heap, before), FLAT_OK);
            ASSERT_EQ(flat_heap_free(heap, behind), FLAT_OK);
            EXPECT_FREE_REFUSED(block, FLAT_DOUBLE_FREE);
        }
    }
}

TEST(heap_free, refuses_what_was_live_before_a_reset) {
    test_heap heap(64 * kib);
    std::vector<void *> blocks;
    for (std::size_t size : {1u, 100u, 300u, 700u, 5000u}) blocks.push_back(flat_heap_alloc(heap, size));
    flat_heap_reset(heap);
    for (void *block : blocks) EXPECT_FREE_REFUSED(block, FLAT_DOUBLE_FREE);
}

TEST(heap_free, refuses_the_middle_of_live_pieces_of_every_size) {
    test_heap heap((1 << 20) + (1 << 16));
    for (std::size_t size = 1 << 20; size >= 512; size /= 2) {
        char *block = static_cast<char *>(flat_heap_alloc(heap, size));
        ASSERT_NE(block, nullptr);
        for (std::size_t at = 512; at < size; at += at < 4096 || size - at < 4096 ? 512 : 37 * 512) {
            ASSERT_EQ(flat_heap_free(heap, block + at), FLAT_INTERIOR_POINTER) << size << " + " << at;
            ASSERT_EQ(flat_heap_free(heap, block + at + 32), FLAT_INTERIOR_POINTER) << size << " + " << at;
        }
        for (std::size_t at : {std::size_t{1}, std::size_t{16}, std::size_t{32}, std::size_t{480}, size - 1}) {
            EXPECT_FREE_REFUSED(block + at, FLAT_INTERIOR_POINTER);
            EXPECT_REALLOC_REFUSED(static_cast<void *>(block + at), 3, FLAT_INTERIOR_POINTER);
        }
        ASSERT_EQ(flat_heap_free(heap, block), FLAT_OK);
        for (std::size_t at : {std::size_t{0}, std::size_t{1}, std::size_t{32}, size / 2, size - 1}) {
            EXPECT_FREE_REFUSED(block + at, FLAT_DOUBLE_FREE);
        }
    }
}

TEST(heap_free, merges_at_once_and_leaves_the_pieces_that_there_were) {
    for (std::size_t bytes : regions) {
        for (std::uint64_t order = 0; order < 4; order++) { // of the frees
            test_heap heap(bytes);
            ASSERT_EQ(free_pieces(heap), heap_pieces(bytes));
            random_source random(order);
            std::vector<void *> blocks;
            while (void *block = flat_heap_alloc(heap, random.magnitude(600))) blocks.push_back(block);
            if (order == 1) std::reverse(blocks.begin(), blocks.end());
            for (std::size_t i = blocks.size(); order > 1 && i > 1; i--)
                std::swap(blocks[i - 1], blocks[random.below(i)]);
            for (void *block : blocks) {
                ASSERT_EQ(flat_heap_free(heap, block), FLAT_OK);
                ASSERT_EQ(flat_heap_check(heap), FLAT_OK); // no two halves of a piece are both free
            }
            EXPECT_EQ(free_pieces(heap), heap_pieces(bytes));
            EXPECT_EQ(heap.stats().live, 0u);
        }
    }
}

TEST(heap_free, makes_room_for_the_same_request_in_any_state) {
    std::cout << "seed: FLATLINE_TEST_SEED=" << test::seed() << std::endl;
    for (std::size_t round = 0; round < test::scaled(300); round++) {
        random_source random(test::seed() + round);
        test_heap heap(512 * random.magnitude(2048), PROT_NONE, 1 << 20);
        struct request {
            void *block;
            std::size_t alignment, size;
        };
        std::vector<request> live;
        for (int step = 0; step < 600; step++) {
            if (!live.empty() && random.one_in(3)) {
                std::swap(live[random.below(live.size())], live.back());
                ASSERT_EQ(flat_heap_free(heap, live.back().block), FLAT_OK);
                live.pop_back();
            } else {
                const std::size_t alignment = random.one_in(4) ? std::size_t{1} << random.below(21) : 1;
                const std::size_t size = random.magnitude(heap.blocks().size);
                void *block = flat_heap_aligned_alloc(heap, alignment, size);
                if (block != nullptr) live.push_back({block, alignment, size});
            }
            if (live.empty()) continue;
            request &again = live[random.below(live.size())];
            ASSERT_EQ(flat_heap_free(heap, again.block), FLAT_OK);
            again.block = flat_heap_aligned_alloc(heap, again.alignment, again.size);
            ASSERT_NE(again.block, nullptr)
                << again.size << " at " << again.alignment << ", FLATLINE_TEST_SEED=" << test::seed() + round;
        }
    }
}

TEST(heap_usable_size, is_0_for_everything_that_is_no_live_blocks_start) {
    test_heap heap(4096);
    char *block = static_cast<char *>(flat_heap_alloc(heap, 700));
    EXPECT_EQ(flat_heap_usable_size(heap, block), 1024u);
    for (const void *address : {static_cast<const void *>(nullptr), static_cast<const void *>(block + 1),
                                static_cast<const void *>(block + 512), static_cast<const void *>(block + 1024),
                                static_cast<const void *>(&heap)}) {
        EXPECT_EQ(flat_heap_usable_size(heap, address), 0u);
    }
}

TEST(heap_reset, frees_everything_forgets_the_high_water_mark_and_keeps_refusals) {
    for (std::size_t bytes : regions) {
        test_heap heap(bytes);
        for (int round = 0; round < 3; round++) {
            take_everything(heap, bytes);
            ASSERT_EQ(heap.stats().live, bytes / 512 * 512);
            const std::uint64_t refused = heap.stats().refused;
            flat_heap_reset(heap);
            EXPECT_EQ(heap.stats().live, 0u);
            EXPECT_EQ(heap.stats().high_water, 0u);
            EXPECT_EQ(heap.stats().refused, refused);
            EXPECT_EQ(flat_heap_visit(heap, nullptr, nullptr), 0u);
            EXPECT_EQ(flat_heap_check(heap), FLAT_OK);
            EXPECT_EQ(free_pieces(heap), heap_pieces(bytes));
        }
    }
}

TEST(heap_stats, count_what_they_say) {
    test_heap heap(10 * kib + 5);
    EXPECT_EQ(heap.stats().bytes, 10 * kib);
    EXPECT_EQ(heap.stats().largest_free, 8 * kib);
    void *a = flat_heap_alloc(heap, 33), *b = flat_heap_alloc(heap, 3000);
    EXPECT_EQ(heap.stats().live, 64u + 4096u);
    EXPECT_EQ(heap.stats().largest_free, 4096u);
    ASSERT_EQ(flat_heap_free(heap, b), FLAT_OK);
    EXPECT_EQ(heap.stats().live, 64u);
    ASSERT_EQ(flat_heap_free(heap, flat_heap_alloc(heap, 1000)), FLAT_OK);
    EXPECT_EQ(heap.stats().high_water, 64u + 4096u) << "the most that was ever live, not the last";
    ASSERT_EQ(flat_heap_free(heap, a), FLAT_OK);
    EXPECT_EQ(heap.stats().live, 0u);
    EXPECT_EQ(heap.stats().refused, 0u);
}

TEST(heap_stats, largest_free_is_the_largest_request_that_would_be_served) {
    random_source random(test::seed());
    for (int round = 0; round < 200; round++) {
        test_heap heap(512 * (1 + random.below(200)));
        for (std::uint64_t i = random.below(60); i > 0; i--) (void)!flat_heap_alloc(heap, random.magnitude(4096));
        const std::size_t largest = heap.stats().largest_free;
        const auto before = heap.state();
        EXPECT_EQ(flat_heap_alloc(heap, std::max<std::size_t>(largest + 1, 257)), nullptr) << "seed " << test::seed();
        heap.restore(before);
        ASSERT_TRUE(largest == 0 || flat_heap_alloc(heap, largest) != nullptr) << "seed " << test::seed();
    }
}

TEST(heap_visit, meets_every_live_block_once_ascending) {
    test_heap heap(32 * kib);
    std::vector<std::pair<std::uintptr_t, std::size_t>> expected;
    for (std::size_t size : {32u, 32u, 64u, 4096u, 256u, 512u, 1024u, 128u, 32u, 8192u}) {
        expected.emplace_back(address_of(flat_heap_alloc(heap, size)), size);
    }
    ASSERT_EQ(flat_heap_free(heap, at(expected.back().first)), FLAT_OK);
    expected.pop_back();
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(test::heap_live(heap), expected);
    EXPECT_EQ(flat_heap_visit(heap, nullptr, nullptr), expected.size());
}

TEST(heap_visit, of_an_empty_and_of_a_full_heap) {
    for (std::size_t bytes : regions) {
        test_heap heap(bytes);
        EXPECT_EQ(flat_heap_visit(heap, nullptr, nullptr), 0u);
        std::size_t count = 0;
        while (flat_heap_alloc(heap, 32) != nullptr) count++;
        EXPECT_EQ(test::heap_live(heap).size(), count);
    }
}

TEST(heap_isolation, two_heaps_do_not_know_of_each_other) {
    test_heap a(16 * kib), b(16 * kib);
    const auto untouched = b.state();
    std::vector<void *> blocks;
    while (void *block = flat_heap_alloc(a, 200)) blocks.push_back(block);
    for (void *block : blocks) EXPECT_EQ(flat_heap_free(b, block), FLAT_FOREIGN_POINTER);
    EXPECT_EQ(b.state(), untouched);
    for (void *block : blocks) EXPECT_EQ(flat_heap_free(a, block), FLAT_OK);
}
