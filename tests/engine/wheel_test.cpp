// wheel.h beside a sorted multimap: nodes come out when they are due, in the order of their times, and none is lost.
#include "core/environment.hpp"
#include "core/random_source.hpp"
#include "core/shrink.hpp"
#include "engine/parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace {

constexpr std::uint32_t nodes = 24;
constexpr std::uint64_t slots = 64, farthest = std::uint64_t{1} << 60; // ten levels of six bits

struct operation {
    enum kind : std::uint8_t { add, remove, advance, take_any, kinds } what;
    std::uint64_t a, b;
};

// The wheel and its reference, which knows of each node when it is due.
class wheel_run {
  public:
    explicit wheel_run(std::uint64_t now) : wheel_(part_wheel_make(nodes, now)) {
        for (std::uint32_t i = nodes; i-- > 0;) free_.push_back(i);
    }
    wheel_run(const wheel_run &) = delete;
    wheel_run &operator=(const wheel_run &) = delete;
    ~wheel_run() { part_wheel_end(wheel_); }

    // Each of these returns "" or what is wrong.
    std::string add(std::uint64_t due) {
        if (free_.empty() || due <= part_wheel_now(wheel_) || due >= farthest) return "";
        part_wheel_add(wheel_, free_.back(), due);
        waiting_.emplace(due, free_.back());
        moves_left_ += part_wheel_levels;
        free_.pop_back();
        return check();
    }

    std::string remove(std::size_t number) {
        if (waiting_.empty()) return "";
        const auto at = std::next(waiting_.begin(), static_cast<std::ptrdiff_t>(number % waiting_.size()));
        part_wheel_remove(wheel_, at->second);
        forget(at);
        return check();
    }

    // `steps` at most; then later ones go on from there.
    std::string advance(std::uint64_t until, std::size_t steps) {
        const std::uint64_t before = part_wheel_now(wheel_);
        if (until >= farthest) until = farthest - 1;
        for (bool moved = true; moved && steps > 0; steps--) {
            const std::string wrong = step(until, moved);
            if (!wrong.empty()) return wrong;
            if (!moved && part_wheel_now(wheel_) != std::max(before, until)) return "the time is another";
        }
        return "";
    }

    std::string take_any() {
        const std::uint32_t node = part_wheel_take_any(wheel_);
        if (node == PART_NOBODY) return waiting_.empty() ? "" : "nothing is taken, though a node is there";
        const auto at = std::find_if(waiting_.begin(), waiting_.end(), [&](const auto &w) { return w.second == node; });
        if (at == waiting_.end()) return "a node is taken that is not there";
        forget(at);
        return check();
    }

    // What is left comes out in order.
    std::string drain() {
        const std::string wrong = advance(farthest, SIZE_MAX);
        if (!wrong.empty()) return wrong;
        return waiting_.empty() && part_wheel_length(wheel_) == 0 ? "" : "nodes are lost";
    }

    std::uint64_t now() const { return part_wheel_now(wheel_); }
    std::uint64_t next() const { return waiting_.empty() ? now() : part_wheel_next(wheel_); }
    bool is_emptying() const { return part_wheel_is_emptying(wheel_); }
    std::size_t moves() const { return moves_; }

  private:
    std::string step(std::uint64_t until, bool &moved) {
        const bool due_by_then = !waiting_.empty() && waiting_.begin()->first <= until;
        const std::uint32_t node = part_wheel_step(wheel_, until, &moved);
        if (moved) {
            moves_++;
            if (moves_left_-- == 0) return "nodes were moved more than once for each level";
        } else if (due_by_then) {
            return "a node that is due stays";
        }
        if (node == PART_NOBODY) return check();
        if (!due_by_then) return "a node comes before it is due";
        const auto [from, to] = waiting_.equal_range(waiting_.begin()->first);
        const auto at = std::find_if(from, to, [&](const auto &w) { return w.second == node; });
        if (at == to) return "another node comes than the next that is due";
        if (part_wheel_now(wheel_) != at->first) return "a node comes at another time than its own";
        forget(at);
        return check();
    }

    void forget(std::multimap<std::uint64_t, std::uint32_t>::iterator at) {
        free_.push_back(at->second);
        waiting_.erase(at);
    }

    std::string check() const {
        if (part_wheel_length(wheel_) != waiting_.size()) return "the length is another";
        if (waiting_.empty()) return part_wheel_is_emptying(wheel_) ? "an empty slot is being emptied" : "";
        if (part_wheel_next(wheel_) > waiting_.begin()->first) return "the next slot is after the next node";
        return part_wheel_next(wheel_) < part_wheel_now(wheel_) ? "the next slot is in the past" : "";
    }

    part_wheel *wheel_;
    std::multimap<std::uint64_t, std::uint32_t> waiting_;
    std::vector<std::uint32_t> free_;
    std::size_t moves_left_ = 0, moves_ = 0;
};

// A distance: near, near a border of a level, or any.
std::uint64_t distance_of(std::uint64_t a) {
    const std::uint64_t border = std::uint64_t{1} << 6 * (a >> 2 & 15) % 60;
    switch (a & 3) {
    case 0: return 1 + (a >> 8) % 4;
    case 1: return border + (a >> 8) % 3 - 1;
    case 2: return test::random_source(a).magnitude(farthest);
    default: return 1 + (a >> 8) % (slots * slots);
    }
}

std::string apply(wheel_run &run, const operation &op) {
    switch (op.what) {
    case operation::add: return run.add(run.now() + distance_of(op.a));
    case operation::remove: return run.remove(op.a);
    case operation::advance:
        return run.advance(op.b % 4 != 0 ? run.now() + distance_of(op.a) : run.next(), 1 + op.b % 5);
    default: return op.a % 8 == 0 ? run.take_any() : "";
    }
}

// "" or what went wrong; `steps` is then the number of operations that it took.
std::string run_all(const std::vector<operation> &operations, std::uint64_t now, std::size_t &steps) {
    wheel_run run(now);
    for (steps = 0; steps < operations.size();) {
        const std::string wrong = apply(run, operations[steps++]);
        if (!wrong.empty()) return wrong;
    }
    return run.drain();
}

std::string told(const std::vector<operation> &operations) {
    std::string text;
    for (const operation &op : operations) {
        text += "\n  " + std::to_string(op.what) + ' ' + std::to_string(op.a) + ' ' + std::to_string(op.b);
    }
    return text;
}

} // namespace

TEST(engine_wheel, is_as_a_sorted_list_of_times) {
    test::random_source random(test::seed());
    for (std::size_t round = 0; round < test::scaled(400); round++) {
        const std::uint64_t now = random.one_in(4) ? 0 : random.magnitude(farthest / 2) - random.below(2);
        std::vector<operation> operations;
        for (std::size_t i = 1 + random.below(400); i > 0; i--) {
            operations.push_back(
                {static_cast<operation::kind>(random.below(operation::kinds)), random.next(), random.next()});
        }
        std::size_t steps = 0;
        const std::string wrong = run_all(operations, now, steps);
        if (wrong.empty()) continue;
        const auto fails = [&](const std::vector<operation> &shorter) -> std::optional<std::size_t> {
            std::size_t taken = 0;
            if (run_all(shorter, now, taken).empty()) return std::nullopt;
            return taken;
        };
        FAIL() << wrong << "; seed " << test::seed() << ", from " << now
               << ", the shortest list of operations:" << told(test::shrink(operations, fails));
    }
}

// Three nodes at all times around borders, of which one is removed at any moment: also one of the slot that is being
// emptied, and its last one.
TEST(engine_wheel, three_nodes_around_every_border_come_in_order) {
    const std::initializer_list<std::uint64_t> distances = {1, 2, 63, 64, 65, 127, 128, 4095, 4096, 4097};
    std::size_t removed_from_the_slot_that_is_emptied = 0;
    for (const std::uint64_t now : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{62}, std::uint64_t{63},
                                    std::uint64_t{4095}, (std::uint64_t{1} << 54) - 1}) {
        for (const std::uint64_t a : distances) {
            for (const std::uint64_t b : distances) {
                for (const std::uint64_t c : distances) {
                    for (std::size_t steps = 0; steps < 7; steps++) {
                        wheel_run run(now);
                        std::string wrong = run.add(now + a) + run.add(now + b) + run.add(now + c);
                        wrong += run.advance(now + std::max({a, b, c}), steps);
                        removed_from_the_slot_that_is_emptied += run.is_emptying();
                        wrong += run.remove((a + b + c + steps) % 3);
                        wrong += run.add(run.now() + b);
                        wrong += run.drain();
                        ASSERT_EQ(wrong, "") << now << " + " << a << ", " << b << ", " << c << ", " << steps;
                    }
                }
            }
        }
    }
    EXPECT_GT(removed_from_the_slot_that_is_emptied, 1000u);
}

TEST(engine_wheel, a_far_node_is_moved_once_for_each_level_at_most) {
    std::size_t most = 0;
    for (unsigned level = 0; level < part_wheel_levels; level++) {
        for (const std::uint64_t now : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{63}}) {
            wheel_run run(now);
            // No group of six bits is 0: from time 0 the node goes down by each level.
            std::uint64_t far = 1;
            for (unsigned i = 0; i < level; i++) far = far << part_wheel_slot_bits | 1;
            if (far <= now) continue;
            ASSERT_EQ(run.add(far), "");
            ASSERT_EQ(run.drain(), "");
            ASSERT_LE(run.moves(), level + 1);
            most = std::max(most, run.moves());
        }
    }
    EXPECT_EQ(most, part_wheel_levels) << "the bound is reached";
}

TEST(engine_wheel, many_nodes_of_one_time_cost_a_step_each) {
    wheel_run run(10);
    for (std::uint32_t i = 0; i < nodes; i++) ASSERT_EQ(run.add(10 + 5), "");
    for (std::uint32_t i = 0; i < nodes; i++) {
        const std::size_t before = run.moves();
        ASSERT_EQ(run.advance(1000, 1), "");
        ASSERT_EQ(run.moves(), before + 1);
        ASSERT_EQ(run.now(), 15u) << "nodes of the slot that is being emptied are left";
    }
    EXPECT_EQ(run.drain(), "");
}

TEST(engine_wheel, empty_time_costs_nothing) {
    wheel_run run(0);
    ASSERT_EQ(run.advance(farthest / 2, 1), "");
    EXPECT_EQ(run.now(), farthest / 2);
    EXPECT_EQ(run.moves(), 0u);
    ASSERT_EQ(run.add(farthest - 1), "");
    EXPECT_EQ(run.drain(), "");
}

TEST(engine_wheel, any_node_is_taken_until_none_is_left) {
    wheel_run run(77);
    test::random_source random(test::seed());
    for (std::uint32_t i = 0; i < nodes; i++) ASSERT_EQ(run.add(77 + random.magnitude(farthest / 2)), "");
    ASSERT_EQ(run.advance(run.next(), 1), "") << "also from a slot that is being emptied";
    for (std::uint32_t i = 0; i <= nodes; i++) ASSERT_EQ(run.take_any(), "") << "seed " << test::seed();
    EXPECT_EQ(run.drain(), "");
}
