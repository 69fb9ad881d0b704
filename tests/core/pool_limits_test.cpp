// Pools at the limits of their options. The blocks are address ranges that nothing ever touches.
#include "core/environment.hpp"
#include "core/layouts.hpp"
#include "core/random_source.hpp"
#include "core/test_pool.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace {

using test::address_of;
using test::at;
using test::test_pool;

// The size of the class that serves `size`, or 0. Leaves the pool as it was.
std::size_t served_by(flat_pool *pool, std::size_t size) {
    void *block = flat_pool_alloc(pool, size);
    if (block == nullptr) return 0;
    const std::size_t usable = flat_pool_usable_size(pool, block);
    return flat_pool_free(pool, block) == FLAT_OK ? usable : 0;
}

std::size_t rounded(std::size_t size) { return (size + 15) / 16 * 16; }

// The same by a linear search of the classes.
std::size_t expected_for(const std::vector<flat_class> &classes, std::size_t size) {
    for (const flat_class &c : classes) {
        if (size <= rounded(c.block_size)) return rounded(c.block_size);
    }
    return 0;
}

void expect_every_border(const std::vector<flat_class> &classes) {
    test_pool pool(classes, PROT_NONE);
    ASSERT_EQ(flat_pool_check(pool), FLAT_OK);
    for (const flat_class &c : classes) {
        const std::size_t border = rounded(c.block_size);
        for (std::size_t size : {border - 16, border - 15, border - 1, border, border + 1, border + 15, border + 16}) {
            ASSERT_EQ(served_by(pool, size), expected_for(classes, size)) << size << " of " << test::describe(classes);
        }
    }
    EXPECT_EQ(served_by(pool, rounded(classes.back().block_size) + 1), 0u);
}

std::vector<flat_class> sixteen_apart(std::size_t count, std::size_t last) {
    std::vector<flat_class> classes;
    for (std::size_t i = count; i-- > 0;) classes.push_back({last - 16 * i, 1});
    return classes;
}

// A pool whose blocks lie at an address where nothing is mapped. It cannot be used under AddressSanitizer, which would
// write the shadow of all blocks.
class unmapped_pool {
  public:
    unmapped_pool(const std::vector<flat_class> &classes, std::uintptr_t start) {
        flat_pool_options options{};
        options.classes = classes.data();
        options.class_count = classes.size();
        EXPECT_EQ(flat_pool_footprint(&options, &footprint), FLAT_OK);
        metadata_ = std::make_unique<test::mapping>(footprint.metadata_bytes, footprint.metadata_alignment);
        EXPECT_EQ(flat_pool_init(&pool_, &options, metadata_->memory(), {at(start), footprint.block_bytes}), FLAT_OK);
    }
    operator flat_pool *() const { return pool_; }
    flat_footprint footprint{};

  private:
    std::unique_ptr<test::mapping> metadata_;
    flat_pool *pool_ = nullptr;
};

// Far above the addresses that a program uses, so that ranges from here on do not overlap the metadata.
constexpr std::uintptr_t nowhere = std::uintptr_t{1} << 56;

} // namespace

TEST(pool_limits, sixty_four_classes_sixteen_bytes_apart_just_under_one_gibibyte) {
    const std::size_t last =
        test::address_budget < 64 * FLAT_POOL_MAX_BLOCK_SIZE ? test::address_budget / 128 : FLAT_POOL_MAX_BLOCK_SIZE;
    expect_every_border(sixteen_apart(64, last));
}

TEST(pool_limits, any_number_of_large_classes_is_told_apart) {
    for (std::size_t count = 1; count <= 64; count++) expect_every_border(sixteen_apart(count, std::size_t{1} << 20));
}

TEST(pool_limits, classes_around_the_end_of_the_table_of_sizes_are_told_apart) {
    for (std::size_t last = 4096 - 16; last <= 4096 + 66 * 16; last += 16) {
        expect_every_border(sixteen_apart(5, last));
        expect_every_border(sixteen_apart(64, last));
    }
}

TEST(pool_limits, every_size_up_to_sixty_five_thousand_finds_its_class) {
    for (std::uint64_t round = 0; round < 20; round++) {
        test::random_source random(test::seed() + round);
        const auto classes = test::random_layout(random, {64, 1 << 16, 3, std::size_t{1} << 27});
        SCOPED_TRACE("FLATLINE_TEST_SEED=" + std::to_string(test::seed() + round) + ": " + test::describe(classes));
        test_pool pool(classes, PROT_NONE);
        for (std::size_t size = 1; size <= 65000; size++) {
            ASSERT_EQ(served_by(pool, size), expected_for(classes, size)) << size;
        }
    }
}

TEST(pool_limits, sixteen_million_blocks_in_one_class) {
    constexpr std::size_t count = FLAT_POOL_MAX_BLOCK_COUNT;
    test_pool pool({{16, count}}, PROT_NONE);
    const std::uintptr_t first = address_of(flat_pool_alloc(pool, 16));
    for (std::size_t i = 1; i < count; i++) ASSERT_EQ(address_of(flat_pool_alloc(pool, 16)), first + i * 16);
    ASSERT_EQ(flat_pool_alloc(pool, 16), nullptr);
    ASSERT_EQ(flat_pool_check(pool), FLAT_OK);
    // An odd stride visits each of a power of two of blocks exactly once.
    constexpr std::size_t stride = 7919 * 1031;
    for (std::size_t i = 0, index = 0; i < count; i++, index = (index + stride) % count) {
        ASSERT_EQ(flat_pool_free(pool, at(first + index * 16)), FLAT_OK);
    }
    ASSERT_EQ(flat_pool_check(pool), FLAT_OK);
    ASSERT_EQ(flat_pool_visit(pool, nullptr, nullptr), 0u);
    for (std::size_t i = 0, index = (count - stride % count) % count; i < count;
         i++, index = (index + count - stride % count) % count) {
        ASSERT_EQ(address_of(flat_pool_alloc(pool, 16)), first + index * 16) << "the block freed last comes first";
    }
    EXPECT_EQ(flat_pool_alloc(pool, 16), nullptr);
    EXPECT_EQ(flat_pool_check(pool), FLAT_OK);
}

TEST(pool_limits, offsets_far_beyond_two_to_the_32_are_exact) {
    // With 2^24 blocks of 2^30 bytes, an offset times a size exceeds 2^64.
    if (test::address_sanitizer) GTEST_SKIP() << "AddressSanitizer keeps a shadow of all block memory: too large here";
    for (std::size_t size :
         {FLAT_POOL_MAX_BLOCK_SIZE, FLAT_POOL_MAX_BLOCK_SIZE - 16, FLAT_POOL_MAX_BLOCK_SIZE / 3 / 16 * 16,
          std::size_t{16 * 65537}, std::size_t{4096 * 255}}) {
        unmapped_pool pool({{size, FLAT_POOL_MAX_BLOCK_COUNT}}, nowhere);
        for (std::size_t i = 0; i < FLAT_POOL_MAX_BLOCK_COUNT; i++) {
            ASSERT_EQ(address_of(flat_pool_alloc(pool, size)), nowhere + i * size);
        }
        test::random_source random(test::seed());
        for (std::size_t i = 0; i < 1000000; i++) {
            const std::uintptr_t block = nowhere + random.below(FLAT_POOL_MAX_BLOCK_COUNT) * size;
            ASSERT_EQ(flat_pool_free(pool, at(block + 16 * (1 + random.below(size / 16 - 1)))), FLAT_INTERIOR_POINTER);
            ASSERT_EQ(flat_pool_free(pool, at(block + 1 + random.below(size - 1))), FLAT_INTERIOR_POINTER);
            ASSERT_EQ(flat_pool_free(pool, at(block)), FLAT_OK);
            ASSERT_EQ(flat_pool_free(pool, at(block)), FLAT_DOUBLE_FREE);
            ASSERT_EQ(address_of(flat_pool_alloc(pool, size)), block);
        }
        const std::uintptr_t end = nowhere + size * FLAT_POOL_MAX_BLOCK_COUNT;
        EXPECT_EQ(flat_pool_free(pool, at(end)), FLAT_FOREIGN_POINTER);
        EXPECT_EQ(flat_pool_free(pool, at(end - 1)), FLAT_INTERIOR_POINTER);
        EXPECT_EQ(flat_pool_free(pool, at(nowhere - size)), FLAT_FOREIGN_POINTER);
    }
}

TEST(pool_limits, blocks_may_end_where_the_address_space_does) {
    if (test::address_sanitizer) GTEST_SKIP() << "AddressSanitizer has no shadow there";
    const std::uintptr_t start = UINTPTR_MAX - 4095;
    unmapped_pool pool({{48, 85}}, start); // 4080 bytes: the last one is 15 below the end
    for (std::size_t i = 0; i < 85; i++) ASSERT_EQ(address_of(flat_pool_alloc(pool, 48)), start + i * 48);
    EXPECT_EQ(flat_pool_free(pool, at(UINTPTR_MAX)), FLAT_FOREIGN_POINTER);
    EXPECT_EQ(flat_pool_free(pool, at(start + 84 * 48)), FLAT_OK);
    EXPECT_EQ(flat_pool_free(pool, at(start + 85 * 48)), FLAT_FOREIGN_POINTER);
    EXPECT_EQ(flat_pool_check(pool), FLAT_OK);
}

TEST(pool_limits, every_block_size_divides_exactly) {
    // For every multiple of the granule up to 64 KiB: the start of each block is accepted as one, other addresses not.
    for (std::size_t size = 16; size <= 65536; size += 16) {
        test_pool pool({{size, 37}}, PROT_NONE);
        const std::uintptr_t first = address_of(flat_pool_alloc(pool, size));
        for (std::size_t i = 1; i < 37; i++) ASSERT_EQ(flat_pool_free(pool, at(first + i * size)), FLAT_DOUBLE_FREE);
        for (std::size_t i = 0; i < 37; i++) {
            ASSERT_EQ(flat_pool_free(pool, at(first + i * size + 1)), FLAT_INTERIOR_POINTER);
            ASSERT_EQ(flat_pool_free(pool, at(first + i * size + size / 2)), FLAT_INTERIOR_POINTER);
        }
        ASSERT_EQ(flat_pool_free(pool, at(first + 37 * size)), FLAT_FOREIGN_POINTER) << size;
    }
}
