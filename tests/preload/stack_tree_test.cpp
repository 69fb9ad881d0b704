// Stacks that share the entries of their callers: equal ones have one number, each is given back as it was put, and
// what has no room any more keeps its innermost frames.
#include "preload/stack_tree.h"

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace {

using Frames = std::vector<std::uint64_t>; // innermost first

class Tree {
  public:
    interned_table *operator->() const { return table_.get(); }
    std::uint32_t put(const Frames &frames) const { return stack_put(table_.get(), frames.data(), frames.size()); }
    Frames get(std::uint32_t stack) const {
        Frames frames(UNWIND_DEPTH);
        frames.resize(stack_get(table_.get(), stack, frames.data()));
        return frames;
    }
    std::uint32_t put_text(const char *text) const { return interned_put_text(table_.get(), text); }

  private:
    std::unique_ptr<interned_table> table_ = std::make_unique<interned_table>();
};

TEST(stack_tree, agrees_with_a_map_over_random_stacks) {
    const Tree tree;
    std::mt19937_64 chance(1);
    std::map<Frames, std::uint32_t> model;
    std::map<std::uint32_t, Frames> by_number;
    for (int i = 0; i < 20000; i++) {
        Frames frames(1 + chance() % (chance() % 6 == 0 ? UNWIND_DEPTH : 4));
        for (std::uint64_t &frame : frames) frame = 1 + (chance() % 3 << (chance() % 2 * 60));
        const std::uint32_t stack = tree.put(frames);
        ASSERT_NE(stack, 0U);
        ASSERT_EQ(model.try_emplace(frames, stack).first->second, stack);
        ASSERT_EQ(by_number.try_emplace(stack, frames).first->second, frames);
        ASSERT_EQ(tree.get(stack), frames);
    }
    EXPECT_EQ(tree->shortened, 0U);
}

TEST(stack_tree, has_one_entry_for_callers_that_stacks_share) {
    const Tree tree;
    Frames frames(UNWIND_DEPTH);
    for (std::size_t i = 0; i < frames.size(); i++) frames[i] = (1000 + i) << 43; // as of files
    ASSERT_NE(tree.put(frames), 0U);
    for (std::uint64_t place = 1; place < 500; place++) {
        const std::uint32_t before = tree->used;
        frames[0] = place << 43;
        ASSERT_NE(tree.put(frames), 0U);
        ASSERT_EQ(tree->used - before, 4U) << "a frame and a stack, of two words each";
    }
    const std::uint32_t before = tree->used;
    EXPECT_EQ(tree.get(tree.put(Frames(frames.begin() + 5, frames.end()))), Frames(frames.begin() + 5, frames.end()));
    EXPECT_EQ(tree->used, before) << "its callers are a stack too";
}

TEST(stack_tree, keeps_the_innermost_frames_of_what_comes_when_it_is_almost_full) {
    const Tree tree;
    const auto stack_at = [](std::uint64_t i) {
        Frames frames(UNWIND_DEPTH, 1 + i); // shares nothing
        frames[0] = 1 + i % 7;
        return frames;
    };
    std::vector<std::uint32_t> whole;
    constexpr std::size_t too_many = INTERNED_WORDS / UNWIND_DEPTH;
    while (tree->shortened == 0 && whole.size() < too_many) whole.push_back(tree.put(stack_at(whole.size())));
    ASSERT_EQ(tree->shortened, 1U);
    const std::uint32_t first_short = whole.back();
    whole.pop_back();
    EXPECT_GT(tree->used, INTERNED_WORDS / 8 * 7 - 200);
    EXPECT_LE(tree->used, INTERNED_WORDS / 8 * 7 + 100);
    const Frames last = stack_at(whole.size());
    EXPECT_EQ(tree.get(first_short), Frames(last.begin(), last.begin() + STACK_SHORT));
    for (std::size_t i = 0; i < whole.size(); i += 97) {
        EXPECT_EQ(tree.put(stack_at(i)), whole[i]) << "it is there already";
        EXPECT_EQ(tree.get(whole[i]), stack_at(i));
    }
    EXPECT_EQ(tree->shortened, 1U);
    const Frames three{1, 2, UINT64_MAX};
    EXPECT_EQ(tree.get(tree.put(three)), three) << "it is no longer than a short one";
    EXPECT_NE(tree.put_text("a path"), 0U) << "there is room for others";
    for (std::uint64_t i = 0; i < INTERNED_WORDS && tree->refused == 0; i++) (void)tree.put({i << 20 | 7});
    EXPECT_EQ(tree.put({UINT64_MAX, UINT64_MAX - 1}), 0U);
}

TEST(stack_tree, knows_what_is_no_stack) {
    const Tree tree;
    EXPECT_TRUE(tree.get(0).empty());
    EXPECT_TRUE(tree.get(INTERNED_WORDS).empty());
    EXPECT_TRUE(tree.get(UINT32_MAX).empty());
    EXPECT_TRUE(tree.get(tree.put_text("more than a word")).empty());
    tree->words[100] = 1; // an entry that a program has overwritten: its callers are it again
    tree->words[101] = std::uint64_t{100} << 32 | 100;
    EXPECT_EQ(tree.get(100).size(), std::size_t{UNWIND_DEPTH});
}

TEST(stack_tree, gives_threads_the_same_numbers) {
    const Tree tree;
    constexpr std::size_t stacks = 3000;
    std::vector<std::vector<std::uint32_t>> found(3, std::vector<std::uint32_t>(stacks));
    std::vector<std::thread> threads;
    for (std::uint64_t who = 0; who < found.size(); who++)
        threads.emplace_back([&, who] {
            std::vector<std::size_t> order(stacks);
            for (std::size_t i = 0; i < stacks; i++) order[i] = i;
            std::shuffle(order.begin(), order.end(), std::mt19937_64(who));
            for (const std::size_t i : order) found[who][i] = tree.put({i + 1, i % 10 + 1, i % 100 + 1, 5});
        });
    for (std::thread &thread : threads) thread.join();
    EXPECT_EQ(found[1], found[0]);
    EXPECT_EQ(found[2], found[0]);
    for (std::size_t i = 0; i < stacks; i++)
        ASSERT_EQ(tree.get(found[0][i]), (Frames{i + 1, i % 10 + 1, i % 100 + 1, 5}));
}

} // namespace
