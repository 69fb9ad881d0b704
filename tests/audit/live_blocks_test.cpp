// Which block an address lies in, beside a plain map of intervals.
#include "audit/live_blocks.hpp"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <map>
#include <random>
#include <vector>

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

/// Blocks about which the addresses given will be asked, each once.
LiveBlocks expecting(std::initializer_list<std::uint64_t> addresses) {
    LiveBlocks blocks;
    for (const std::uint64_t address : addresses) blocks.expect(address);
    return blocks;
}

TEST(live_blocks, have_every_address_from_their_start_to_before_their_end) {
    for (const std::uint64_t size : {1UL, 16UL, 4095UL, 4096UL, 4097UL, 100000UL}) {
        LiveBlocks blocks = expecting({0x10fef, 0x10ff0, 0x10ff0 + size - 1, 0x10ff0 + size});
        blocks.add(block_of(0x10ff0, size));
        EXPECT_FALSE(blocks.at(0x10fef)) << size;
        EXPECT_TRUE(blocks.at(0x10ff0)) << size;
        EXPECT_TRUE(blocks.at(0x10ff0 + size - 1)) << size;
        EXPECT_FALSE(blocks.at(0x10ff0 + size)) << size;
    }
}

TEST(live_blocks, of_no_bytes_have_their_start) {
    LiveBlocks blocks = expecting({0x1000, 0x1001, 0x1000, 0});
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
        LiveBlocks blocks = expecting({0x1000, 0x1000});
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
            LiveBlocks blocks = expecting({0x1000, 0x1000});
            blocks.add(block_of(0x1000, before, 1, 1));
            blocks.add(block_of(0x1000, after, 2, 2));
            const auto found = blocks.at(0x1000);
            ASSERT_TRUE(found);
            EXPECT_EQ(found->stack, 2U) << before << " " << after;
            blocks.remove(0x1000, 3);
            EXPECT_FALSE(blocks.at(0x1000)) << before << " " << after;
        }
}

TEST(live_blocks, are_told_only_where_a_question_was_announced) {
    LiveBlocks blocks = expecting({0x1000, 0x1008});
    blocks.add(block_of(0x1000, 16));
    blocks.add(block_of(0x2000, 16));
    EXPECT_TRUE(blocks.at(0x1000));
    EXPECT_FALSE(blocks.at(0x2000)) << "in a page about which nothing will be asked";
    EXPECT_TRUE(blocks.at(0x1008));
    EXPECT_FALSE(blocks.at(0x1008)) << "the page's questions are all asked";
    EXPECT_FALSE(LiveBlocks().at(0x1000));
}

TEST(live_blocks, of_two_pages_are_gone_from_both) {
    LiveBlocks blocks = expecting({0x1ff8, 0x2000});
    blocks.add(block_of(0x1ff0, 100, 1, 1));
    blocks.remove(0x1ff0, 2);
    EXPECT_FALSE(blocks.at(0x1ff8));
    EXPECT_FALSE(blocks.at(0x2000));
}

TEST(live_blocks, are_those_of_the_parent_until_they_change) {
    LiveBlocks parent = expecting({0x1000, 0x1000, 0x5000, 0x20000});
    LiveBlocks child = expecting({0x1000, 0x5000, 0x20000});
    parent.add(block_of(0x1000, 16, 1, 1));
    parent.add(block_of(0x20000, 100000, 1, 2));
    child.inherit(parent);
    child.remove(0x1000, 2);
    child.add(block_of(0x5000, 16, 2, 3));
    EXPECT_FALSE(child.at(0x1000));
    EXPECT_TRUE(parent.at(0x1000)) << "the parent has it still";
    EXPECT_TRUE(child.at(0x5000));
    EXPECT_TRUE(child.at(0x20000));
    EXPECT_FALSE(parent.at(0x1000)) << "the others were the child's questions";
}

TEST(live_blocks, are_all_gone_when_there_is_another_program) {
    LiveBlocks blocks = expecting({0x1000, 0x20000, 0x1000});
    blocks.add(block_of(0x1000, 16));
    blocks.add(block_of(0x20000, 100000));
    blocks.clear();
    EXPECT_FALSE(blocks.at(0x1000));
    EXPECT_FALSE(blocks.at(0x20000));
    blocks.add(block_of(0x1000, 16));
    EXPECT_TRUE(blocks.at(0x1000)) << "of the new one";
}

struct Step {
    enum Kind { add, remove, ask } kind;
    std::uint64_t start, size;
};

/// Blocks that do not overlap, taken and given back at random, by a map of intervals.
class IntervalModel {
  public:
    std::uint32_t stack_at(std::uint64_t address) const {
        const auto after = blocks_.upper_bound(address);
        if (after == blocks_.begin()) return 0;
        const LiveBlock &block = std::prev(after)->second;
        return address - block.start < std::max<std::uint64_t>(block.size, 1) ? block.stack : 0;
    }
    bool has(std::uint64_t start) const { return blocks_.count(start) != 0; }
    bool has_room(std::uint64_t start, std::uint64_t size) const {
        const auto next = blocks_.lower_bound(start);
        return stack_at(start) == 0 &&
               (next == blocks_.end() || next->first >= start + std::max<std::uint64_t>(size, 1));
    }
    void add(const LiveBlock &block) { blocks_[block.start] = block; }
    void remove(std::uint64_t start) { blocks_.erase(start); }

  private:
    std::map<std::uint64_t, LiveBlock> blocks_;
};

std::vector<Step> random_steps(std::mt19937_64 &chance) {
    std::vector<Step> steps;
    IntervalModel model;
    for (std::uint32_t i = 1; i < 60000; i++) {
        const std::uint64_t start = 0x10000 + chance() % 4096 * 16;
        const std::uint64_t size = chance() % 8 == 0 ? chance() % 20000 : chance() % 200;
        if (chance() % 2 == 0 && model.has(start)) {
            steps.push_back({Step::remove, start, 0});
            model.remove(start);
        }
        if (model.has_room(start, size)) {
            steps.push_back({Step::add, start, size});
            model.add(block_of(start, size, 1, 1));
        }
        if (chance() % 4 != 0) continue; // so that some pages are done long before the end
        const std::uint64_t asked = chance() % (4096 * 16);
        steps.push_back({Step::ask, 0x10000 + (i > 20000 ? asked / 4 : asked), 0});
    }
    return steps;
}

TEST(live_blocks, agree_with_a_map_of_intervals) {
    std::mt19937_64 chance(1);
    const std::vector<Step> steps = random_steps(chance);
    LiveBlocks blocks;
    IntervalModel model;
    for (const Step &step : steps)
        if (step.kind == Step::ask) blocks.expect(step.start);
    for (std::uint32_t i = 1; const Step &step : steps) {
        if (step.kind == Step::add) {
            blocks.add(block_of(step.start, step.size, i, i));
            model.add(block_of(step.start, step.size, i, i));
        } else if (step.kind == Step::remove) {
            blocks.remove(step.start, i);
            model.remove(step.start);
        } else {
            const auto there = blocks.at(step.start);
            ASSERT_EQ(there ? there->stack : 0, model.stack_at(step.start)) << i;
        }
        i++;
    }
}

} // namespace
} // namespace flat::audit
