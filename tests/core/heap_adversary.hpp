// A program that tries to make a heap refuse a request within a demand, and knows how the heap places its blocks.
//
// It does not use the heap itself, but its rule: a request takes a free slot of its size, or else the smallest free
// piece. Among equally small pieces the adversary chooses. Pieces are distinguished by what surrounds them and not by
// their addresses, so there are few enough states to visit all of them. The region has no end. The adversary counts how
// many windows of the largest block's size are in use at once. A region with fewer windows would have refused.
#ifndef FLATLINE_TESTS_CORE_HEAP_ADVERSARY_HPP
#define FLATLINE_TESTS_CORE_HEAP_ADVERSARY_HPP

#include <flatline/heap.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <vector>

namespace test {

// The smallest request within a demand for each size of block.
struct heap_requests {
    unsigned first = 0, last = 0; // orders: a block has 32 << order bytes
    std::array<std::size_t, 32> least{};

    explicit heap_requests(const flat_heap_demand &demand) {
        const auto order_of = [](std::size_t size) {
            unsigned order = 0;
            while (std::size_t{32} << order < size) order++;
            return order;
        };
        first = order_of(demand.smallest);
        last = order_of(std::max(demand.largest, demand.alignment));
        for (unsigned order = first; order <= last; order++) {
            const bool any = order == first || std::size_t{32} << order <= demand.alignment;
            least[order] = any ? demand.smallest : (std::size_t{16} << order) + 1;
        }
    }
};

class heap_adversary {
  public:
    explicit heap_adversary(const flat_heap_demand &demand)
        : requests_(demand), live_(demand.live), top_(std::max(requests_.last, cell_order)) {}

    // The most windows in use in any state, or 0 if there are more than `most` states.
    std::size_t most_windows(std::size_t most) {
        std::size_t windows = 0;
        meet({});
        while (!to_do_.empty()) {
            const state now = std::move(to_do_.front());
            to_do_.pop_front();
            windows = std::max(windows, now.size());
            for_each_free(now);
            for (unsigned order = requests_.first; order <= requests_.last; order++) for_each_alloc(now, order);
            if (met_.size() > most) return 0;
        }
        return windows;
    }
    std::size_t states() const { return met_.size(); }
    std::size_t window() const { return std::size_t{32} << top_; }

  private:
    static constexpr unsigned cell_order = 4, none = 99;
    using state = std::vector<std::uint16_t>; // the windows in use, by their numbers, ascending

    // The contents of a window of 32 << order bytes. Equal contents have the same number: see number_of.
    struct part {
        enum kinds { empty, full, slots, halves } kind;
        unsigned order;
        unsigned a, b; // slots: their order and how many are live; halves: the numbers of their contents
        auto operator<=>(const part &) const = default;
    };

    std::uint16_t number_of(part of) {
        if (of.kind == part::slots && of.b == 0) of = {part::empty, of.order, 0, 0};
        if (of.kind == part::halves) {
            if (of.a > of.b) std::swap(of.a, of.b);
            if (parts_[of.a].kind == part::empty && parts_[of.b].kind == part::empty)
                of = {part::empty, of.order, 0, 0};
        }
        if (parts_.size() > UINT16_MAX) throw std::length_error("more kinds of windows than numbers");
        const auto [at, is_new] = numbers_.emplace(of, static_cast<std::uint16_t>(parts_.size()));
        if (is_new) {
            parts_.push_back(of);
            requested_.push_back(requested_in(of));
        }
        return at->second;
    }
    std::size_t requested_in(const part &of) const {
        switch (of.kind) {
        case part::empty: return 0;
        case part::full: return requests_.least[of.order];
        case part::slots: return of.b * requests_.least[of.a];
        default: return requested_[of.a] + requested_[of.b];
        }
    }

    using numbers = std::vector<std::uint16_t>;

    // All results of freeing one block of a window.
    void freed(std::uint16_t number, numbers &to) {
        const part of = parts_[number];
        if (of.kind == part::full) to.push_back(number_of({part::empty, of.order, 0, 0}));
        if (of.kind == part::slots) to.push_back(number_of({part::slots, of.order, of.a, of.b - 1}));
        if (of.kind != part::halves) return;
        in_halves(of, to, [this](std::uint16_t half, numbers &results) { freed(half, results); });
    }
    template <typename Act> void in_halves(const part &of, numbers &to, Act act) {
        numbers results;
        act(static_cast<std::uint16_t>(of.a), results);
        for (std::uint16_t result : results) to.push_back(number_of({part::halves, of.order, result, of.b}));
        results.clear();
        act(static_cast<std::uint16_t>(of.b), results);
        for (std::uint16_t result : results) to.push_back(number_of({part::halves, of.order, of.a, result}));
    }

    bool has_room(const part &of, unsigned order) const {
        return of.kind == part::slots && of.a == order && of.b < (1u << (cell_order - order));
    }
    // The order of the smallest free piece of at least `order`, or 0 if a cell has a free slot of this order.
    unsigned smallest(std::uint16_t number, unsigned order) const {
        const part &of = parts_[number];
        if (has_room(of, order)) return 0;
        if (of.kind == part::empty) return of.order >= std::max(order, cell_order) ? of.order : none;
        return of.kind == part::halves ? std::min(smallest(static_cast<std::uint16_t>(of.a), order),
                                                  smallest(static_cast<std::uint16_t>(of.b), order))
                                       : none;
    }
    // A free piece of order `piece` after a block of order `order` was split from it.
    std::uint16_t cut(unsigned piece, unsigned order) {
        if (piece == order) return number_of({part::full, order, 0, 0});
        if (piece == cell_order) return number_of({part::slots, piece, order, 1});
        const unsigned lower = cut(piece - 1, order), upper = number_of({part::empty, piece - 1, 0, 0});
        return number_of({part::halves, piece, lower, upper});
    }
    // All results of a request that takes a free piece of order `piece` from a window; 0 stands for a free slot.
    void taken(std::uint16_t number, unsigned piece, unsigned order, numbers &to) {
        const part of = parts_[number];
        if (piece == 0 && has_room(of, order)) to.push_back(number_of({part::slots, of.order, of.a, of.b + 1}));
        if (of.kind == part::empty && of.order == piece) to.push_back(cut(piece, order));
        if (of.kind != part::halves) return;
        in_halves(of, to, [&](std::uint16_t half, numbers &results) { taken(half, piece, order, results); });
    }

    void meet(state now) {
        now.erase(std::remove_if(now.begin(), now.end(), [&](auto n) { return parts_[n].kind == part::empty; }),
                  now.end());
        std::sort(now.begin(), now.end());
        if (met_.emplace(reinterpret_cast<const char *>(now.data()), now.size() * sizeof now[0]).second) {
            to_do_.push_back(now);
        }
    }
    void meet_each(const state &before, std::size_t place, const numbers &results) {
        for (std::uint16_t result : results) {
            state now = before;
            now[place] = result;
            meet(std::move(now));
        }
    }
    void for_each_free(const state &now) {
        for (std::size_t i = 0; i < now.size(); i++) {
            if (i > 0 && now[i] == now[i - 1]) continue;
            numbers results;
            freed(now[i], results);
            meet_each(now, i, results);
        }
    }
    void for_each_alloc(const state &now, unsigned order) {
        std::size_t requested = requests_.least[order];
        unsigned piece = none;
        for (std::uint16_t number : now) {
            requested += requested_[number];
            piece = std::min(piece, smallest(number, order));
        }
        if (requested > live_) return;
        if (piece == none) {
            state more = now;
            more.push_back(cut(top_, order));
            meet(std::move(more));
        }
        for (std::size_t i = 0; piece != none && i < now.size(); i++) {
            if (i > 0 && now[i] == now[i - 1]) continue;
            numbers results;
            taken(now[i], piece, order, results);
            meet_each(now, i, results);
        }
    }

    heap_requests requests_;
    std::size_t live_;
    unsigned top_; // the order of the windows
    std::vector<part> parts_;
    std::vector<std::size_t> requested_; // requested bytes in each part
    std::map<part, std::uint16_t> numbers_;
    std::unordered_set<std::string> met_;
    std::deque<state> to_do_;
};

} // namespace test

#endif
