// Which block an address lies in, beside a plain map of intervals.
#include "audit/live_blocks.hpp"

#include <map>
#include <random>

#include <gtest/gtest.h>

namespace flat::audit {
namespace {

LiveBlock block_of(std::uint64_t start, std::uint64_t size, std::uint64_t born = 0, std::uint32_t stack = 1) {
    LiveBlock block;
    block.start = start;
    block.size = size;
    block.born = born;
    block.stack = stack;
    return block;
}

TEST(live_blocks, have_every_address_from_their_start_to_before_their_end) {
    for (const std::uint64_t size : {1UL, 16UL, 4095UL, 4096UL, 4097UL, 100000UL}) {
        LiveBlocks blocks;
        blocks.add(block_of(0x10ff0, size));
        EXPECT_FALSE(blocks.at(0x10fef)) << size;
        EXPECT_TRUE(blocks.at(0x10ff0)) << size;
        EXPECT_TRUE(blocks.at(0x10ff0 + size - 1)) << size;
        EXPECT_FALSE(blocks.at(0x10ff0 + size)) << size;
    }
}

TEST(live_blocks, of_no_bytes_have_their_start) {
    LiveBlocks blocks;
    blocks.add(block_of(0x1000, 0));
    EXPECT_TRUE(blocks.at(0x1000));
    EXPECT_FALSE(blocks.at(0x1001));
    blocks.remove(0x1000, 1);
    EXPECT_FALSE(blocks.at(0x1000));
    blocks.add(block_of(0, 100));
    EXPECT_FALSE(blocks.at(0)) << "no block";
}

TEST(live_blocks, that_were_born_after_a_free_began_outlive_it) {
    for (const std::uint64_t size : {16UL, 100000UL}) {
        LiveBlocks blocks;
        blocks.add(block_of(0x1000, size, 50));
        blocks.remove(0x1000, 49);
        EXPECT_TRUE(blocks.at(0x1000));
        blocks.remove(0x1000, 50);
        EXPECT_FALSE(blocks.at(0x1000));
    }
}

TEST(live_blocks, take_the_place_of_one_whose_free_was_not_seen) {
    for (const std::uint64_t before : {16UL, 100000UL})
        for (const std::uint64_t after : {32UL, 200000UL}) {
            LiveBlocks blocks;
            blocks.add(block_of(0x1000, before, 1, 1));
            blocks.add(block_of(0x1000, after, 2, 2));
            ASSERT_TRUE(blocks.at(0x1000));
            EXPECT_EQ(blocks.at(0x1000)->stack, 2U) << before << " " << after;
            blocks.remove(0x1000, 3);
            EXPECT_FALSE(blocks.at(0x1000)) << before << " " << after;
        }
}

/// Blocks that do not overlap, taken and given back at random.
TEST(live_blocks, agree_with_a_map_of_intervals) {
    std::mt19937_64 chance(1);
    LiveBlocks blocks;
    std::map<std::uint64_t, LiveBlock> model;
    const auto found = [&](std::uint64_t address) {
        const auto after = model.upper_bound(address);
        if (after == model.begin()) return std::uint32_t{0};
        const LiveBlock &block = std::prev(after)->second;
        return address - block.start < std::max<std::uint64_t>(block.size, 1) ? block.stack : 0;
    };
    for (std::uint32_t i = 1; i < 60000; i++) {
        const std::uint64_t start = 0x10000 + chance() % 4096 * 16;
        const std::uint64_t size = chance() % 8 == 0 ? chance() % 20000 : chance() % 200;
        if (chance() % 2 == 0 && model.count(start) != 0) {
            blocks.remove(start, i);
            model.erase(start);
        }
        const auto next = model.lower_bound(start);
        if (found(start) == 0 && (next == model.end() || next->first >= start + std::max<std::uint64_t>(size, 1))) {
            blocks.add(block_of(start, size, i, i));
            model[start] = block_of(start, size, i, i);
        }
        const std::uint64_t address = 0x10000 + chance() % (4096 * 16);
        const auto there = blocks.at(address);
        ASSERT_EQ(there ? there->stack : 0, found(address));
    }
}

} // namespace
} // namespace flat::audit
