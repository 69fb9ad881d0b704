// Every sequence of operations up to a length, on sets so small that there are not too many. Since a set's whole state
// is its metadata, a copy of those bytes takes it back to where a branch began.
#include "core/percore_model.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

using test::percore_pair;
using test::test_percore;

struct action {
    std::string words;
    std::function<std::string(percore_pair &)> act; // "" iff set and reference agree
};

// In each shard an alloc, drains and, of each block, every kind of free; and what owners do, where there are several.
std::vector<action> alphabet(const percore_pair &pair) {
    std::vector<action> actions;
    const std::size_t shards = pair.shards.size();
    for (std::size_t s = 0; s < shards; s++) {
        const std::string of = " of shard " + std::to_string(s);
        for (const test::shard_class &c : pair.shards[s].classes) {
            actions.push_back({"alloc " + std::to_string(c.size) + of,
                               [s, size = c.size](percore_pair &p) { return p.alloc(s, size); }});
            for (std::size_t i = 0; i < c.count; i++) {
                const std::string block = "block " + std::to_string(i) + " of " + std::to_string(c.size) + of;
                const std::uintptr_t address = c.address(i);
                actions.push_back({"free " + block, [s, address](percore_pair &p) {
                                       return p.free(percore_pair::way::any_thread, s, address);
                                   }});
                for (std::size_t by = 0; by < shards; by++) {
                    actions.push_back({"free as " + std::to_string(by) + ' ' + block, [by, address](percore_pair &p) {
                                           return p.free(percore_pair::way::as_owner, by, address);
                                       }});
                }
                actions.push_back(
                    {"free at once " + block, [address](percore_pair &p) { return p.free_twice_at_once(address); }});
            }
        }
        actions.push_back({"drain 1" + of, [s](percore_pair &p) { return p.drain(s, 1); }});
        actions.push_back({"flush" + of, [s](percore_pair &p) { return p.flush(s); }});
        if (shards > 1) actions.push_back({"leave" + of, [s](percore_pair &p) { return p.leave(s); }});
    }
    if (shards > 1) actions.push_back({"adopt", [](percore_pair &p) { return p.adopt(); }});
    return actions;
}

enum class beginning { all_free, all_live };

class every_sequence {
  public:
    every_sequence(const std::vector<flat_class> &classes, std::size_t shards, beginning from)
        : set_(classes, shards), pair_(set_), actions_(alphabet(pair_)) {
        if (from == beginning::all_live) failure_ = pair_.drain();
    }

    // All sequences of at most `length` actions; the number tried.
    std::size_t run(std::size_t length) {
        tried_ = 0;
        descend(length);
        return tried_;
    }
    const std::string &failure() const { return failure_; }
    std::size_t actions() const { return actions_.size(); }

  private:
    void descend(std::size_t length) {
        if (length == 0 || !failure_.empty()) return;
        const std::vector<test::shard_model> before = pair_.shards;
        const flat_memory metadata = set_.metadata().memory();
        const std::vector<char> state(set_.metadata().start(), set_.metadata().start() + metadata.size);
        for (const action &action : actions_) {
            tried_++;
            path_.push_back(&action);
            std::string wrong = action.act(pair_);
            if (wrong.empty()) wrong = pair_.compare();
            if (!wrong.empty() && failure_.empty()) {
                for (const auto *step : path_) failure_ += step->words + "; ";
                failure_ += wrong;
            }
            descend(length - 1);
            path_.pop_back();
            std::memcpy(metadata.start, state.data(), state.size());
            pair_.shards = before;
            if (!failure_.empty()) return;
        }
    }

    test_percore set_;
    percore_pair pair_;
    std::vector<action> actions_;
    std::vector<const action *> path_;
    std::string failure_;
    std::size_t tried_ = 0;
};

void try_all(const std::vector<flat_class> &classes, std::size_t shards, std::size_t length,
             beginning from = beginning::all_free) {
    every_sequence sequences(classes, shards, from);
    const std::size_t tried = sequences.run(length);
    ASSERT_EQ(sequences.failure(), "") << "sequence that set and reference disagree on";
    std::size_t expected = 0, level = 1;
    for (std::size_t i = 0; i < length; i++) expected += level *= sequences.actions();
    EXPECT_EQ(tried, expected) << "not every sequence was tried";
}

} // namespace

TEST(percore_exhaustive, one_block) { try_all({{16, 1}}, 1, 7); }
TEST(percore_exhaustive, two_blocks) { try_all({{48, 2}}, 1, 6); }
TEST(percore_exhaustive, three_blocks_that_are_live) { try_all({{16, 3}}, 1, 5, beginning::all_live); }
TEST(percore_exhaustive, two_classes) { try_all({{16, 1}, {32, 1}}, 1, 5); }
TEST(percore_exhaustive, two_shards_of_one_block) { try_all({{16, 1}}, 2, 5); }
TEST(percore_exhaustive, two_shards_of_two_blocks_that_are_live) { try_all({{16, 2}}, 2, 4, beginning::all_live); }
TEST(percore_exhaustive, three_shards_of_one_block_that_is_live) { try_all({{64, 1}}, 3, 4, beginning::all_live); }
