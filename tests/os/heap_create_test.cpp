// heap_create.c: the heap that brings its own memory.
#include "core/test_heap.hpp"
#include "os/system_memory.hpp"
#include "os/trap.hpp"

#include <flatline/heap.h>
#include <flatline/region.h>

#include <gtest/gtest.h>

#include <cstring>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include "../../src/os/faults.h"

namespace {

flat_heap *create(std::size_t bytes, const flat_region_options *region = nullptr) {
    flat_heap *heap = nullptr;
    EXPECT_EQ(flat_heap_create(&heap, bytes, region), FLAT_OK);
    return heap;
}

std::uintptr_t address_of(const void *pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

} // namespace

TEST(heap_create, serves_blocks_that_can_be_written) {
    flat_heap *heap = create(1 << 20);
    std::vector<void *> blocks;
    for (std::size_t size = 1; void *block = flat_heap_alloc(heap, size); size = size * 3 % 5000 + 1) {
        std::memset(block, 0x5a, flat_heap_usable_size(heap, block));
        blocks.push_back(block);
    }
    EXPECT_GT(blocks.size(), 100u);
    EXPECT_EQ(flat_heap_check(heap), FLAT_OK);
    for (void *block : blocks) EXPECT_EQ(flat_heap_free(heap, block), FLAT_OK);
    void *all = flat_heap_alloc(heap, 1 << 20);
    ASSERT_NE(all, nullptr);
    std::memset(all, 0, 1 << 20);
    flat_heap_destroy(heap);
}

TEST(heap_create, aligns_to_the_regions_size_up_to_two_mebibytes) {
    for (std::size_t bytes : {std::size_t{512}, std::size_t{4096}, std::size_t{1} << 20, std::size_t{3} << 20,
                              std::size_t{2} << 20, std::size_t{8} << 20}) {
        flat_heap *heap = create(bytes);
        std::size_t most = 512;
        while (most * 2 <= bytes && most < std::size_t{2} << 20) most *= 2;
        void *block = flat_heap_aligned_alloc(heap, most, 1);
        EXPECT_NE(block, nullptr) << most;
        EXPECT_EQ(address_of(block) % most, 0u);
        flat_heap_destroy(heap);
    }
}

TEST(heap_create, faults_no_page_in_after_it_returns) {
    if (!test::faults_are_ours) GTEST_SKIP() << "ThreadSanitizer faults pages of its own";
    constexpr std::size_t pages = 2000;
    flat_heap *heap = create(4096 * pages);
    const flat_faults before = flat_faults_now();
    while (void *block = flat_heap_alloc(heap, 512)) test::write(block);
    // Not 0: what runs beneath this program, an emulator or a sanitizer, has pages of its own.
    EXPECT_LT(flat_faults_now().minor - before.minor, pages / 4);
    flat_heap_destroy(heap);
}

TEST(heap_create, a_write_off_either_end_of_the_blocks_dies) {
    flat_heap *heap = create(1 << 20);
    char *all = static_cast<char *>(flat_heap_alloc(heap, 1 << 20));
    test::write(all);
    test::write(all + (1 << 20) - 1);
    EXPECT_TRAP(test::write(all + (1 << 20)));
    flat_heap_destroy(heap);
    heap = create(2 << 20); // here the blocks begin where the mapping does
    all = static_cast<char *>(flat_heap_alloc(heap, 2 << 20));
    EXPECT_TRAP(test::write(all - 4096));
    EXPECT_TRAP(test::write(all + (2 << 20)));
    flat_heap_destroy(heap);
}

TEST(heap_create, its_region_is_the_one_its_blocks_lie_in) {
    flat_region_options options{};
    options.shared = true;
    flat_heap *heap = create(1 << 20, &options);
    const flat_region *region = flat_heap_region(heap);
    ASSERT_NE(region, nullptr);
    EXPECT_TRUE(region->shared);
    EXPECT_EQ(flat_region_offset(region, flat_heap_alloc(heap, 1 << 20)), 0u);
    flat_heap_destroy(heap);
    EXPECT_EQ(flat_heap_region(nullptr), nullptr);
}

TEST(heap_create, a_heap_in_memory_of_the_caller_has_no_region) {
    const test::test_heap heap(4096);
    EXPECT_EQ(flat_heap_region(heap), nullptr);
}

TEST(heap_create, destroy_gives_everything_back) {
    flat_heap_destroy(create(1 << 20));
    const std::size_t before = test::mapped_bytes();
    flat_heap *heap = create(std::size_t{40} << 20);
    char *block = static_cast<char *>(flat_heap_alloc(heap, 4096));
    flat_heap_destroy(heap);
    EXPECT_FALSE(test::is_mapped(block, 4096));
    EXPECT_FALSE(test::is_mapped(heap, 1));
    EXPECT_LT(test::mapped_bytes(), before + (std::size_t{16} << 20));
    flat_heap_destroy(nullptr);
}

TEST(heap_create, refuses_a_size_out_of_range_and_then_maps_nothing) {
    for (std::size_t bytes : {std::size_t{0}, std::size_t{511}, std::size_t{FLAT_HEAP_MAX_BYTES} + 1, SIZE_MAX}) {
        flat_heap *heap = reinterpret_cast<flat_heap *>(&bytes);
        EXPECT_EQ(flat_heap_create(&heap, bytes, nullptr), FLAT_INVALID_ARGUMENT);
        EXPECT_EQ(heap, nullptr);
    }
    EXPECT_EQ(flat_heap_create(nullptr, 4096, nullptr), FLAT_INVALID_ARGUMENT);
}

TEST(heap_create, says_when_the_system_has_no_room_for_the_blocks) {
#if defined(__aarch64__)
    GTEST_SKIP() << "an emulator does not limit its own address space";
#endif
    if (test::address_sanitizer || test::thread_sanitizer) GTEST_SKIP() << "a sanitizer needs more than the limit";
    const auto try_it = [] {
        const rlimit limit{test::mapped_bytes() + (std::size_t{64} << 20), RLIM_INFINITY};
        if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(10);
        flat_region_options lazily{};
        lazily.lazy = true;
        const std::size_t before = test::mapped_bytes();
        for (int i = 0; i < 100; i++) { // the metadata's region fits: if it were kept, not a hundred times
            flat_heap *heap = reinterpret_cast<flat_heap *>(&i);
            if (flat_heap_create(&heap, std::size_t{100} << 20, &lazily) != FLAT_OUT_OF_MEMORY) _exit(11);
            if (heap != nullptr) _exit(12);
        }
        _exit(test::mapped_bytes() == before ? 0 : 13);
    };
    EXPECT_EXIT(try_it(), testing::ExitedWithCode(0), "");
}

TEST(heap_create, takes_no_memory_for_blocks_before_they_are_touched_where_it_is_lazy) {
    flat_region_options lazily{};
    lazily.lazy = true;
    flat_heap *heap = create(std::size_t{64} << 20, &lazily);
    char *block = static_cast<char *>(flat_heap_alloc(heap, 1 << 20));
    EXPECT_EQ(test::resident_pages(block, 1 << 20), 0u);
    flat_heap_destroy(heap);
}
