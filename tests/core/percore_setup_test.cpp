// percore_setup.c: footprint and init of a set.
#include "core/environment.hpp"
#include "core/percore_state.h"
#include "core/placing.hpp"
#include "core/random_source.hpp"
#include "core/test_percore.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

using test::mapping;
using test::take_all;
using test::test_percore;

flat_percore_options options_for(const std::vector<flat_class> &classes, std::size_t shards) {
    return {classes.data(), classes.size(), shards};
}

// The status that footprint and init both give these options; init gets memory enough for any small set.
flat_status status_of(const flat_percore_options &options) {
    flat_footprint untouched{1, 2, 3, 4};
    const flat_status status = flat_percore_footprint(&options, &untouched);
    if (status != FLAT_OK) {
        EXPECT_EQ(untouched.metadata_bytes, 1u);
        EXPECT_EQ(untouched.metadata_alignment, 2u);
        EXPECT_EQ(untouched.block_bytes, 3u);
        EXPECT_EQ(untouched.block_alignment, 4u);
        alignas(128) static char metadata[1 << 16];
        alignas(4096) static char blocks[1 << 16];
        flat_percore *set = reinterpret_cast<flat_percore *>(metadata);
        EXPECT_EQ(flat_percore_init(&set, &options, {metadata, sizeof metadata}, {blocks, sizeof blocks}), status);
        EXPECT_EQ(set, nullptr);
        EXPECT_EQ(std::count(metadata, metadata + sizeof metadata, 0), std::ptrdiff_t{sizeof metadata});
    }
    return status;
}

flat_status status_of(const std::vector<flat_class> &classes, std::size_t shards = 2) {
    return status_of(options_for(classes, shards));
}

flat_footprint footprint_of(const std::vector<flat_class> &classes, std::size_t shards) {
    const flat_percore_options options = options_for(classes, shards);
    flat_footprint footprint{};
    EXPECT_EQ(flat_percore_footprint(&options, &footprint), FLAT_OK);
    return footprint;
}

std::vector<flat_class> ascending(std::size_t count, std::size_t step = 16, std::size_t blocks = 1) {
    std::vector<flat_class> classes;
    for (std::size_t i = 1; i <= count; i++) classes.push_back({i * step, blocks});
    return classes;
}

// As large as a shard can be: a little below 2^58 bytes.
std::vector<flat_class> largest_shard() {
    std::vector<flat_class> classes;
    for (std::size_t i = 64; i-- > 0;) {
        classes.push_back({FLAT_POOL_MAX_BLOCK_SIZE - 16 * i, FLAT_PERCORE_MAX_BLOCK_COUNT});
    }
    return classes;
}

const std::vector<flat_class> plain = {{16, 10}, {48, 700}, {4096, 3}};
constexpr std::size_t plain_shards = 3;

class placed : public test::placing<flat_percore, flat_percore_options, flat_percore_init, flat_percore_destroy> {
  public:
    placed() : placing(options_for(plain, plain_shards), footprint_of(plain, plain_shards)) {}
};

} // namespace

TEST(percore_options, from_one_shard_up_to_the_limit) {
    EXPECT_EQ(status_of(plain, 0), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of(plain, 1), FLAT_OK);
    EXPECT_EQ(status_of(plain, FLAT_PERCORE_MAX_SHARDS), FLAT_OK);
    EXPECT_EQ(status_of(plain, FLAT_PERCORE_MAX_SHARDS + 1), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of(plain, SIZE_MAX), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of(plain, (std::size_t{1} << 32) + 1), FLAT_INVALID_ARGUMENT) << "must not be cut to 32 bits";
}

TEST(percore_options, from_one_class_up_to_the_limit) {
    EXPECT_EQ(status_of(std::vector<flat_class>{}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of({plain.data(), 0, 1}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of({nullptr, 1, 1}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of(ascending(64)), FLAT_OK);
    EXPECT_EQ(status_of(ascending(65)), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of({plain.data(), SIZE_MAX, 1}), FLAT_INVALID_ARGUMENT);
}

TEST(percore_options, sizes_in_range_that_ascend_when_rounded) {
    EXPECT_EQ(status_of({{0, 1}}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of({{1, 1}}), FLAT_OK);
    EXPECT_EQ(status_of({{FLAT_POOL_MAX_BLOCK_SIZE, 1}}), FLAT_OK);
    EXPECT_EQ(status_of({{FLAT_POOL_MAX_BLOCK_SIZE + 1, 1}}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of({{SIZE_MAX, 1}}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of({{64, 1}, {32, 1}}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of({{17, 1}, {32, 1}}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of({{16, 1}, {17, 1}}), FLAT_OK);
}

TEST(percore_options, from_one_block_up_to_the_limit_in_any_class) {
    EXPECT_EQ(FLAT_PERCORE_MAX_BLOCK_COUNT, 4194304u);
    EXPECT_EQ(status_of({{16, 0}}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of({{16, FLAT_PERCORE_MAX_BLOCK_COUNT}}), FLAT_OK);
    EXPECT_EQ(status_of({{16, FLAT_PERCORE_MAX_BLOCK_COUNT + 1}}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of({{16, 1}, {32, FLAT_PERCORE_MAX_BLOCK_COUNT + 1}}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of({{16, FLAT_PERCORE_MAX_BLOCK_COUNT + 1}, {32, 1}}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of({{16, SIZE_MAX}}), FLAT_INVALID_ARGUMENT);
}

TEST(percore_options, blocks_in_all_up_to_half_of_what_a_difference_of_pointers_can_be) {
    static_assert(sizeof(void *) == 8, "on narrower targets a shard as large exceeds the limit alone");
    const std::vector<flat_class> classes = largest_shard();
    constexpr auto limit = static_cast<std::size_t>(PTRDIFF_MAX / 2);
    const std::size_t stride = footprint_of(classes, 1).block_bytes;
    const std::size_t most = limit / stride;
    ASSERT_GE(most, 10u);
    ASSERT_LT(most, std::size_t{FLAT_PERCORE_MAX_SHARDS});
    for (std::size_t shards : {most / 2, most / 2 + 1, most}) {
        EXPECT_EQ(footprint_of(classes, shards).block_bytes, shards * stride) << shards;
    }
    EXPECT_EQ(status_of(classes, most + 1), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of(classes, FLAT_PERCORE_MAX_SHARDS), FLAT_INVALID_ARGUMENT) << "2^65 must not wrap around";
}

TEST(percore_footprint, null_arguments_are_refused) {
    const flat_percore_options options = options_for(plain, 1);
    flat_footprint footprint;
    EXPECT_EQ(flat_percore_footprint(nullptr, &footprint), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_percore_footprint(&options, nullptr), FLAT_INVALID_ARGUMENT);
}

TEST(percore_footprint, is_the_same_in_every_build_type) {
    // Constants, so that a build in which a layout or a capacity differs fails here.
    const struct {
        std::vector<flat_class> classes;
        std::size_t shards;
        flat_footprint expected;
    } table[] = {
        {{{1, 1}}, 1, {1408, 128, 128, 128}},
        {{{16, 10}, {48, 700}, {4096, 3}}, 3, {14208, 128, 147456, 4096}},
        {{{64, 8192}}, 8, {274688, 128, 4194304, 128}},
        {{{64, 8193}}, 8, {276736, 128, 4195328, 128}},
        {{{48, FLAT_PERCORE_MAX_BLOCK_COUNT}}, 2, {34089216, 128, 402653184, 128}},
        {{{17, 1001}, {100, 333}, {5000, 77}, {100000, 3}}, 2, {16384, 128, 1550336, 128}},
        {{{FLAT_POOL_MAX_BLOCK_SIZE, FLAT_PERCORE_MAX_BLOCK_COUNT}}, 512, {8726839552, 128, 2305843009213693952, 4096}},
        {ascending(64), 16, {371328, 128, 589824, 1024}},
    };
    for (const auto &row : table) {
        const flat_footprint need = footprint_of(row.classes, row.shards);
        EXPECT_EQ(need.metadata_bytes, row.expected.metadata_bytes) << need.metadata_bytes;
        EXPECT_EQ(need.metadata_alignment, row.expected.metadata_alignment) << need.metadata_alignment;
        EXPECT_EQ(need.block_bytes, row.expected.block_bytes) << need.block_bytes;
        EXPECT_EQ(need.block_alignment, row.expected.block_alignment) << need.block_alignment;
    }
}

TEST(percore_footprint, a_block_of_a_large_class_takes_less_than_five_bytes_of_metadata) {
    for (std::size_t count : {100000u, 4194304u}) {
        EXPECT_LE(footprint_of({{64, count}}, 4).metadata_bytes, 4 * count * 5) << count;
    }
}

TEST(percore_init, succeeds_with_exactly_the_footprint) {
    placed in;
    EXPECT_EQ(in.init(in.exact_metadata(), in.exact_blocks()), FLAT_OK);
}

TEST(percore_init, refuses_memory_one_byte_too_small) {
    placed in;
    flat_memory metadata = in.exact_metadata(), blocks = in.exact_blocks();
    metadata.size--;
    EXPECT_EQ(in.init(metadata, in.exact_blocks()), FLAT_OUT_OF_MEMORY);
    blocks.size--;
    EXPECT_EQ(in.init(in.exact_metadata(), blocks), FLAT_OUT_OF_MEMORY);
}

TEST(percore_init, refuses_memory_that_is_not_aligned_as_the_footprint_says) {
    placed in;
    for (std::size_t by = 1; by < in.need.metadata_alignment; by++) {
        flat_memory metadata{in.metadata.start() + by, in.need.metadata_bytes};
        ASSERT_EQ(in.init(metadata, in.exact_blocks()), FLAT_INVALID_ARGUMENT) << by;
    }
    for (std::size_t by : {1u, 16u, 128u, 2048u, 4095u}) {
        flat_memory blocks{in.blocks.start() + by, in.need.block_bytes};
        ASSERT_EQ(in.init(in.exact_metadata(), blocks), FLAT_INVALID_ARGUMENT) << by;
    }
    const flat_memory metadata{in.metadata.start() + in.need.metadata_alignment, in.need.metadata_bytes};
    const flat_memory blocks{in.blocks.start() + in.need.block_alignment, in.need.block_bytes};
    EXPECT_EQ(in.init(metadata, blocks), FLAT_OK) << "no more alignment is needed than was said";
}

TEST(percore_init, refuses_null_and_memories_that_overlap_or_wrap_around) {
    placed in;
    const flat_percore_options options = options_for(plain, plain_shards);
    flat_percore *set = nullptr;
    EXPECT_EQ(flat_percore_init(nullptr, &options, in.exact_metadata(), in.exact_blocks()), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_percore_init(&set, nullptr, in.exact_metadata(), in.exact_blocks()), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(in.init({nullptr, in.need.metadata_bytes}, in.exact_blocks()), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(in.init(in.exact_metadata(), {nullptr, in.need.block_bytes}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(in.init(in.exact_metadata(), {in.metadata.start(), in.need.block_bytes}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(in.init(in.exact_metadata(), {test::at(UINTPTR_MAX - 4095), in.need.block_bytes}), FLAT_INVALID_ARGUMENT);
}

TEST(percore_init, keeps_within_exactly_its_memory) {
    // The metadata ends at a page that cannot be written, with the smallest gap that its alignment allows.
    test::random_source random(test::seed());
    for (int round = 0; round < 200; round++) {
        const std::vector<flat_class> classes =
            ascending(1 + random.below(8), 16 * (1 + random.below(40)), random.magnitude(9000));
        const flat_percore_options options = options_for(classes, 1 + random.below(4));
        const flat_footprint need = footprint_of(classes, options.shard_count);
        const std::size_t room = (need.metadata_bytes + 4095) / 4096 * 4096;
        mapping metadata(room + 4096, 4096), blocks(need.block_bytes, need.block_alignment, PROT_NONE);
        ASSERT_EQ(mprotect(metadata.start() + room, 4096, PROT_NONE), 0);
        const std::size_t before = (room - need.metadata_bytes) / need.metadata_alignment * need.metadata_alignment;
        char *start = metadata.start() + before, *end = start + need.metadata_bytes;
        std::memset(metadata.start(), 0x5a, room);
        flat_percore *set;
        ASSERT_EQ(flat_percore_init(&set, &options, {start, need.metadata_bytes}, blocks.memory()), FLAT_OK);
        for (std::size_t s = 0; s < options.shard_count; s++) {
            flat_pool *shard = flat_percore_shard(set, s);
            ASSERT_EQ(flat_percore_check(shard), FLAT_OK) << "whatever was in the memory";
            for (const flat_class &c : classes) {
                for (int again = 0; again < 2; again++) {
                    const std::vector<void *> all = take_all(shard, c.block_size);
                    ASSERT_EQ(all.size(), c.block_count);
                    for (void *block : all) {
                        ASSERT_GE(block, blocks.start());
                        ASSERT_LE(static_cast<char *>(block) + c.block_size, blocks.start() + need.block_bytes);
                        ASSERT_EQ(flat_percore_free(set, block), FLAT_OK);
                    }
                }
            }
            ASSERT_EQ(flat_percore_check(shard), FLAT_OK) << "seed " << test::seed();
        }
        EXPECT_TRUE(std::all_of(metadata.start(), start, [](char c) { return c == 0x5a; }));
        EXPECT_TRUE(std::all_of(end, metadata.start() + room, [](char c) { return c == 0x5a; }));
        flat_percore_destroy(set);
    }
}

TEST(percore_init, reads_the_options_during_the_call_only) {
    std::vector<flat_class> classes = plain;
    flat_percore_options options = options_for(classes, 2);
    const flat_footprint need = footprint_of(classes, 2);
    mapping metadata(need.metadata_bytes, need.metadata_alignment), blocks(need.block_bytes, need.block_alignment);
    flat_percore *set;
    ASSERT_EQ(flat_percore_init(&set, &options, metadata.memory(), blocks.memory()), FLAT_OK);
    for (flat_class &c : classes) c = {1, 1};
    options = {};
    void *block = flat_percore_alloc(flat_percore_shard(set, 1), 4096);
    EXPECT_NE(block, nullptr);
    EXPECT_EQ(flat_percore_free(set, block), FLAT_OK);
    EXPECT_EQ(flat_percore_check(flat_percore_shard(set, 1)), FLAT_OK);
    flat_percore_destroy(set);
}

TEST(percore_init, blocks_are_aligned_in_every_shard) {
    test_percore set({{16, 3}, {48, 5}, {64, 7}, {192, 3}, {4096, 2}, {12288, 3}}, 5);
    for (std::size_t s = 0; s < 5; s++) {
        for (const flat_class &c : set.classes()) {
            const std::size_t alignment = std::min<std::size_t>(c.block_size & (0 - c.block_size), 4096);
            for (void *block : take_all(set.shard(s), c.block_size)) {
                ASSERT_EQ(test::address_of(block) % alignment, 0u) << c.block_size;
            }
        }
    }
}

TEST(percore_init, what_one_side_writes_is_two_cache_lines_from_what_the_other_does) {
    for (const auto &classes : {std::vector<flat_class>{{16, 1}}, plain, ascending(64, 32, 3), ascending(7, 16, 201),
                                std::vector<flat_class>{{16, 9000}, {48, 127}, {64, 8191}}}) {
        for (std::size_t shards : {1u, 3u}) {
            test_percore set(classes, shards);
            EXPECT_TRUE(percore_sides_are_apart(set)) << classes.size() << " classes";
        }
    }
}
