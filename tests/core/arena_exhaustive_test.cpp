// Every sequence of operations up to a length, on arenas so small that there are not too many, and every request that a
// small arena can meet. A copy of the flat_arena takes it back to where a branch began: it is the whole state.
#include "core/arena_calls.h"
#include "core/arena_model.hpp"
#include "core/mapping.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace {

using test::arena_model;

// The arena and the model beside it, with the one mark that a sequence may take.
struct arena_state {
    flat_arena arena{};
    arena_model model;
    flat_arena_mark mark{};
    std::optional<arena_model::mark> model_mark;
};

struct action {
    std::string words;
    std::function<bool(arena_state &)> act; // true iff arena and model agree
};

action alloc_of(std::size_t alignment, std::size_t size) {
    return {"alloc " + std::to_string(alignment) + ", " + std::to_string(size), [alignment, size](arena_state &of) {
                void *block = alignment == 16 ? call_arena_alloc(&of.arena, size)
                                              : call_arena_aligned_alloc(&of.arena, alignment, size);
                return reinterpret_cast<std::uintptr_t>(block) == of.model.alloc(alignment, size);
            }};
}

// Of the newest block, or of the one before it.
action resize_of(bool newest, std::size_t size) {
    return {std::string("resize ") + (newest ? "newest" : "second newest") + " to " + std::to_string(size),
            [newest, size](arena_state &of) {
                if (of.model.blocks.size() < (newest ? 1 : 2)) return true;
                const arena_model::block block = of.model.blocks[of.model.blocks.size() - (newest ? 1 : 2)];
                const auto address = static_cast<std::uintptr_t>(block.address);
                const auto old_size = static_cast<std::size_t>(block.size);
                const bool got = flat_arena_resize(&of.arena, reinterpret_cast<void *>(address), old_size, size);
                return got == of.model.resize(address, old_size, size);
            }};
}

std::vector<action> alphabet() {
    std::vector<action> actions;
    for (std::size_t size : {std::size_t{0}, std::size_t{16}, std::size_t{33}, SIZE_MAX}) {
        actions.push_back(alloc_of(16, size));
    }
    actions.push_back(alloc_of(1, 5));
    actions.push_back(alloc_of(32, 1));
    actions.push_back(alloc_of(3, 1));
    actions.push_back(resize_of(true, 0));
    actions.push_back(resize_of(true, 40));
    actions.push_back(resize_of(false, 2));
    actions.push_back({"mark", [](arena_state &of) {
                           of.mark = call_arena_get_mark(&of.arena);
                           of.model_mark = of.model.get_mark();
                           return true;
                       }});
    actions.push_back({"rewind", [](arena_state &of) {
                           const flat_status got = flat_arena_rewind(&of.arena, of.mark);
                           if (!of.model_mark) return got == FLAT_INVALID_ARGUMENT;
                           return got == of.model.rewind(*of.model_mark);
                       }});
    actions.push_back({"reset", [](arena_state &of) {
                           flat_arena_reset(&of.arena);
                           of.model.reset();
                           return true;
                       }});
    return actions;
}

bool is_like(const flat_arena &arena, const arena_model &model) {
    const flat_arena_stats expected = model.stats();
    flat_arena_stats got{};
    flat_arena_get_stats(&arena, &got);
    return got.bytes == expected.bytes && got.used == expected.used && got.high_water == expected.high_water &&
           got.needed == expected.needed && got.refused == expected.refused;
}

class every_sequence {
  public:
    explicit every_sequence(flat_memory memory) : actions_(alphabet()) {
        EXPECT_EQ(flat_arena_init(&state_.arena, memory), FLAT_OK);
        state_.model = arena_model(reinterpret_cast<std::uintptr_t>(memory.start), memory.size);
    }
    every_sequence(const every_sequence &) = delete;
    every_sequence &operator=(const every_sequence &) = delete;
    ~every_sequence() { flat_arena_destroy(&state_.arena); }

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
        const arena_state before = state_;
        for (const action &action : actions_) {
            tried_++;
            path_.push_back(&action);
            const bool agree = action.act(state_) && is_like(state_.arena, state_.model);
            if (!agree && failure_.empty()) {
                for (const auto *step : path_) failure_ += step->words + "; ";
            }
            descend(length - 1);
            path_.pop_back();
            state_ = before;
            if (!failure_.empty()) return;
        }
    }

    arena_state state_;
    std::vector<action> actions_;
    std::vector<const action *> path_;
    std::string failure_;
    std::size_t tried_ = 0;
};

void try_all(std::size_t offset, std::size_t bytes, std::size_t length) {
    const test::mapping memory(4096, 4096, PROT_NONE);
    every_sequence sequences({memory.start() + offset, bytes});
    const std::size_t tried = sequences.run(length);
    ASSERT_EQ(sequences.failure(), "") << "sequence that arena and model disagree on";
    std::size_t expected = 0, level = 1;
    for (std::size_t i = 0; i < length; i++) expected += level *= sequences.actions();
    EXPECT_EQ(tried, expected) << "not every sequence was tried";
}

} // namespace

TEST(arena_exhaustive, no_byte) { try_all(0, 0, 4); }
TEST(arena_exhaustive, less_than_a_granule) { try_all(3, 9, 4); }
TEST(arena_exhaustive, one_granule) { try_all(0, 16, 6); }
TEST(arena_exhaustive, two_granules) { try_all(16, 32, 6); }
TEST(arena_exhaustive, four_granules) { try_all(0, 64, 6); }
TEST(arena_exhaustive, seven_granules_of_unaligned_memory) { try_all(9, 128, 5); }

// The contract of one alloc once more, by looking at one address after the other.
TEST(arena_exhaustive, every_request_gets_the_first_address_that_fits_or_null) {
    const test::mapping memory(4096, 4096, PROT_NONE);
    const auto base = reinterpret_cast<std::uintptr_t>(memory.start());
    for (std::size_t bytes : {std::size_t{0}, std::size_t{16}, std::size_t{48}, std::size_t{96}}) {
        for (std::size_t before = 0; before <= bytes; before++) {
            for (std::size_t alignment = 1; alignment <= 256; alignment *= 2) {
                for (std::size_t size = 0; size <= bytes + 1; size++) {
                    flat_arena arena;
                    ASSERT_EQ(flat_arena_init(&arena, {memory.start() + 16, bytes}), FLAT_OK);
                    if (before > 0) {
                        ASSERT_NE(call_arena_aligned_alloc(&arena, 1, before), nullptr);
                    }
                    const std::uintptr_t end = base + 16 + bytes, takes = size == 0 ? 1 : size;
                    std::uintptr_t expected = base + 16 + before;
                    while (expected % alignment != 0 && expected < end) expected++;
                    if (expected % alignment != 0 || expected + takes > end) expected = 0;
                    const void *got = call_arena_aligned_alloc(&arena, alignment, size);
                    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(got), expected)
                        << size << " at " << alignment << " behind " << before << " of " << bytes;
                    flat_arena_destroy(&arena);
                }
            }
        }
    }
}
