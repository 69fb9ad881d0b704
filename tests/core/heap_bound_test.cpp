// flat_heap_bound: a heap in a region of that many bytes never refuses a program that keeps to its demand. Also how
// much smaller the region can be before some program is refused.
#include "core/environment.hpp"
#include "core/heap_adversary.hpp"
#include "core/heap_state.h"
#include "core/random_source.hpp"
#include "core/test_heap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <iomanip>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

namespace {

using test::address_of;
using test::heap_block_size;
using test::heap_cell;
using test::heap_requests;
using test::random_source;
using test::test_heap;

std::size_t bound_of(const flat_heap_demand &demand) {
    std::size_t bytes = 0;
    EXPECT_EQ(flat_heap_bound(&demand, &bytes), FLAT_OK);
    return bytes;
}

std::size_t window_of(const flat_heap_demand &demand) {
    return heap_block_size(std::max({demand.largest, demand.alignment, heap_cell}));
}

std::string words(const flat_heap_demand &demand) {
    return std::to_string(demand.live) + " bytes live, requests of " + std::to_string(demand.smallest) + " to " +
           std::to_string(demand.largest) +
           (demand.alignment > 1 ? ", aligned to up to " + std::to_string(demand.alignment) : "") +
           (demand.reallocates ? ", resized" : "");
}

// A program that keeps to a demand on a real heap. It knows its blocks and the requested size of each.
class program {
  public:
    program(const flat_heap_demand &demand, std::size_t bytes)
        : demand_(demand), heap_(bytes, PROT_READ | PROT_WRITE, alignment_for(demand)), window_(window_of(demand)) {}

    flat_heap *heap() const { return heap_; }
    std::size_t requested() const { return requested_; }
    bool was_refused() const { return refused_; }
    const std::map<char *, std::size_t> &blocks() const { return blocks_; }
    std::size_t offset(const char *block) const { return static_cast<std::size_t>(block - heap_.start()); }
    std::size_t usable(char *block) const { return flat_heap_usable_size(heap_, block); }

    // Returns false iff the demand does not allow the request or the heap refuses it.
    bool alloc(std::size_t size, std::size_t alignment = 1) {
        if (size > demand_.live - requested_) return false;
        char *block = static_cast<char *>(alignment == 1 ? flat_heap_alloc(heap_, size)
                                                         : flat_heap_aligned_alloc(heap_, alignment, size));
        if (block == nullptr) return refuse();
        blocks_[block] = size;
        requested_ += size;
        touch(block, usable(block));
        return true;
    }
    void free(char *block) {
        touch(block, 0 - usable(block));
        EXPECT_EQ(flat_heap_free(heap_, block), FLAT_OK);
        requested_ -= blocks_[block];
        blocks_.erase(block);
    }
    bool reallocate(char *block, std::size_t size) {
        const std::size_t had = blocks_[block];
        if (size > demand_.live - (requested_ - had)) return false;
        void *now = block;
        if (flat_heap_realloc(heap_, &now, size) != FLAT_OK) return refuse();
        EXPECT_EQ(usable(static_cast<char *>(now)), heap_block_size(size)) << "it shrinks while there is memory";
        requested_ += size - had;
        blocks_.erase(block);
        blocks_[static_cast<char *>(now)] = size;
        return true;
    }

    // In each window of `size` bytes, frees all blocks except the one with the smallest request.
    void leave_one_in_each(std::size_t size) {
        std::map<std::size_t, char *> kept;
        std::vector<char *> gone;
        for (const auto &[block, asked] : blocks_) {
            const auto [at, is_first] = kept.emplace(offset(block) / size, block);
            if (is_first) continue;
            const bool better = asked < blocks_[at->second];
            gone.push_back(better ? at->second : block);
            if (better) at->second = block;
        }
        for (char *block : gone) free(block);
    }

    // The most windows of the largest block's size that were in use at once, for a program that resizes nothing.
    std::size_t most_windows() const { return most_windows_; }

  private:
    static std::size_t alignment_for(const flat_heap_demand &demand) { return std::max(heap_cell, demand.alignment); }
    bool refuse() {
        refused_ = true;
        return false;
    }
    // Adds `size` to the live bytes of the block's window. It wraps around to subtract.
    void touch(char *block, std::size_t size) {
        if (size == 0) return;
        auto &live = live_in_[offset(block) / window_];
        live += size;
        if (live == 0) live_in_.erase(offset(block) / window_);
        most_windows_ = std::max(most_windows_, live_in_.size());
    }

    flat_heap_demand demand_;
    test_heap heap_;
    std::size_t window_, requested_ = 0, most_windows_ = 0;
    std::map<char *, std::size_t> blocks_;
    std::map<std::size_t, std::size_t> live_in_; // live bytes of each window in use
    bool refused_ = false;
};

void tell(const flat_heap_demand &demand, std::size_t bound, std::size_t refused_at, const std::string &more) {
    std::cout << words(demand) << ": bound " << bound << " bytes, " << std::fixed << std::setprecision(2)
              << static_cast<double>(bound) / static_cast<double>(demand.live) << " times live; refused at "
              << refused_at << ", " << std::setprecision(3)
              << static_cast<double>(refused_at) / static_cast<double>(bound) << " of it" << more << '\n';
}

// Robson's construction (1971): for each block size in turn, keep one block in every window of that size, so that none
// of them can hold a new block, and then allocate blocks of that size until the demand is used up.
void robson(program &on, const heap_requests &requests, const flat_heap_demand &demand) {
    for (unsigned order = requests.first; order <= requests.last && !on.was_refused(); order++) {
        const std::size_t size = std::size_t{32} << order;
        if (order > requests.first) on.leave_one_in_each(std::max(size, heap_cell));
        while (on.alloc(requests.least[order], size <= demand.alignment ? size : 1)) {
        }
    }
}

// The blocks of each window of `size` bytes.
std::map<std::size_t, std::vector<char *>> windows_of(const program &on, std::size_t size) {
    std::map<std::size_t, std::vector<char *>> windows;
    for (const auto &[block, asked] : on.blocks()) windows[on.offset(block) / size].push_back(block);
    return windows;
}

// A construction that is better than Robson's for three block sizes of one, two and four cells. It moves blocks of one
// cell, which cost little to keep, into windows that blocks of two cells opened. An eighth of the live bytes keeps a
// cell in both halves of windows of four cells. In all other windows the second half is freed repeatedly, to open new
// windows.
void creep(program &on, const heap_requests &requests) {
    const std::size_t one = requests.least[4], two = requests.least[5], half = 1024, window = 2048;
    while (on.alloc(one)) {
    }
    const std::size_t both = on.blocks().size() / 8;
    for (const auto &[place, blocks] : windows_of(on, window)) {
        for (std::size_t i = 0; i < blocks.size(); i++) {
            if (place >= both || i % 2 == 1) on.free(blocks[i]);
        }
    }
    for (std::size_t before = 0, now = 1; now > before;) {
        before = now;
        while (on.alloc(two)) { // fills the empty halves first
        }
        std::vector<char *> cells, beside_a_cell, second;
        for (const auto &[place, blocks] : windows_of(on, window)) {
            for (char *block : blocks) {
                if (on.usable(block) == 512) cells.push_back(block);
                if (on.usable(block) == half && on.usable(blocks.front()) != on.usable(blocks.back()))
                    beside_a_cell.push_back(block);
            }
            if (blocks.size() == 2 && on.usable(blocks[0]) == half && on.usable(blocks[1]) == half)
                second.push_back(blocks[1]);
        }
        for (char *block : beside_a_cell) on.free(block);
        for (char *block : second) on.free(block); // the heap splits the piece freed last first
        for (std::size_t left = cells.size() + 2 * second.size(); left > 0 && on.alloc(one); left--) {
        }
        for (const auto &[place, blocks] : windows_of(on, half)) {
            if (blocks.size() == 2) on.free(blocks[1]);
        }
        now = 0;
        for (const auto &[place, blocks] : windows_of(on, window)) {
            const bool keeps = std::any_of(blocks.begin(), blocks.end(), [&](char *b) { return on.usable(b) == 512; });
            for (char *block : blocks) {
                if (on.usable(block) == half) on.free(block);
            }
            now += keeps;
        }
    }
    while (on.alloc(two)) {
    }
    on.leave_one_in_each(window);
    while (on.alloc(requests.least[6])) {
    }
}

// A greedy random program: it fills the heap with blocks of one size or of any size, frees those that are not needed to
// keep windows of some size in use, resizes some of the others, and repeats this.
void plot(program &on, const flat_heap_demand &demand, random_source &random) {
    const heap_requests requests(demand);
    const auto any_order = [&] {
        return requests.first + static_cast<unsigned>(random.below(requests.last - requests.first + 1));
    };
    for (int phase = 0; phase < 40 && !on.was_refused(); phase++) {
        const bool mixed = random.one_in(4);
        for (unsigned order = any_order(); !on.was_refused(); order = mixed ? any_order() : order) {
            const std::size_t size = std::size_t{32} << order;
            if (!on.alloc(requests.least[order], size <= demand.alignment ? size : 1)) break;
            if (random.one_in(5000)) break;
        }
        on.leave_one_in_each(std::max(heap_cell, std::size_t{32} << any_order()));
        for (std::size_t left = demand.reallocates ? on.blocks().size() / 2 : 0; left > 0; left--) {
            auto chosen = on.blocks().begin();
            std::advance(chosen, static_cast<std::ptrdiff_t>(random.below(on.blocks().size())));
            on.reallocate(chosen->first, requests.least[any_order()]);
            if (on.was_refused()) return;
            if (left > 200) left = 200;
        }
    }
}

// Visits every state into which a program within `demand` can bring a heap of `bytes`, where each request is the
// smallest that needs its block size, and finds out whether any request is refused. It uses the real heap, which makes
// its own choice among equally small pieces.
class every_program {
  public:
    every_program(const flat_heap_demand &demand, std::size_t bytes)
        : demand_(demand), requests_(demand), heap_(bytes, PROT_READ | PROT_WRITE, window_of(demand)),
          numbers_(4 * (bytes / heap_cell + 32)) {}

    bool is_refused() {
        remember();
        while (!to_do_.empty() && !refused_) {
            const std::vector<char> state = std::move(to_do_.front());
            to_do_.pop_front();
            heap_.restore(state);
            const auto live = test::heap_live(heap_);
            std::size_t requested = 0;
            for (const auto &[block, size] : live) requested += asked_for(size);
            for (unsigned order = requests_.first; order <= requests_.last; order++) {
                const std::size_t size = requests_.least[order];
                if (requested + size <= demand_.live) alloc(order);
                heap_.restore(state);
                for (const auto &[block, had] : live) {
                    if (!demand_.reallocates || requested - asked_for(had) + size > demand_.live) continue;
                    reallocate(test::at(block), size, had);
                    heap_.restore(state);
                }
            }
            for (const auto &[block, size] : live) {
                EXPECT_EQ(flat_heap_free(heap_, test::at(block)), FLAT_OK);
                remember();
                heap_.restore(state);
            }
        }
        return refused_;
    }
    std::size_t states() const { return met_.size(); }

  private:
    std::size_t asked_for(std::size_t block) const {
        return requests_.least[static_cast<unsigned>(__builtin_ctzll(block)) - 5];
    }
    void alloc(unsigned order) {
        const std::size_t size = std::size_t{32} << order;
        const std::size_t alignment = size <= demand_.alignment ? size : 1;
        if (flat_heap_aligned_alloc(heap_, alignment, requests_.least[order]) == nullptr) refused_ = true;
        remember();
    }
    void reallocate(void *block, std::size_t size, std::size_t had) {
        if (flat_heap_realloc(heap_, &block, size) != FLAT_OK) refused_ = true;
        const std::size_t has = flat_heap_usable_size(heap_, block);
        EXPECT_TRUE(refused_ || has == heap_block_size(size)) << had << " stayed at " << has << ", asked for " << size;
        remember();
    }
    void remember() {
        const std::size_t count = heap_state(heap_, numbers_.data());
        if (met_.emplace(reinterpret_cast<const char *>(numbers_.data()), count * sizeof numbers_[0]).second) {
            to_do_.push_back(heap_.state());
        }
    }

    flat_heap_demand demand_;
    heap_requests requests_;
    test_heap heap_;
    std::vector<std::uint32_t> numbers_;
    std::unordered_set<std::string> met_;
    std::deque<std::vector<char>> to_do_;
    bool refused_ = false;
};

} // namespace

TEST(heap_bound, is_what_the_best_of_all_programs_needs) {
    // Visits every state into which any program can bring a heap, for demands that are small enough for that. `spare`
    // is the number of windows in the bound that no program needs.
    const struct {
        flat_heap_demand demand;
        std::size_t spare;
    } table[] = {
        // powers of two of at least a cell: two, three and four sizes
        {{4112, 257, 1024, 0, false}, 0},
        {{9252, 257, 1024, 0, false}, 0},
        {{2056, 257, 2048, 0, false}, 0},
        {{4112, 257, 2048, 0, false}, 0},
        {{5140, 257, 2048, 0, false}, 0},
        {{6168, 257, 2048, 0, false}, 0},
        {{7196, 257, 2048, 0, false}, 0},
        {{8224, 257, 2048, 0, false}, 0},
        {{2056, 257, 2049, 0, false}, 0},
        {{3084, 257, 2049, 0, false}, 0},
        {{4112, 257, 2049, 0, false}, 0},
        // requests that fill their blocks
        {{4096, 512, 2048, 0, false}, 0},
        // only slots, and slots beside pieces
        {{512, 32, 32, 0, false}, 0},
        {{1024, 129, 512, 0, false}, 1},
        {{2000, 129, 512, 0, false}, 1},
        {{1000, 65, 512, 0, false}, 1},
        {{600, 33, 512, 0, false}, 2},
        {{70, 1, 64, 0, false}, 0},
        {{2000, 129, 1024, 0, false}, 0},
        // one size at any alignment
        {{400, 100, 100, 2048, false}, 0},
        {{800, 100, 100, 1024, false}, 0},
    };
    for (const auto &row : table) {
        test::heap_adversary adversary(row.demand);
        const std::size_t most = adversary.most_windows(1000000);
        const std::size_t bound = bound_of(row.demand);
        ASSERT_NE(most, 0u) << words(row.demand) << ": more states than the test can visit";
        EXPECT_LE(most * adversary.window(), bound) << words(row.demand) << ": the bound is wrong";
        EXPECT_EQ(most + row.spare, bound / adversary.window()) << words(row.demand);
        tell(row.demand, bound, (most - 1) * adversary.window(),
             " (" + std::to_string(adversary.states()) + " states)");
    }
}

TEST(heap_bound, is_never_refused_by_the_heap_itself) {
    const flat_heap_demand table[] = {
        {1028, 257, 512, 0, false},   {1542, 257, 1024, 0, false}, {1542, 257, 1024, 0, true},
        {1028, 257, 1024, 0, true},   {600, 129, 512, 0, false},   {400, 129, 300, 0, true},
        {300, 100, 100, 1024, false}, {1026, 513, 1024, 0, true},
    };
    for (const flat_heap_demand &demand : table) {
        const std::size_t bound = bound_of(demand), window = window_of(demand);
        std::size_t states = 0;
        // Larger regions must not refuse either, including those that end with less than a window.
        for (std::size_t bytes : {bound, bound + heap_cell, bound + window, bound + window + heap_cell}) {
            every_program programs(demand, bytes);
            EXPECT_FALSE(programs.is_refused()) << words(demand) << ": a heap of " << bytes << " bytes refuses";
            if (bytes == bound) states = programs.states();
        }
        std::size_t refused_at = bound - window;
        while (refused_at > 0 && !every_program(demand, refused_at).is_refused()) refused_at -= window;
        tell(demand, bound, refused_at, " (" + std::to_string(states) + " states)");
    }
}

TEST(heap_bound, is_never_refused_to_robsons_construction_and_is_needed_for_a_part) {
    const struct {
        flat_heap_demand demand;
        double least; // a region of this share of the bound is too small
    } table[] = {
        {{257 << 10, 257, 512, 0, false}, 0.99},       {{257 << 10, 257, 1024, 0, false}, 0.99},
        {{257 << 10, 257, 2048, 0, false}, 0.93},      {{257 << 10, 257, 8192, 0, false}, 0.80},
        {{1 << 20, 257, 64 << 10, 0, false}, 0.65},    {{4 << 20, 257, 1 << 20, 0, false}, 0.60},
        {{1 << 18, 33, 256, 0, false}, 0.95},          {{1 << 20, 16, 4096, 0, false}, 0.80},
        {{1 << 20, 1, 64 << 10, 0, false}, 0.85},      {{4 << 20, 16, 1 << 20, 0, false}, 0.60},
        {{1 << 20, 100, 5000, 4096, false}, 0.95},     {{1 << 18, 32, 32, 0, false}, 0.99},
        {{1 << 20, 3000, 5000, 1 << 16, false}, 0.90},
    };
    for (const auto &[demand, least] : table) {
        const std::size_t bound = bound_of(demand), window = window_of(demand);
        program at_the_bound(demand, bound);
        robson(at_the_bound, heap_requests(demand), demand);
        EXPECT_FALSE(at_the_bound.was_refused()) << words(demand);
        program with_a_rest(demand, bound + window - heap_cell);
        robson(with_a_rest, heap_requests(demand), demand);
        EXPECT_FALSE(with_a_rest.was_refused()) << words(demand);
        const std::size_t too_small = (at_the_bound.most_windows() - 1) * window;
        program below(demand, too_small);
        robson(below, heap_requests(demand), demand);
        EXPECT_TRUE(below.was_refused()) << words(demand);
        EXPECT_GE(static_cast<double>(too_small), least * static_cast<double>(bound)) << words(demand);
        tell(demand, bound, too_small, "");
    }
}

TEST(heap_bound, is_never_refused_to_random_programs_that_try) {
    std::cout << "seed: FLATLINE_TEST_SEED=" << test::seed() << std::endl;
    double sum = 0;
    int count = 0;
    for (std::size_t round = 0; round < test::scaled(300); round++) {
        random_source random(test::seed() + round);
        flat_heap_demand demand{};
        demand.smallest = random.magnitude(2000);
        demand.largest = demand.smallest + random.magnitude(30000) - 1;
        demand.live = demand.largest + random.magnitude(200000);
        if (random.one_in(4)) demand.alignment = std::size_t{1} << random.below(13);
        demand.reallocates = random.one_in(3);
        const std::size_t bound = bound_of(demand);
        if (bound > 64 << 20) continue;
        const std::size_t more = random.one_in(2) ? heap_cell * random.below(200) : 0;
        program on(demand, bound + more);
        plot(on, demand, random);
        ASSERT_FALSE(on.was_refused()) << words(demand) << ", FLATLINE_TEST_SEED=" << test::seed() + round;
        if (demand.reallocates || more > 0) continue;
        const std::size_t needed = on.most_windows() * window_of(demand);
        sum += static_cast<double>(needed) / static_cast<double>(bound);
        count++;
    }
    std::cout << count << " of them that resized nothing needed " << std::setprecision(3) << sum / count
              << " of the bound on average\n";
}

TEST(heap_bound, is_needed_to_within_two_windows_for_three_sizes) {
    for (std::size_t blocks : {64u, 256u, 1024u, 4096u}) {
        const flat_heap_demand demand{257 * blocks, 257, 2048, 0, false};
        const std::size_t bound = bound_of(demand), window = window_of(demand);
        program on(demand, bound);
        creep(on, heap_requests(demand));
        EXPECT_FALSE(on.was_refused()) << words(demand);
        EXPECT_GE(on.most_windows() + 2, bound / window) << words(demand);
        program below(demand, (on.most_windows() - 1) * window);
        creep(below, heap_requests(demand));
        EXPECT_TRUE(below.was_refused()) << words(demand);
        tell(demand, bound, (on.most_windows() - 1) * window, "");
    }
}
