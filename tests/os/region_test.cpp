// region.c: mappings between guard pages.
#include "os/system_memory.hpp"
#include "os/trap.hpp"

#include <flatline/region.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <sys/resource.h>
#include <sys/wait.h>

#include "../../src/os/faults.h"

namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr flat_region_options lazily{.lazy = true, .base_pages = false};

std::uintptr_t address_of(const void *pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

class region_of {
  public:
    region_of(std::size_t size, std::size_t alignment, const flat_region_options *options = nullptr) {
        EXPECT_EQ(flat_region_create(&region, size, alignment, options), FLAT_OK);
    }
    region_of(const region_of &) = delete;
    region_of &operator=(const region_of &) = delete;
    ~region_of() { flat_region_destroy(&region); }
    char *start() const { return static_cast<char *>(region.start); }
    char *mapping() const { return static_cast<char *>(region.mapping); }
    flat_region region{};
};

flat_status status_of(std::size_t size, std::size_t alignment) {
    flat_region region{&region, 1, &region, 2};
    const flat_status status = flat_region_create(&region, size, alignment, &lazily);
    if (status == FLAT_OK) {
        flat_region_destroy(&region);
    } else {
        EXPECT_TRUE(region.start == &region && region.size == 1 && region.mapping == &region &&
                    region.mapping_size == 2)
            << "a refused call changed its result";
    }
    return status;
}

} // namespace

TEST(region, is_where_and_what_was_asked_for) {
    for (std::size_t size :
         {std::size_t{1}, std::size_t{4095}, std::size_t{4096}, std::size_t{100001}, huge_page, 3 * huge_page + 17}) {
        for (std::size_t alignment = 1; alignment <= huge_page; alignment *= 2) {
            region_of of(size, alignment, &lazily);
            ASSERT_EQ(address_of(of.start()) % alignment, 0u);
            ASSERT_EQ(of.region.size, size);
            ASSERT_GE(of.start(), of.mapping() + test::page_size());
            ASSERT_LE(of.start() + size, of.mapping() + of.region.mapping_size - test::page_size());
            std::memset(of.start(), 0x5a, std::min<std::size_t>(size, 10000));
            of.start()[size - 1] = 1;
        }
    }
}

TEST(region, refuses_sizes_out_of_range) {
    EXPECT_EQ(status_of(0, 16), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of(static_cast<std::size_t>(PTRDIFF_MAX / 2) + 1, 16), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of(SIZE_MAX, 16), FLAT_INVALID_ARGUMENT);
}

TEST(region, refuses_what_is_no_alignment) {
    for (std::size_t alignment : {std::size_t{0}, std::size_t{3}, std::size_t{48}, 2 * huge_page, SIZE_MAX}) {
        EXPECT_EQ(status_of(4096, alignment), FLAT_INVALID_ARGUMENT) << alignment;
    }
    EXPECT_EQ(status_of(4096, huge_page), FLAT_OK);
    EXPECT_EQ(flat_region_create(nullptr, 4096, 16, nullptr), FLAT_INVALID_ARGUMENT);
}

TEST(region, says_when_the_system_has_no_room) {
    EXPECT_EQ(status_of(static_cast<std::size_t>(PTRDIFF_MAX / 2), 16), FLAT_OUT_OF_MEMORY);
}

TEST(region, a_refused_region_maps_nothing) {
    const std::size_t before = test::mapped_bytes();
    for (int i = 0; i < 100; i++)
        ASSERT_EQ(status_of(static_cast<std::size_t>(PTRDIFF_MAX / 2), 16), FLAT_OUT_OF_MEMORY);
    EXPECT_LT(test::mapped_bytes(), before + (64 << 20));
}

TEST(region, is_resident_before_the_first_access) {
    constexpr std::size_t pages = 1000;
    const flat_region_options base{.lazy = false, .base_pages = true};
    region_of of(pages * test::page_size(), 64, &base);
    EXPECT_EQ(test::resident_pages(of.start(), of.region.size), test::pages(of.start(), of.region.size));
    if (!test::faults_are_ours) GTEST_SKIP() << "ThreadSanitizer faults pages of its own; residency holds";
    const flat_faults before = flat_faults_now();
    for (std::size_t i = 0; i < of.region.size; i += 512) test::write(of.start() + i);
    const flat_faults after = flat_faults_now();
    EXPECT_EQ(after.major, before.major);
    // Not 0: what runs beneath this program, an emulator or a sanitizer, has pages of its own.
    EXPECT_LT(after.minor - before.minor, pages / 4);
}

TEST(region, large_ones_are_resident_with_and_without_huge_pages) {
    for (bool base_pages : {false, true}) {
        const flat_region_options options{.lazy = false, .base_pages = base_pages};
        region_of of(3 * huge_page + 4096, 4096, &options);
        EXPECT_EQ(test::resident_pages(of.start(), of.region.size), test::pages(of.start(), of.region.size));
    }
}

TEST(region, is_empty_until_touched_where_it_is_lazy) {
    region_of of(1 << 20, 4096, &lazily);
    EXPECT_EQ(test::resident_pages(of.start(), 1 << 20), 0u);
    test::write(of.start());
    EXPECT_GE(test::resident_pages(of.start(), 1 << 20), 1u);
}

TEST(region, is_zero) {
    for (bool lazy : {false, true}) {
        const flat_region_options options{.lazy = lazy, .base_pages = false};
        region_of of(100000, 16, &options);
        EXPECT_TRUE(std::all_of(of.start(), of.start() + 100000, [](char c) { return c == 0; }));
    }
}

TEST(region, the_byte_behind_it_is_the_guard) {
    for (std::size_t size : {16u, 4096u, 65536u, 65552u}) {
        region_of of(size, 16);
        test::write(of.start() + size - 1);
        EXPECT_TRAP(test::write(of.start() + size));
        EXPECT_TRAP(test::read(of.start() + size));
    }
}

TEST(region, both_ends_of_the_mapping_are_guards) {
    region_of of(10000, 4096);
    EXPECT_TRAP(test::write(of.mapping()));
    EXPECT_TRAP(test::write(of.mapping() + test::page_size() - 1));
    EXPECT_TRAP(test::write(of.mapping() + of.region.mapping_size - 1));
    EXPECT_TRAP(test::write(of.mapping() + of.region.mapping_size - test::page_size()));
}

TEST(region, destroy_gives_the_mapping_back_and_clears_the_description) {
    flat_region region;
    ASSERT_EQ(flat_region_create(&region, 100000, 16, nullptr), FLAT_OK);
    const flat_region was = region;
    EXPECT_TRUE(test::is_mapped(was.mapping, was.mapping_size));
    flat_region_destroy(&region);
    EXPECT_TRUE(region.start == nullptr && region.size == 0 && region.mapping == nullptr && region.mapping_size == 0);
    EXPECT_FALSE(test::is_mapped(was.mapping, was.mapping_size));
    flat_region_destroy(&region);
    flat_region_destroy(nullptr);
}
