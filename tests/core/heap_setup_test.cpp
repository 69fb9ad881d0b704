// heap_setup.c: footprint, init, reset, and the arguments of the bound. heap_bound_test.cpp tests that the bound holds.
#include "core/environment.hpp"
#include "core/random_source.hpp"
#include "core/test_heap.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <iostream>
#include <vector>

namespace {

using test::at;
using test::mapping;
using test::random_source;

constexpr std::size_t most = std::size_t{64} << 30;

flat_footprint footprint_of(std::size_t bytes) {
    flat_footprint footprint{};
    EXPECT_EQ(flat_heap_footprint(bytes, &footprint), FLAT_OK) << bytes;
    return footprint;
}

// Memory for a heap of 100 KiB, filled with 0x5a, with room to misplace the heap.
struct placed {
    static constexpr std::size_t bytes = 100 << 10;
    const flat_footprint need = footprint_of(bytes);
    mapping metadata{need.metadata_bytes + 4096, 4096}, blocks{bytes + 4096, 4096};

    placed() { std::memset(metadata.start(), 0x5a, metadata.size()); }
    flat_memory exact_metadata() const { return {metadata.start(), need.metadata_bytes}; }
    flat_memory exact_blocks() const { return {blocks.start(), bytes}; }

    // Returns the status of init. Checks that a failure writes nothing but the pointer, which is then NULL.
    flat_status init(flat_memory metadata_given, flat_memory blocks_given) {
        const std::vector<char> before(metadata.start(), metadata.start() + metadata.size());
        flat_heap *heap = reinterpret_cast<flat_heap *>(this);
        const flat_status status = flat_heap_init(&heap, metadata_given, blocks_given);
        if (status != FLAT_OK) {
            EXPECT_EQ(heap, nullptr);
            EXPECT_EQ(std::memcmp(before.data(), metadata.start(), before.size()), 0) << "it wrote all the same";
        } else {
            EXPECT_EQ(flat_heap_check(heap), FLAT_OK);
            EXPECT_NE(flat_heap_alloc(heap, 64 << 10), nullptr);
            flat_heap_destroy(heap);
        }
        return status;
    }
};

flat_status bound_of(const flat_heap_demand &demand) {
    std::size_t bytes = 77;
    const flat_status status = flat_heap_bound(&demand, &bytes);
    EXPECT_EQ(bytes == 77, status != FLAT_OK) << "written iff it succeeded";
    return status;
}

std::size_t bytes_for(const flat_heap_demand &demand) {
    std::size_t bytes = 0;
    EXPECT_EQ(flat_heap_bound(&demand, &bytes), FLAT_OK);
    return bytes;
}

} // namespace

TEST(heap_footprint, is_the_same_in_every_build_type) {
    static_assert(sizeof(void *) == 8, "narrower pointers make a smaller header");
    // The values are constants, so that a build with a different layout or capacity fails here.
    const struct {
        std::size_t bytes;
        flat_footprint expected;
    } table[] = {
        {512, {340, 64, 512, 512}},          {1023, {340, 64, 512, 512}},      {1024, {352, 64, 1024, 512}},
        {65536, {1864, 64, 65536, 512}},     {100000, {2668, 64, 99840, 512}}, {1 << 20, {24904, 64, 1 << 20, 512}},
        {most, {1610613064, 64, most, 512}},
    };
    for (const auto &row : table) {
        const flat_footprint need = footprint_of(row.bytes);
        EXPECT_EQ(need.metadata_bytes, row.expected.metadata_bytes) << row.bytes;
        EXPECT_EQ(need.metadata_alignment, row.expected.metadata_alignment);
        EXPECT_EQ(need.block_bytes, row.expected.block_bytes);
        EXPECT_EQ(need.block_alignment, row.expected.block_alignment);
    }
}

TEST(heap_footprint, has_a_smallest_and_a_largest_region) {
    flat_footprint footprint{1, 2, 3, 4};
    for (std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{511}, most + 1, most + 512, SIZE_MAX}) {
        EXPECT_EQ(flat_heap_footprint(bytes, &footprint), FLAT_INVALID_ARGUMENT) << bytes;
        EXPECT_EQ(footprint.metadata_bytes, 1u);
        EXPECT_EQ(footprint.metadata_alignment, 2u);
        EXPECT_EQ(footprint.block_bytes, 3u);
        EXPECT_EQ(footprint.block_alignment, 4u);
    }
    EXPECT_EQ(flat_heap_footprint(512, nullptr), FLAT_INVALID_ARGUMENT);
}

TEST(heap_footprint, of_metadata_is_under_2_9_percent_from_64_kib_on) {
    const auto share = [](std::size_t bytes) {
        return static_cast<double>(footprint_of(bytes).metadata_bytes) / static_cast<double>(bytes);
    };
    for (std::size_t bytes = 64 << 10; bytes <= 1 << 20; bytes++) ASSERT_LT(share(bytes), 0.029) << bytes;
    for (std::size_t bytes = 1 << 20; bytes <= most; bytes *= 2) {
        ASSERT_LT(share(bytes), 0.029);
        ASSERT_LT(share(bytes - 1), 0.029);
    }
}

TEST(heap_init, succeeds_with_exactly_the_footprint) {
    placed in;
    EXPECT_EQ(in.init(in.exact_metadata(), in.exact_blocks()), FLAT_OK);
    EXPECT_EQ(in.init({in.metadata.start() + 64, in.need.metadata_bytes}, {in.blocks.start() + 512, in.bytes}), FLAT_OK)
        << "no more alignment is needed than was said";
}

TEST(heap_init, refuses_metadata_too_small) {
    placed in;
    for (std::size_t size : {in.need.metadata_bytes - 1, std::size_t{64}, std::size_t{0}}) {
        EXPECT_EQ(in.init({in.metadata.start(), size}, in.exact_blocks()), FLAT_OUT_OF_MEMORY);
    }
}

TEST(heap_init, refuses_a_size_out_of_range) {
    placed in;
    for (std::size_t size : {std::size_t{0}, std::size_t{511}, most + 1, SIZE_MAX}) {
        EXPECT_EQ(in.init(in.exact_metadata(), {in.blocks.start(), size}), FLAT_INVALID_ARGUMENT) << size;
    }
}

TEST(heap_init, refuses_misaligned_memory) {
    placed in;
    for (std::size_t by = 1; by < 64; by++) {
        EXPECT_EQ(in.init({in.metadata.start() + by, in.need.metadata_bytes}, in.exact_blocks()),
                  FLAT_INVALID_ARGUMENT);
    }
    for (std::size_t by : {1u, 8u, 16u, 64u, 256u, 511u, 513u}) {
        EXPECT_EQ(in.init(in.exact_metadata(), {in.blocks.start() + by, in.bytes}), FLAT_INVALID_ARGUMENT) << by;
    }
}

TEST(heap_init, refuses_memories_that_overlap_and_accepts_those_that_touch) {
    placed in;
    const std::size_t metadata_bytes = (in.need.metadata_bytes + 511) / 512 * 512;
    mapping both(in.bytes + 2 * metadata_bytes, 4096);
    flat_heap *heap;
    const auto init = [&](char *metadata, char *blocks) {
        return flat_heap_init(&heap, {metadata, in.need.metadata_bytes}, {blocks, in.bytes});
    };
    char *blocks = both.start() + metadata_bytes;
    EXPECT_EQ(init(both.start(), blocks), FLAT_OK);
    flat_heap_destroy(heap);
    EXPECT_EQ(init(blocks + in.bytes, blocks), FLAT_OK);
    flat_heap_destroy(heap);
    for (char *metadata : {both.start() + 512, blocks, blocks + 4096, blocks + in.bytes - 64}) {
        EXPECT_EQ(init(metadata, blocks), FLAT_INVALID_ARGUMENT);
    }
}

TEST(heap_init, refuses_memories_that_wrap_around) {
    placed in;
    EXPECT_EQ(in.init(in.exact_metadata(), {at(UINTPTR_MAX - 511), in.bytes}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(in.init({at(UINTPTR_MAX - 63), in.need.metadata_bytes}, in.exact_blocks()), FLAT_INVALID_ARGUMENT);
}

TEST(heap_init, refuses_null) {
    placed in;
    EXPECT_EQ(flat_heap_init(nullptr, in.exact_metadata(), in.exact_blocks()), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(in.init({nullptr, in.need.metadata_bytes}, in.exact_blocks()), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(in.init(in.exact_metadata(), {nullptr, in.bytes}), FLAT_INVALID_ARGUMENT);
}

TEST(heap_init, writes_all_of_the_metadata) {
    // Init writes all metadata, so that no later call faults in a page of it or depends on its previous contents.
    placed in;
    std::vector<char> made[2];
    for (int i = 0; i < 2; i++) {
        std::memset(in.metadata.start(), i == 0 ? 0x5a : 0xa5, in.metadata.size());
        flat_heap *heap;
        ASSERT_EQ(flat_heap_init(&heap, in.exact_metadata(), in.exact_blocks()), FLAT_OK);
        made[i].assign(in.metadata.start(), in.metadata.start() + in.need.metadata_bytes);
        flat_heap_destroy(heap);
    }
    std::size_t kept = 0; // only padding, which is less than a cache line
    for (std::size_t i = 0; i < made[0].size(); i++) kept += made[0][i] != made[1][i];
    EXPECT_LT(kept, 64u);
}

TEST(heap_init, keeps_within_exactly_its_memory) {
    // The metadata ends at a page that cannot be written, with the smallest gap that its alignment allows (no gap for
    // 40, 104, 168, .. cells), and no block can be touched at all.
    std::cout << "seed: FLATLINE_TEST_SEED=" << test::seed() << std::endl;
    random_source random(test::seed());
    for (int round = 0; round < 200; round++) {
        const std::size_t cells = round % 2 == 0 ? random.magnitude(4096) : 40 + 64 * random.below(60);
        const std::size_t bytes = 512 * cells + random.below(512);
        const flat_footprint need = footprint_of(bytes);
        const std::size_t room = (need.metadata_bytes + 4095) / 4096 * 4096;
        mapping metadata(room + 4096, 4096), blocks(need.block_bytes, 4096, PROT_NONE);
        ASSERT_EQ(mprotect(metadata.start() + room, 4096, PROT_NONE), 0);
        char *start = metadata.start() + (room - need.metadata_bytes) / 64 * 64;
        const std::vector<char> sentinel(4096, 0x5a);
        std::memset(metadata.start(), 0x5a, room);
        flat_heap *heap;
        ASSERT_EQ(flat_heap_init(&heap, {start, need.metadata_bytes}, {blocks.start(), bytes}), FLAT_OK);
        std::vector<void *> live;
        for (int step = 0; step < 400; step++) {
            if (void *block = flat_heap_alloc(heap, random.magnitude(bytes))) live.push_back(block);
            if (live.empty() || random.one_in(2)) continue;
            std::swap(live[random.below(live.size())], live.back());
            ASSERT_EQ(flat_heap_free(heap, live.back()), FLAT_OK);
            live.pop_back();
        }
        for (void *block : live) ASSERT_EQ(flat_heap_free(heap, block), FLAT_OK);
        while (flat_heap_alloc(heap, 32) != nullptr) {
        }
        ASSERT_EQ(flat_heap_free(heap, blocks.start() + need.block_bytes), FLAT_FOREIGN_POINTER);
        ASSERT_EQ(flat_heap_check(heap), FLAT_OK) << "seed " << test::seed();
        const std::size_t below = static_cast<std::size_t>(start - metadata.start());
        EXPECT_EQ(std::memcmp(metadata.start(), sentinel.data(), below), 0);
        EXPECT_EQ(std::memcmp(start + need.metadata_bytes, sentinel.data(), room - below - need.metadata_bytes), 0);
        flat_heap_destroy(heap);
    }
}

TEST(heap_init, of_a_region_of_gibibytes) {
    // The largest heap has 1.5 GiB of metadata, so only a long test run creates it.
    const std::size_t bytes = test::scaled(1) >= 10 ? most : most / 32;
    if (test::address_budget < 2 * bytes) GTEST_SKIP() << "this build has too little address space";
    const flat_footprint need = footprint_of(bytes);
    mapping blocks(bytes, 4096, PROT_NONE), metadata(need.metadata_bytes, 4096);
    flat_heap *heap;
    ASSERT_EQ(flat_heap_init(&heap, metadata.memory(), blocks.memory()), FLAT_OK);
    void *all = flat_heap_alloc(heap, bytes);
    EXPECT_EQ(all, blocks.start());
    EXPECT_EQ(flat_heap_usable_size(heap, all), bytes);
    EXPECT_EQ(flat_heap_alloc(heap, 1), nullptr);
    EXPECT_EQ(flat_heap_free(heap, at(test::address_of(all) + bytes - 1)), FLAT_INTERIOR_POINTER);
    EXPECT_EQ(flat_heap_free(heap, at(test::address_of(all) + bytes / 2)), FLAT_INTERIOR_POINTER);
    EXPECT_EQ(flat_heap_free(heap, at(test::address_of(all) + bytes)), FLAT_FOREIGN_POINTER);
    EXPECT_EQ(flat_heap_free(heap, all), FLAT_OK);
    void *small = flat_heap_alloc(heap, 1);
    EXPECT_EQ(small, blocks.start()) << "every halving there is";
    EXPECT_EQ(flat_heap_free(heap, at(test::address_of(all) + bytes - 1)), FLAT_DOUBLE_FREE);
    flat_heap_stats stats;
    flat_heap_get_stats(heap, &stats);
    EXPECT_EQ(stats.largest_free, bytes / 2);
    EXPECT_EQ(flat_heap_free(heap, small), FLAT_OK);
    flat_heap_get_stats(heap, &stats);
    EXPECT_EQ(stats.largest_free, bytes) << "every merge there is";
    flat_heap_destroy(heap);
}

TEST(heap_bound_arguments, out_of_range_are_refused) {
    std::size_t bytes;
    const flat_heap_demand right{1000, 10, 100, 64, true};
    EXPECT_EQ(bound_of(right), FLAT_OK);
    EXPECT_EQ(flat_heap_bound(nullptr, &bytes), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_heap_bound(&right, nullptr), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(bound_of({0, 0, 0, 0, false}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(bound_of({1000, 0, 100, 0, false}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(bound_of({1000, 101, 100, 0, false}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(bound_of({99, 10, 100, 0, false}), FLAT_INVALID_ARGUMENT);
    for (std::size_t alignment : {std::size_t{3}, std::size_t{48}, SIZE_MAX, (std::size_t{1} << 63) + 1}) {
        EXPECT_EQ(bound_of({1000, 10, 100, alignment, false}), FLAT_INVALID_ARGUMENT) << alignment;
    }
    EXPECT_EQ(bound_of({1, 1, 1, 1, true}), FLAT_OK);
    EXPECT_EQ(bound_of({100, 100, 100, 0, false}), FLAT_OK);
}

TEST(heap_bound_arguments, that_ask_for_more_than_the_largest_region_are_refused) {
    EXPECT_EQ(bound_of({SIZE_MAX, 1, 1, 0, false}), FLAT_OUT_OF_MEMORY);
    EXPECT_EQ(bound_of({SIZE_MAX, SIZE_MAX, SIZE_MAX, 0, true}), FLAT_OUT_OF_MEMORY);
    EXPECT_EQ(bound_of({SIZE_MAX, 1, std::size_t{1} << 30, std::size_t{1} << 63, true}), FLAT_OUT_OF_MEMORY);
    EXPECT_EQ(bound_of({most + 1, most + 1, most + 1, 0, false}), FLAT_OUT_OF_MEMORY);
    EXPECT_EQ(bound_of({1, 1, 1, most * 2, false}), FLAT_OUT_OF_MEMORY);
    EXPECT_EQ(bound_of({most, 1, most, 0, false}), FLAT_OUT_OF_MEMORY);
    EXPECT_EQ(bound_of({most, 256, 512, 0, true}), FLAT_OUT_OF_MEMORY);
    EXPECT_EQ(bytes_for({most, 512, 512, 0, true}), most) << "blocks of one size never move";
    EXPECT_EQ(bytes_for({most, 512, 512, 0, false}), most);
    EXPECT_EQ(bytes_for({most + 511, 512, 512, 0, false}), most) << "the same number of blocks";
    EXPECT_EQ(bytes_for({most, most, most, 0, false}), most);
    EXPECT_EQ(bytes_for({1, 1, 1, most, false}), most) << "one byte, aligned to everything";
}

TEST(heap_bound_arguments, of_one_block_size_give_just_that) {
    for (std::size_t size = 32; size <= 1 << 20; size *= 2) {
        for (std::size_t count : {2u, 3u, 100u}) {
            const std::size_t exact = (size * count + 511) / 512 * 512;
            EXPECT_EQ(bytes_for({size * count, size, size, 0, false}), exact) << size << " x " << count;
            EXPECT_EQ(bytes_for({size / 2 * count + count, size / 2 + 1, size, 0, false}), exact)
                << size << " x " << count;
        }
    }
}

TEST(heap_bound_arguments, grow_with_the_demand) {
    // The bound must not shrink when a member grows, or when `smallest` shrinks.
    std::cout << "seed: FLATLINE_TEST_SEED=" << test::seed() << std::endl;
    random_source random(test::seed());
    for (std::size_t round = 0; round < test::scaled(20000); round++) {
        flat_heap_demand demand{};
        demand.largest = random.magnitude(1 << 20);
        demand.smallest = random.magnitude(demand.largest);
        demand.live = demand.largest + random.magnitude(1 << 26);
        demand.alignment = std::size_t{1} << random.below(13);
        std::size_t bytes;
        if (flat_heap_bound(&demand, &bytes) != FLAT_OK) continue;
        ASSERT_EQ(bytes % test::heap_block_size(std::max<std::size_t>(demand.largest, 512)), 0u);
        ASSERT_GE(bytes + 2 * demand.largest, demand.live);
        flat_heap_demand more = demand;
        switch (random.below(5)) {
        case 0: more.live += random.magnitude(1 << 20); break;
        case 1: more.smallest -= random.below(more.smallest); break;
        case 2: more.largest += random.below(more.live - more.largest + 1); break;
        case 3: more.alignment *= 2; break;
        default: more.reallocates = true;
        }
        std::size_t grown;
        if (flat_heap_bound(&more, &grown) != FLAT_OK) continue;
        // If the largest block changed, rounding to whole blocks may make the bound smaller by up to this much.
        ASSERT_GE(grown + 2 * test::heap_block_size(std::max(more.largest, more.alignment)), bytes)
            << "seed " << test::seed() << ": live " << demand.live << ", " << demand.smallest << " to "
            << demand.largest << " at " << demand.alignment;
    }
}
