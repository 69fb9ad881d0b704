// Visits every state that a tiny heap can reach by any sequence of calls, breadth first and each state once.
//
// In each state the test tries every call and compares the result with one derived from the live blocks alone: the
// smallest piece that can serve the request, if any, and the status of a free of any granule.
#include "core/environment.hpp"
#include "core/heap_state.h"
#include "core/test_heap.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <iostream>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace {

using test::address_of;
using test::at;
using test::heap_cell;
using test::test_heap;

using block = std::pair<std::size_t, std::size_t>; // offset, size

// Derives the free parts of the region from the live blocks, by examining every place.
class picture {
  public:
    picture(std::size_t bytes, std::vector<block> live)
        : bytes_(bytes), live_(std::move(live)), cells_(bytes / heap_cell), slots_(bytes / heap_cell) {
        for (const auto &[offset, size] : live_) {
            for (std::size_t cell = offset / heap_cell; cell * heap_cell < offset + size; cell++) {
                cells_[cell] += std::min(size, heap_cell);
                if (size < heap_cell) slots_[cell] = size;
            }
        }
    }

    bool is_empty(std::size_t offset, std::size_t size) const {
        if (offset + size > bytes_) return false;
        for (std::size_t cell = offset / heap_cell; cell * heap_cell < offset + size; cell++) {
            if (cells_[cell] != 0) return false;
        }
        return true;
    }
    // A free piece: an empty window whose double is not empty.
    bool is_piece(std::size_t offset, std::size_t size) const {
        return is_empty(offset, size) && !is_empty(offset / (2 * size) * (2 * size), 2 * size);
    }
    std::size_t smallest_piece(std::size_t size) const {
        for (size = std::max(size, heap_cell); size <= bytes_; size *= 2) {
            for (std::size_t offset = 0; offset < bytes_; offset += size) {
                if (is_piece(offset, size)) return size;
            }
        }
        return 0;
    }
    bool has_slot(std::size_t size) const {
        for (std::size_t cell = 0; cell < cells_.size(); cell++) {
            if (slots_[cell] == size && cells_[cell] < heap_cell) return true;
        }
        return false;
    }
    bool may_lie_at(std::size_t offset, std::size_t size) const {
        if (offset % size != 0 || offset + size > bytes_) return false;
        if (size < heap_cell && has_slot(size)) return slots_[offset / heap_cell] == size && !covers(offset);
        const std::size_t piece = smallest_piece(size);
        return piece != 0 && is_piece(offset / piece * piece, piece);
    }
    bool covers(std::size_t offset) const {
        for (const auto &[start, size] : live_) {
            if (offset >= start && offset < start + size) return true;
        }
        return false;
    }
    flat_status status_of_free(std::size_t offset) const {
        for (const auto &[start, size] : live_) {
            if (offset == start) return FLAT_OK;
        }
        return covers(offset) ? FLAT_INTERIOR_POINTER : FLAT_DOUBLE_FREE;
    }
    bool serves(std::size_t size) const { return (size < heap_cell && has_slot(size)) || smallest_piece(size) != 0; }
    const std::vector<block> &live() const { return live_; }

  private:
    std::size_t bytes_;
    std::vector<block> live_;
    std::vector<std::size_t> cells_, slots_; // for each cell: its live bytes, and the size of its slots if it has any
};

struct limits {
    std::size_t cells;
    std::vector<std::size_t> sizes;
    bool reallocates;
};

class every_state {
  public:
    explicit every_state(limits of) : of_(std::move(of)), heap_(of_.cells * heap_cell, PROT_READ | PROT_WRITE) {}

    // Returns "" or what went wrong.
    std::string run() {
        remember();
        while (!to_do_.empty() && wrong_.empty()) {
            const std::vector<char> state = std::move(to_do_.front());
            to_do_.pop_front();
            heap_.restore(state);
            look_around(state);
        }
        return wrong_;
    }
    std::size_t states() const { return met_.size(); }
    std::size_t calls() const { return calls_; }

  private:
    std::vector<block> live() const {
        std::vector<block> found;
        for (const auto &[address, size] : test::heap_live(heap_)) {
            found.emplace_back(address - address_of(heap_.start()), size);
        }
        return found;
    }
    void fail(const std::string &what) {
        if (!wrong_.empty()) return;
        wrong_ = what + "; live were:";
        for (const auto &[offset, size] : now_) wrong_ += " " + std::to_string(size) + " at " + std::to_string(offset);
    }
    void demand(bool right, const std::string &what) {
        calls_++;
        if (!right) fail(what);
    }

    // Remembers the heap's current state if it is new.
    void remember() {
        if (flat_heap_check(heap_) != FLAT_OK) fail("flat_heap_check finds the heap corrupted after a call");
        const std::size_t count = heap_state(heap_, numbers_.data());
        if (met_.emplace(reinterpret_cast<const char *>(numbers_.data()), count * sizeof numbers_[0]).second) {
            to_do_.push_back(heap_.state());
        }
    }

    void look_around(const std::vector<char> &state) {
        now_ = live();
        const picture sees(of_.cells * heap_cell, now_);
        std::size_t sum = 0, largest = 0;
        for (const block &b : now_) sum += b.second;
        for (std::size_t size = heap_cell; size <= of_.cells * heap_cell; size *= 2) {
            if (sees.smallest_piece(size) != 0) largest = size;
        }
        demand(heap_.stats().live == sum && heap_.stats().largest_free == largest, "stats");
        for (std::size_t granule = 0; granule < of_.cells * heap_cell; granule += FLAT_HEAP_GRANULE) {
            const flat_status expected = sees.status_of_free(granule);
            void *address = heap_.start() + granule;
            demand((flat_heap_usable_size(heap_, address) != 0) == (expected == FLAT_OK), "usable_size");
            demand(flat_heap_free(heap_, address) == expected, "free of offset " + std::to_string(granule));
            if (expected == FLAT_OK) {
                remember();
                again(granule);
                heap_.restore(state);
            }
        }
        if (heap_.state() != state) fail("a refused free changed the heap");
        for (std::size_t size : of_.sizes) {
            try_alloc(sees, size);
            heap_.restore(state);
        }
        for (std::size_t i = 0; of_.reallocates && i < now_.size(); i++) {
            for (std::size_t size : of_.sizes) {
                try_realloc(sees, now_[i], size);
                heap_.restore(state);
            }
        }
    }

    // After a block was freed, the same request must succeed.
    void again(std::size_t offset) {
        for (const auto &[start, size] : now_) {
            if (start == offset) demand(flat_heap_alloc(heap_, size) != nullptr, "the same request after a free");
        }
    }

    void try_alloc(const picture &sees, std::size_t size) {
        const void *got = flat_heap_alloc(heap_, size);
        const std::size_t offset = address_of(got) - address_of(heap_.start());
        demand((got != nullptr) == sees.serves(size), "alloc " + std::to_string(size));
        demand(got == nullptr || sees.may_lie_at(offset, size), "the place of alloc " + std::to_string(size));
        demand(heap_.stats().refused == (got == nullptr), "refused");
        remember();
    }

    void try_realloc(const picture &sees, const block &from, std::size_t size) {
        void *got = heap_.start() + from.first;
        const std::string what = "realloc of " + std::to_string(from.first) + " to " + std::to_string(size);
        const flat_status status = flat_heap_realloc(heap_, &got, size);
        const std::size_t offset = address_of(got) - address_of(heap_.start());
        const bool doubles = size == 2 * from.second && from.second >= heap_cell && from.first % size == 0 &&
                             sees.is_piece(from.first + from.second, from.second);
        demand((status == FLAT_OK) == (size <= from.second || doubles || sees.serves(size)), what);
        if (offset != from.first) {
            demand(sees.may_lie_at(offset, size), "the place of " + what);
            demand(size != from.second && !doubles, what + " moved");
        } else {
            const std::size_t smallest = sees.smallest_piece(size);
            const bool better = sees.has_slot(size) || (smallest != 0 && smallest < from.second);
            demand(status != FLAT_OK || size >= from.second || (from.second < heap_cell ? !sees.serves(size) : !better),
                   what + " stayed");
        }
        remember();
    }

    limits of_;
    test_heap heap_;
    std::vector<std::uint32_t> numbers_ = std::vector<std::uint32_t>(4 * (of_.cells + 32));
    std::unordered_set<std::string> met_;
    std::deque<std::vector<char>> to_do_;
    std::vector<block> now_;
    std::string wrong_;
    std::size_t calls_ = 0;
};

void try_all(const limits &of) {
    every_state states(of);
    EXPECT_EQ(states.run(), "");
    EXPECT_GT(states.states(), of.sizes.size());
    std::cout << states.states() << " states, " << states.calls() << " calls\n";
}

} // namespace

TEST(heap_exhaustive, one_cell_of_every_slot) { try_all({1, {32, 64, 128, 256, 512}, true}); }
TEST(heap_exhaustive, two_cells) { try_all({2, {64, 128, 256, 512, 1024}, true}); }
TEST(heap_exhaustive, three_cells) { try_all({3, {128, 256, 512, 1024}, true}); }
TEST(heap_exhaustive, four_cells) { try_all({4, {256, 512, 1024, 2048}, true}); }
TEST(heap_exhaustive, five_cells) { try_all({5, {256, 512, 1024, 2048}, true}); }
TEST(heap_exhaustive, six_cells) { try_all({6, {512, 1024, 2048}, true}); }
TEST(heap_exhaustive, seven_cells) { try_all({7, {512, 1024, 2048}, true}); }
TEST(heap_exhaustive, eight_cells) { try_all({8, {512, 1024, 2048, 4096}, true}); }

// Each of these takes over a minute, so only long test runs such as `make validate` run them.
TEST(heap_exhaustive, four_cells_and_quarters) {
    if (test::scaled(1) < 10) GTEST_SKIP() << "FLATLINE_TEST_SCALE=10 runs it";
    try_all({4, {128, 256, 512, 1024, 2048}, true});
}
TEST(heap_exhaustive, six_cells_and_halves) {
    if (test::scaled(1) < 10) GTEST_SKIP() << "FLATLINE_TEST_SCALE=10 runs it";
    try_all({6, {256, 512, 1024, 2048}, true});
}
