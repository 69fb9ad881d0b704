// pool_setup.c: options, footprint, init, shares, reset.
#include "core/environment.hpp"
#include "core/placing.hpp"
#include "core/random_source.hpp"
#include "core/test_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

using test::address_of;
using test::mapping;
using test::test_pool;

flat_pool_options options_for(const std::vector<flat_class> &classes) {
    flat_pool_options options{};
    options.classes = classes.data();
    options.class_count = classes.size();
    return options;
}

// The status that footprint and init both give these classes; init gets memory enough for any small pool.
flat_status status_of(const std::vector<flat_class> &classes) {
    const flat_pool_options options = options_for(classes);
    flat_footprint untouched{1, 2, 3, 4};
    const flat_status status = flat_pool_footprint(&options, &untouched);
    if (status != FLAT_OK) {
        EXPECT_EQ(untouched.metadata_bytes, 1u);
        EXPECT_EQ(untouched.metadata_alignment, 2u);
        EXPECT_EQ(untouched.block_bytes, 3u);
        EXPECT_EQ(untouched.block_alignment, 4u);
        alignas(64) static char metadata[1 << 16];
        alignas(4096) static char blocks[1 << 16];
        flat_pool *pool = reinterpret_cast<flat_pool *>(metadata);
        EXPECT_EQ(flat_pool_init(&pool, &options, {metadata, sizeof metadata}, {blocks, sizeof blocks}), status);
        EXPECT_EQ(pool, nullptr);
    }
    return status;
}

std::vector<flat_class> ascending(std::size_t count, std::size_t step = 16, std::size_t blocks = 1) {
    std::vector<flat_class> classes;
    for (std::size_t i = 1; i <= count; i++) classes.push_back({i * step, blocks});
    return classes;
}

flat_footprint footprint_of(const std::vector<flat_class> &classes) {
    const flat_pool_options options = options_for(classes);
    flat_footprint footprint{};
    EXPECT_EQ(flat_pool_footprint(&options, &footprint), FLAT_OK);
    return footprint;
}

const std::vector<flat_class> plain = {{16, 10}, {48, 7}, {4096, 3}};

class placed : public test::placing<flat_pool, flat_pool_options, flat_pool_init, flat_pool_destroy> {
  public:
    placed() : placing(options_for(plain), footprint_of(plain)) {}
};

} // namespace

TEST(pool_options, no_class_is_refused) {
    EXPECT_EQ(status_of({}), FLAT_INVALID_ARGUMENT);
    flat_pool_options options{};
    options.classes = plain.data();
    flat_footprint footprint;
    EXPECT_EQ(flat_pool_footprint(&options, &footprint), FLAT_INVALID_ARGUMENT);
}

TEST(pool_options, classes_that_are_null_are_refused) {
    flat_pool_options options{};
    options.class_count = 1;
    flat_footprint footprint;
    EXPECT_EQ(flat_pool_footprint(&options, &footprint), FLAT_INVALID_ARGUMENT);
}

TEST(pool_options, one_class_is_enough) { EXPECT_EQ(status_of(ascending(1)), FLAT_OK); }
TEST(pool_options, sixty_four_classes_are_accepted) { EXPECT_EQ(status_of(ascending(64)), FLAT_OK); }
TEST(pool_options, sixty_five_classes_are_refused) { EXPECT_EQ(status_of(ascending(65)), FLAT_INVALID_ARGUMENT); }

TEST(pool_options, a_class_count_near_the_end_of_its_type_is_refused) {
    flat_pool_options options = options_for(plain);
    flat_footprint footprint;
    for (std::size_t count : {SIZE_MAX, SIZE_MAX / 16, std::size_t{1} << 32, std::size_t{256}}) {
        options.class_count = count;
        EXPECT_EQ(flat_pool_footprint(&options, &footprint), FLAT_INVALID_ARGUMENT) << count;
    }
}

TEST(pool_options, descending_sizes_are_refused) { EXPECT_EQ(status_of({{64, 1}, {32, 1}}), FLAT_INVALID_ARGUMENT); }
TEST(pool_options, equal_sizes_are_refused) { EXPECT_EQ(status_of({{64, 1}, {64, 1}}), FLAT_INVALID_ARGUMENT); }

TEST(pool_options, sizes_that_round_to_the_same_are_refused) {
    EXPECT_EQ(status_of({{17, 1}, {32, 1}}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of({{1, 1}, {16, 1}}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of({{16, 1}, {17, 1}}), FLAT_OK);
}

TEST(pool_options, an_unsorted_last_class_is_refused) {
    std::vector<flat_class> classes = ascending(64);
    classes[63].block_size = classes[62].block_size;
    EXPECT_EQ(status_of(classes), FLAT_INVALID_ARGUMENT);
}

TEST(pool_options, size_zero_is_refused) { EXPECT_EQ(status_of({{0, 1}}), FLAT_INVALID_ARGUMENT); }
TEST(pool_options, size_one_is_accepted) { EXPECT_EQ(status_of({{1, 1}}), FLAT_OK); }

TEST(pool_options, a_size_above_one_gibibyte_is_refused) {
    EXPECT_EQ(status_of({{FLAT_POOL_MAX_BLOCK_SIZE, 1}}), FLAT_OK);
    EXPECT_EQ(status_of({{FLAT_POOL_MAX_BLOCK_SIZE + 1, 1}}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of({{SIZE_MAX, 1}}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of({{SIZE_MAX - 14, 1}}), FLAT_INVALID_ARGUMENT) << "rounding up must not wrap to 0";
}

TEST(pool_options, count_zero_is_refused) { EXPECT_EQ(status_of({{16, 0}}), FLAT_INVALID_ARGUMENT); }

TEST(pool_options, a_count_above_the_limit_is_refused) {
    EXPECT_EQ(status_of({{16, FLAT_POOL_MAX_BLOCK_COUNT}}), FLAT_OK);
    EXPECT_EQ(status_of({{16, FLAT_POOL_MAX_BLOCK_COUNT + 1}}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of({{16, SIZE_MAX}}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of({{16, (std::size_t{1} << 32) + 1}}), FLAT_INVALID_ARGUMENT) << "must not be cut to 32 bits";
}

TEST(pool_options, products_beyond_size_max_are_refused) {
    // size * count wraps to something small in each of these
    EXPECT_EQ(status_of({{std::size_t{1} << 30, std::size_t{1} << 34}}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of({{std::size_t{1} << 34, std::size_t{1} << 30}}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of({{16, SIZE_MAX / 16 + 2}}), FLAT_INVALID_ARGUMENT);
}

TEST(pool_options, the_largest_pool_there_can_be_has_a_footprint) {
    static_assert(sizeof(void *) == 8, "on narrower targets this pool exceeds PTRDIFF_MAX / 2 and is refused");
    std::vector<flat_class> classes;
    for (std::size_t i = 64; i-- > 0;) {
        classes.push_back({FLAT_POOL_MAX_BLOCK_SIZE - 16 * i, FLAT_POOL_MAX_BLOCK_COUNT});
    }
    const flat_footprint need = footprint_of(classes);
    std::uint64_t blocks = 0;
    for (const flat_class &c : classes) blocks += static_cast<std::uint64_t>(c.block_size) * c.block_count;
    EXPECT_GE(need.block_bytes, blocks);
    EXPECT_LE(need.block_bytes, static_cast<std::size_t>(PTRDIFF_MAX / 2));
    EXPECT_GE(need.metadata_bytes, 64 * FLAT_POOL_MAX_BLOCK_COUNT * 4);
}

TEST(pool_footprint, null_arguments_are_refused) {
    const flat_pool_options options = options_for(plain);
    flat_footprint footprint;
    EXPECT_EQ(flat_pool_footprint(nullptr, &footprint), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_pool_footprint(&options, nullptr), FLAT_INVALID_ARGUMENT);
}

TEST(pool_footprint, a_million_blocks_take_at_most_four_bytes_and_a_tenth_each) {
    for (std::size_t size : {16u, 48u, 64u, 1024u, 4096u, 1u << 20}) {
        EXPECT_LE(footprint_of({{size, 1000000}}).metadata_bytes, 4100000u) << size;
    }
    EXPECT_LE(footprint_of({{16, 500000}, {256, 300000}, {1008, 200000}}).metadata_bytes, 4100000u);
    EXPECT_LE(footprint_of(ascending(64, 48, 15625)).metadata_bytes, 4100000u);
}

TEST(pool_footprint, eight_classes_of_sixteen_blocks_take_at_most_two_kibibytes) {
    EXPECT_LE(footprint_of(ascending(8, 16, 16)).metadata_bytes, 2048u);
    EXPECT_LE(footprint_of(ascending(8, 4096, 16)).metadata_bytes, 2048u);
    std::vector<flat_class> doubling;
    for (std::size_t size = 16; size <= 2048; size *= 2) doubling.push_back({size, 16});
    EXPECT_LE(footprint_of(doubling).metadata_bytes, 2048u);
}

TEST(pool_footprint, padding_between_classes_is_bounded) {
    // Each class is rounded up to whole spans, of which there are several a class on average.
    test::random_source random(test::seed());
    for (int round = 0; round < 2000; round++) {
        std::vector<flat_class> classes;
        std::size_t size = 0, blocks = 0;
        for (std::size_t i = 1 + random.below(64); i > 0; i--) {
            size += 16 * random.magnitude(1 << 12);
            classes.push_back({size, random.magnitude(10000)});
            blocks += classes.back().block_size * classes.back().block_count;
        }
        const flat_footprint need = footprint_of(classes);
        ASSERT_GE(need.block_bytes, blocks);
        ASSERT_LE(need.block_bytes, 2 * blocks + 4096 * classes.size()) << "seed " << test::seed();
    }
}

TEST(pool_footprint, is_the_same_in_every_build_type) {
    // Constants, so that a build in which a layout or a capacity differs fails here.
    const struct {
        std::vector<flat_class> classes;
        flat_footprint expected;
    } table[] = {
        {{{1, 1}}, {732, 64, 16, 16}},
        {{{16, 10}, {48, 7}, {4096, 3}}, {984, 64, 16384, 4096}},
        {{{64, 1000000}}, {4000728, 64, 64000000, 64}},
        {{{17, 1001}, {100, 333}, {5000, 77}, {100000, 3}}, {6864, 64, 775136, 32}},
        {{{FLAT_POOL_MAX_BLOCK_SIZE, FLAT_POOL_MAX_BLOCK_COUNT}}, {67109720, 64, 18014398509481984, 4096}},
        {ascending(64), {6544, 64, 36864, 1024}},
        {ascending(64, 4096, 100), {32144, 64, 917504000, 4096}},
    };
    for (const auto &row : table) {
        const flat_footprint need = footprint_of(row.classes);
        EXPECT_EQ(need.metadata_bytes, row.expected.metadata_bytes);
        EXPECT_EQ(need.metadata_alignment, row.expected.metadata_alignment);
        EXPECT_EQ(need.block_bytes, row.expected.block_bytes);
        EXPECT_EQ(need.block_alignment, row.expected.block_alignment);
    }
}

TEST(pool_init, succeeds_with_exactly_the_footprint) {
    placed in;
    EXPECT_EQ(in.init(in.exact_metadata(), in.exact_blocks()), FLAT_OK);
}

TEST(pool_init, refuses_metadata_one_byte_too_small) {
    placed in;
    flat_memory metadata = in.exact_metadata();
    metadata.size--;
    EXPECT_EQ(in.init(metadata, in.exact_blocks()), FLAT_OUT_OF_MEMORY);
}

TEST(pool_init, refuses_blocks_one_byte_too_small) {
    placed in;
    flat_memory blocks = in.exact_blocks();
    blocks.size--;
    EXPECT_EQ(in.init(in.exact_metadata(), blocks), FLAT_OUT_OF_MEMORY);
    blocks.size = 0;
    EXPECT_EQ(in.init(in.exact_metadata(), blocks), FLAT_OUT_OF_MEMORY);
}

TEST(pool_init, refuses_misaligned_metadata) {
    placed in;
    for (std::size_t by = 1; by < in.need.metadata_alignment; by++) {
        flat_memory metadata{in.metadata.start() + by, in.need.metadata_bytes};
        ASSERT_EQ(in.init(metadata, in.exact_blocks()), FLAT_INVALID_ARGUMENT) << by;
    }
    flat_memory metadata{in.metadata.start() + in.need.metadata_alignment, in.need.metadata_bytes};
    EXPECT_EQ(in.init(metadata, in.exact_blocks()), FLAT_OK) << "no more alignment is needed than was said";
}

TEST(pool_init, refuses_misaligned_blocks) {
    placed in;
    for (std::size_t by : {1u, 8u, 16u, 64u, 512u, 2048u, 4095u}) {
        flat_memory blocks{in.blocks.start() + by, in.need.block_bytes};
        ASSERT_EQ(in.init(in.exact_metadata(), blocks), FLAT_INVALID_ARGUMENT) << by;
    }
    flat_memory blocks{in.blocks.start() + in.need.block_alignment, in.need.block_bytes};
    EXPECT_EQ(in.init(in.exact_metadata(), blocks), FLAT_OK);
}

TEST(pool_init, refuses_memories_that_overlap) {
    const flat_pool_options options = options_for(plain);
    const flat_footprint need = footprint_of(plain);
    mapping both(need.metadata_bytes + need.block_bytes + 16384, 4096);
    flat_pool *pool;
    const flat_memory blocks{both.start() + 8192, need.block_bytes};
    for (std::ptrdiff_t by :
         {std::ptrdiff_t{0}, std::ptrdiff_t{4096}, static_cast<std::ptrdiff_t>(need.block_bytes) - 64,
          64 - static_cast<std::ptrdiff_t>(need.metadata_bytes) / 64 * 64}) {
        const flat_memory metadata{both.start() + 8192 + by / 64 * 64, need.metadata_bytes};
        EXPECT_EQ(flat_pool_init(&pool, &options, metadata, blocks), FLAT_INVALID_ARGUMENT) << by;
    }
}

TEST(pool_init, accepts_memories_that_touch) {
    const flat_pool_options options = options_for(plain);
    const flat_footprint need = footprint_of(plain);
    const std::size_t metadata_room = (need.metadata_bytes + 4095) / 4096 * 4096;
    mapping both(metadata_room + need.block_bytes + 4096, 4096);
    flat_pool *pool;
    ASSERT_EQ(flat_pool_init(&pool, &options, {both.start(), metadata_room},
                             {both.start() + metadata_room, need.block_bytes}),
              FLAT_OK);
    flat_pool_destroy(pool);
    const std::size_t behind = (need.block_bytes + 63) / 64 * 64;
    ASSERT_EQ(
        flat_pool_init(&pool, &options, {both.start() + behind, need.metadata_bytes}, {both.start(), need.block_bytes}),
        FLAT_OK);
    flat_pool_destroy(pool);
}

TEST(pool_init, refuses_memories_that_wrap_around) {
    const flat_pool_options options = options_for(plain);
    placed in;
    flat_pool *pool;
    const std::uintptr_t near_the_end = UINTPTR_MAX - 4095;
    EXPECT_EQ(flat_pool_init(&pool, &options, in.exact_metadata(), {test::at(near_the_end), in.need.block_bytes}),
              FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_pool_init(&pool, &options, {test::at(UINTPTR_MAX - 63), in.need.metadata_bytes}, in.exact_blocks()),
              FLAT_INVALID_ARGUMENT);
}

TEST(pool_init, null_arguments_are_refused) {
    placed in;
    const flat_pool_options options = options_for(plain);
    flat_pool *pool = nullptr;
    EXPECT_EQ(flat_pool_init(nullptr, &options, in.exact_metadata(), in.exact_blocks()), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_pool_init(&pool, nullptr, in.exact_metadata(), in.exact_blocks()), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(in.init({nullptr, in.need.metadata_bytes}, in.exact_blocks()), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(in.init(in.exact_metadata(), {nullptr, in.need.block_bytes}), FLAT_INVALID_ARGUMENT);
}

TEST(pool_init, keeps_within_exactly_its_memory) {
    // The metadata ends at a page that cannot be written, with the smallest gap that its alignment allows.
    test::random_source random(test::seed());
    for (int round = 0; round < 200; round++) {
        const std::vector<flat_class> classes =
            ascending(1 + random.below(8), 16 * (1 + random.below(40)), random.magnitude(3000));
        const flat_pool_options options = options_for(classes);
        const flat_footprint need = footprint_of(classes);
        const std::size_t room = (need.metadata_bytes + 4095) / 4096 * 4096;
        mapping metadata(room + 4096, 4096), blocks(need.block_bytes, need.block_alignment, PROT_NONE);
        ASSERT_EQ(mprotect(metadata.start() + room, 4096, PROT_NONE), 0);
        char *start = metadata.start() + (room - need.metadata_bytes) / 64 * 64;
        std::memset(metadata.start(), 0x5a, static_cast<std::size_t>(start - metadata.start()));
        std::memset(start + need.metadata_bytes, 0x5a,
                    static_cast<std::size_t>(metadata.start() + room - start) - need.metadata_bytes);
        flat_pool *pool;
        ASSERT_EQ(flat_pool_init(&pool, &options, {start, need.metadata_bytes}, blocks.memory()), FLAT_OK);
        for (const flat_class &c : classes) {
            for (std::size_t i = 0; i < c.block_count; i++) ASSERT_NE(flat_pool_alloc(pool, c.block_size), nullptr);
            ASSERT_EQ(flat_pool_alloc(pool, c.block_size), nullptr);
        }
        ASSERT_EQ(flat_pool_check(pool), FLAT_OK) << "seed " << test::seed();
        EXPECT_TRUE(std::all_of(metadata.start(), start, [](char c) { return c == 0x5a; }));
        EXPECT_TRUE(
            std::all_of(start + need.metadata_bytes, metadata.start() + room, [](char c) { return c == 0x5a; }));
        flat_pool_destroy(pool);
    }
}

TEST(pool_init, reads_the_options_during_the_call_only) {
    std::vector<flat_class> classes = plain;
    flat_pool_options options = options_for(classes);
    const flat_footprint need = footprint_of(classes);
    mapping metadata(need.metadata_bytes, need.metadata_alignment), blocks(need.block_bytes, need.block_alignment);
    flat_pool *pool;
    ASSERT_EQ(flat_pool_init(&pool, &options, metadata.memory(), blocks.memory()), FLAT_OK);
    for (flat_class &c : classes) c = {1, 1};
    options = {};
    EXPECT_NE(flat_pool_alloc(pool, 4096), nullptr);
    EXPECT_EQ(flat_pool_check(pool), FLAT_OK);
    flat_pool_destroy(pool);
}

TEST(pool_reset, makes_every_block_free_again) {
    test_pool pool(plain, PROT_NONE);
    for (int round = 0; round < 3; round++) {
        void *first = flat_pool_alloc(pool, 48);
        for (int i = 1; i < 7; i++) ASSERT_NE(flat_pool_alloc(pool, 48), nullptr);
        ASSERT_EQ(flat_pool_alloc(pool, 48), nullptr);
        ASSERT_EQ(flat_pool_free(pool, first), FLAT_OK);
        flat_pool_reset(pool);
        ASSERT_EQ(flat_pool_check(pool), FLAT_OK);
        ASSERT_EQ(flat_pool_visit(pool, nullptr, nullptr), 0u);
        ASSERT_EQ(flat_pool_free(pool, first), FLAT_DOUBLE_FREE);
    }
}

TEST(pool_reset, forgets_high_water_marks_and_keeps_refusals) {
    test_pool pool({{16, 1}, {32, 1}}, PROT_NONE);
    ASSERT_NE(flat_pool_alloc(pool, 16), nullptr);
    ASSERT_EQ(flat_pool_alloc(pool, 16), nullptr);
    flat_pool_reset(pool);
    EXPECT_EQ(pool.stats()[0].high_water, 0u);
    EXPECT_EQ(pool.stats()[0].live, 0u);
    EXPECT_EQ(pool.stats()[0].refused, 1u);
}
