// region.c and region_map.c: what a region of new memory is, between guard pages.
#include "os/system_memory.hpp"
#include "os/test_region.hpp"
#include "os/trap.hpp"

#include <flatline/region.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "../../src/os/faults.h"

namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;
const flat_region_options lazily = test::options_with([](flat_region_options &o) { o.lazy = true; });
const flat_region_options small_pages =
    test::options_with([](flat_region_options &o) { o.allowed_pages = FLAT_PAGES_SMALL; });

using test::address_of;
using region_of = test::test_region;

// Creates a region and destroys it again. A refused call must leave the description as it was, and say why.
flat_status status_of(std::size_t size, std::size_t alignment, flat_region_options options = lazily) {
    flat_region region{};
    region.start = region.mapping = &region;
    region.size = 1;
    region.mapping_size = 2;
    region.descriptor = 3;
    char message[200] = "as before";
    options.message = message;
    options.message_size = sizeof message;
    const flat_status status = flat_region_create(&region, size, alignment, &options);
    if (status == FLAT_OK) {
        flat_region_destroy(&region);
        EXPECT_STREQ(message, "");
    } else {
        EXPECT_TRUE(region.start == &region && region.size == 1 && region.mapping == &region &&
                    region.mapping_size == 2 && region.descriptor == 3)
            << "a refused call changed its result";
        EXPECT_STRNE(message, "as before");
        EXPECT_STRNE(message, "");
    }
    return status;
}

} // namespace

TEST(region, is_where_and_what_was_asked_for) {
    for (std::size_t size :
         {std::size_t{1}, std::size_t{4095}, std::size_t{4096}, std::size_t{100001}, huge_page, 3 * huge_page + 17}) {
        for (std::size_t alignment = 1; alignment <= huge_page; alignment *= 2) {
            region_of of(size, alignment, lazily);
            ASSERT_EQ(address_of(of.start()) % alignment, 0u);
            ASSERT_EQ(of.size(), size);
            ASSERT_GE(of.start(), of.mapping() + test::page_size());
            ASSERT_LE(of.start() + size, of.mapping() + of.region().mapping_size - test::page_size());
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

TEST(region, refuses_options_that_contradict_one_another) {
    const auto refused = [](auto change) { return status_of(4096, 16, test::options_with(change)); };
    EXPECT_EQ(refused([](flat_region_options &o) {
                  o.allowed_pages = FLAT_PAGES_SMALL;
                  o.required_pages = FLAT_PAGES_TRANSPARENT;
              }),
              FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(refused([](flat_region_options &o) {
                  o.allowed_pages = FLAT_PAGES_TRANSPARENT;
                  o.required_pages = FLAT_PAGES_EXPLICIT;
              }),
              FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(refused([](flat_region_options &o) {
                  o.lazy = true;
                  o.required_pages = FLAT_PAGES_TRANSPARENT;
              }),
              FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(refused([](flat_region_options &o) {
                  o.shared = true;
                  o.name = "/flatline-test";
              }),
              FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(refused([](flat_region_options &o) {
                  o.required_pages = FLAT_PAGES_EXPLICIT;
                  o.name = "/flatline-test";
              }),
              FLAT_INVALID_ARGUMENT);
}

TEST(region, refuses_what_is_no_kind_of_pages) {
    // By bytes: C++ itself has no value of the enumeration above its last power of two.
    for (unsigned kind : {4u, 77u, ~0u}) {
        flat_region_options allowed = lazily, required = lazily;
        std::memcpy(&allowed.allowed_pages, &kind, sizeof kind);
        std::memcpy(&required.required_pages, &kind, sizeof kind);
        flat_region region{};
        EXPECT_EQ(flat_region_create(&region, 4096, 16, &allowed), FLAT_INVALID_ARGUMENT) << kind;
        EXPECT_EQ(flat_region_create(&region, 4096, 16, &required), FLAT_INVALID_ARGUMENT) << kind;
        EXPECT_EQ(region.start, nullptr);
    }
}

TEST(region, refuses_what_is_no_name) {
    const std::string longest = "/" + std::string(254, 'n'), too_long = longest + "n";
    for (const char *name : {"", "/", "name", "/two/parts", "//", too_long.c_str()}) {
        EXPECT_EQ(status_of(4096, 16, test::options_with([&](flat_region_options &o) { o.name = name; })),
                  FLAT_INVALID_ARGUMENT)
            << name;
    }
    EXPECT_EQ(status_of(4096, 16, test::options_with([&](flat_region_options &o) { o.name = longest.c_str(); })),
              FLAT_OK);
    EXPECT_EQ(flat_region_unlink(longest.c_str()), FLAT_OK);
}

TEST(region, a_message_fits_where_it_is_put) {
    char message[8] = "1234567";
    flat_region_options options{};
    options.message = message;
    options.message_size = 5;
    flat_region region{};
    EXPECT_EQ(flat_region_create(&region, 0, 16, &options), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(std::strlen(message), 4u);
    EXPECT_EQ(message[5], '6') << "written behind the end";
    options.message_size = 0;
    EXPECT_EQ(flat_region_create(&region, 0, 16, &options), FLAT_INVALID_ARGUMENT);
    ASSERT_EQ(flat_region_create(&region, 4096, 16, &options), FLAT_OK);
    flat_region_destroy(&region);
    EXPECT_EQ(std::strlen(message), 4u) << "written into no room at all";
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
    region_of of(pages * test::page_size(), 64, small_pages);
    EXPECT_EQ(test::resident_pages(of.start(), of.size()), test::pages(of.start(), of.size()));
    if (!test::faults_are_ours) GTEST_SKIP() << "ThreadSanitizer faults pages of its own; residency holds";
    const flat_faults before = flat_faults_now();
    for (std::size_t i = 0; i < of.size(); i += 512) test::write(of.start() + i);
    const flat_faults after = flat_faults_now();
    EXPECT_EQ(after.major, before.major);
    // Not 0: what runs beneath this program, an emulator or a sanitizer, has pages of its own.
    EXPECT_LT(after.minor - before.minor, pages / 4);
}

TEST(region, large_ones_are_resident_with_and_without_huge_pages) {
    for (const flat_region_options &options : {flat_region_options{}, small_pages}) {
        region_of of(3 * huge_page + 4096, 4096, options);
        EXPECT_EQ(test::resident_pages(of.start(), of.size()), test::pages(of.start(), of.size()));
    }
}

TEST(region, is_empty_until_touched_where_it_is_lazy) {
    region_of of(1 << 20, 4096, lazily);
    EXPECT_EQ(test::resident_pages(of.start(), 1 << 20), 0u);
    test::write(of.start());
    EXPECT_GE(test::resident_pages(of.start(), 1 << 20), 1u);
}

TEST(region, is_zero) {
    for (const flat_region_options &options : {flat_region_options{}, lazily}) {
        region_of of(100000, 16, options);
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
    EXPECT_TRAP(test::write(of.mapping() + of.region().mapping_size - 1));
    EXPECT_TRAP(test::write(of.mapping() + of.region().mapping_size - test::page_size()));
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

TEST(region, of_the_callers_memory_is_that_memory) {
    static char array[1000];
    flat_region region{};
    ASSERT_EQ(flat_region_from_memory(&region, {array + 1, 998}), FLAT_OK);
    EXPECT_EQ(region.start, array + 1);
    EXPECT_EQ(region.size, 998u);
    EXPECT_EQ(region.mapping, nullptr);
    EXPECT_FALSE(region.can_trim);
    array[1] = 'x';
    flat_region_destroy(&region);
    EXPECT_EQ(region.start, nullptr);
    EXPECT_EQ(array[1], 'x') << "the memory stays the caller's";
}

TEST(region, refuses_what_is_no_memory) {
    char array[16];
    flat_region region{};
    EXPECT_EQ(flat_region_from_memory(nullptr, {array, sizeof array}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_region_from_memory(&region, {nullptr, 16}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_region_from_memory(&region, {array, 0}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_region_from_memory(&region, {array, SIZE_MAX}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(region.start, nullptr);
}

TEST(region_offset, names_every_byte_of_the_region_and_no_other) {
    static char array[300];
    flat_region region{};
    ASSERT_EQ(flat_region_from_memory(&region, {array + 100, 100}), FLAT_OK);
    for (std::size_t i = 0; i < sizeof array; i++) {
        const bool inside = i >= 100 && i < 200;
        ASSERT_EQ(flat_region_offset(&region, array + i), inside ? i - 100 : FLAT_NO_OFFSET) << i;
    }
    for (std::size_t offset = 0; offset < 300; offset++) {
        void *const address = flat_region_address(&region, offset);
        ASSERT_EQ(address, offset < 100 ? array + 100 + offset : nullptr) << offset;
    }
}

TEST(region_offset, the_ends_of_the_address_space_are_outside) {
    region_of of(4096, 16, lazily);
    EXPECT_EQ(flat_region_offset(&of.region(), nullptr), FLAT_NO_OFFSET);
    EXPECT_EQ(flat_region_offset(&of.region(), reinterpret_cast<void *>(UINTPTR_MAX)), FLAT_NO_OFFSET);
    EXPECT_EQ(flat_region_address(&of.region(), FLAT_NO_OFFSET), nullptr);
    EXPECT_EQ(flat_region_address(&of.region(), 0 - address_of(of.start())), nullptr) << "wraps around to 0";
    const flat_region clear{};
    EXPECT_EQ(flat_region_address(&clear, 0), nullptr);
    EXPECT_EQ(flat_region_offset(&clear, nullptr), FLAT_NO_OFFSET);
}
