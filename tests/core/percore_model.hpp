// A set of shards beside a reference model, which implements the contract of <flatline/percore.h> with standard
// containers.
//
// The set may choose which free block an alloc returns, so the model follows that choice and reports it if the contract
// does not allow it. The model asks the set only whether a free block is still waiting to be collected.
#ifndef FLATLINE_TESTS_CORE_PERCORE_MODEL_HPP
#define FLATLINE_TESTS_CORE_PERCORE_MODEL_HPP

#include "core/percore_state.h"
#include "core/test_percore.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace test {

// The blocks of one class in one shard.
struct shard_class {
    enum class is : unsigned char { fresh, live, listed, marked };
    // Two simultaneous frees of a block leave a stale mark. This many stale marks of one block are always harmless.
    static constexpr unsigned char most_stale = 14;

    std::size_t size = 0, count = 0; // as rounded
    std::uintptr_t start = 0;        // of block 0
    std::vector<is> state;
    std::vector<std::uint32_t> live, place; // `live` is unordered; place[i] is the index of live block i in it
    std::vector<std::uint32_t> list;        // blocks freed locally since the last drain, the latest at the back
    std::vector<unsigned char> stale;       // the most stale marks that each block can have
    std::size_t listed = 0, marked = 0, fresh = 0;
    std::uint64_t refused = 0;

    std::uintptr_t address(std::uint64_t index) const { return start + size * static_cast<std::size_t>(index); }
    std::uintptr_t end() const { return address(count); }
    std::size_t alignment() const { return std::min<std::size_t>(size & (0 - size), FLAT_POOL_MAX_ALIGNMENT); }

    void take(std::uint32_t index) {
        if (state[index] == is::fresh) fresh++;
        if (state[index] == is::marked) marked--;
        if (state[index] == is::listed) listed--;
        if (state[index] == is::listed && !list.empty()) list.pop_back();
        state[index] = is::live;
        place[index] = static_cast<std::uint32_t>(live.size());
        live.push_back(index);
    }
    void give(std::uint32_t index, is to) {
        place[live.back()] = place[index];
        live[place[index]] = live.back();
        live.pop_back();
        state[index] = to;
        if (to == is::marked) marked++;
        if (to != is::listed) return;
        listed++;
        list.push_back(index);
    }
};

struct shard_model {
    std::vector<shard_class> classes;
    std::uint64_t pairs = 0; // of simultaneous frees
    bool owned = false;
};

class percore_pair {
  public:
    // The function that frees, and whether the caller is the owner.
    enum class way { any_thread, as_owner, by_pool };

    explicit percore_pair(test_percore &set) : set_(set) {
        for (std::size_t s = 0; s < set.shards(); s++) {
            shard_model shard;
            for (const flat_class &given : set.classes()) {
                shard_class c;
                c.size = (given.block_size + FLAT_POOL_GRANULE - 1) / FLAT_POOL_GRANULE * FLAT_POOL_GRANULE;
                c.count = given.block_count;
                c.start = address_of(flat_percore_alloc(set.shard(s), c.size));
                c.state.resize(c.count, shard_class::is::fresh);
                c.place.resize(c.count);
                c.stale.resize(c.count);
                shard.classes.push_back(c);
            }
            new_.push_back(shard);
        }
        start_again();
    }

    // The state of the model. A test may save it and restore it along with the metadata.
    std::vector<shard_model> shards;

    // Starts over with a new set and a new model.
    void start_again() {
        set_.start_again();
        shards = new_;
    }

    shard_class *owner(std::uintptr_t address) {
        for (shard_model &shard : shards) {
            for (shard_class &c : shard.classes) {
                if (address >= c.start && address < c.end()) return &c;
            }
        }
        return nullptr;
    }

    // Each of these executes one operation and returns "" or how the set differs from the model.

    std::string alloc(std::size_t s, std::size_t size) {
        const std::uint64_t late = flat_percore_late_double_frees(set_.shard(s));
        return took(s, class_for(s, 1, size), address_of(flat_percore_alloc(set_.shard(s), size)), late);
    }
    std::string aligned_alloc(std::size_t s, std::size_t alignment, std::size_t size) {
        const std::uint64_t late = flat_percore_late_double_frees(set_.shard(s));
        return took(s, class_for(s, alignment, size),
                    address_of(flat_percore_aligned_alloc(set_.shard(s), alignment, size)), late);
    }
    // The pool's own alloc, which does not collect.
    std::string pool_alloc(std::size_t s, std::size_t size) {
        shard_class *c = class_for(s, 1, size);
        const std::uintptr_t got = address_of(flat_pool_alloc(set_.shard(s), size));
        if (got != 0) return took(s, c, got, 0);
        if (c == nullptr) return "";
        c->refused++;
        return c->listed == 0 && c->fresh == c->count ? "" : "flat_pool_alloc gives none of the shard's own";
    }

    std::string free(way by, std::size_t s, std::uintptr_t address) {
        shard_class *c = owner(address);
        const bool own = c != nullptr && is_of(s, *c);
        flat_status expected = FLAT_OK;
        if (address != 0) expected = by == way::by_pool && !own ? FLAT_FOREIGN_POINTER : status_of_free(address);
        const flat_status got = by == way::any_thread ? flat_percore_free(set_, at(address))
                                : by == way::as_owner ? flat_percore_free_as(set_.shard(s), at(address))
                                                      : flat_pool_free(set_.shard(s), at(address));
        if (got != expected) {
            return std::string("free gives \"") + flat_status_string(got) + "\", expected \"" +
                   flat_status_string(expected) + '"';
        }
        if (got == FLAT_OK && c != nullptr) {
            const bool local = by != way::any_thread && own;
            c->give(index_of(*c, address), local ? shard_class::is::listed : shard_class::is::marked);
        }
        return "";
    }

    // Executes both frees of a live block. Does nothing if the block could have too many stale marks already.
    std::string free_twice_at_once(std::uintptr_t address) {
        shard_class *c = owner(address);
        if (c == nullptr || status_of_free(address) != FLAT_OK) return "";
        const std::uint32_t index = index_of(*c, address);
        if (c->stale[index] >= shard_class::most_stale) return "";
        if (!percore_free_twice_at_once(set_, at(address))) return "one of two frees at once was refused";
        c->stale[index]++;
        c->give(index, shard_class::is::listed);
        shards[flat_percore_shard_of(set_, at(address))].pairs++;
        return "";
    }

    std::string drain(std::size_t s, std::size_t most) {
        std::size_t marked = 0;
        for (const shard_class &c : shards[s].classes) marked += c.marked;
        const std::size_t got = flat_percore_drain(set_.shard(s), most);
        if (got != std::min(most, marked)) return differs("drain", got, std::min(most, marked));
        return follow_drain(s, got);
    }
    std::string flush(std::size_t s) {
        std::size_t marked = 0;
        for (const shard_class &c : shards[s].classes) marked += c.marked;
        const std::size_t got = flat_percore_flush(set_.shard(s));
        if (got != marked) return differs("flush", got, marked);
        for (shard_class &c : shards[s].classes) std::fill(c.stale.begin(), c.stale.end(), 0);
        return follow_drain(s, got);
    }

    std::string adopt() {
        flat_pool *const got = flat_percore_adopt(set_);
        for (std::size_t s = 0; s < shards.size(); s++) {
            if (shards[s].owned) continue;
            shards[s].owned = got == set_.shard(s);
            if (shards[s].owned) return "";
        }
        return got == nullptr && all_owned() ? "" : "adopt gives a shard that has an owner, or none";
    }
    std::string leave(std::size_t s) {
        flat_percore_leave(set_.shard(s));
        shards[s].owned = false;
        return "";
    }

    std::string look(std::size_t s, std::uintptr_t address) {
        const shard_class *c = owner(address);
        const std::size_t usable = flat_pool_usable_size(set_.shard(s), at(address));
        const bool own = c != nullptr && is_of(s, *c);
        const std::size_t expected = own && status_of_free(address) == FLAT_OK ? c->size : 0;
        if (usable != expected) return differs("usable_size", usable, expected);
        if (flat_pool_owns(set_.shard(s), at(address)) != own) return "owns is wrong";
        const std::uintptr_t offset = address - address_of(set_.blocks().start());
        const std::size_t bytes = set_.footprint().block_bytes;
        const std::size_t shard = offset < bytes ? offset / (bytes / shards.size()) : SIZE_MAX;
        const std::size_t got = flat_percore_shard_of(set_, at(address));
        return got == shard ? "" : differs("shard_of", got, shard);
    }

    // Compares statistics and live blocks, and checks every invariant.
    std::string compare() {
        for (std::size_t s = 0; s < shards.size(); s++) {
            const std::string wrong = compare(s);
            if (!wrong.empty()) return "shard " + std::to_string(s) + ": " + wrong;
        }
        return "";
    }
    std::string check(std::size_t s) {
        if (flat_pool_check(set_.shard(s)) != FLAT_OK) return "flat_pool_check finds the shard corrupted";
        return flat_percore_check(set_.shard(s)) == FLAT_OK ? "" : "flat_percore_check finds the shard corrupted";
    }

    // Allocates all remaining blocks of every class. At the end every block is live.
    std::string drain() {
        for (std::size_t s = 0; s < shards.size(); s++) {
            for (const shard_class &c : shards[s].classes) {
                for (std::size_t left = c.count - c.live.size() + stale_of(c) + 1; left > 0; left--) {
                    const std::string wrong = alloc(s, c.size);
                    if (!wrong.empty()) return "while taking all that is left: " + wrong;
                }
                if (c.live.size() != c.count) return "a block is lost";
            }
        }
        return compare();
    }

    flat_status status_of_free(std::uintptr_t address) {
        if (address == 0) return FLAT_OK;
        const shard_class *c = owner(address);
        if (c == nullptr) return FLAT_FOREIGN_POINTER;
        if ((address - c->start) % c->size != 0) return FLAT_INTERIOR_POINTER;
        return c->state[index_of(*c, address)] == shard_class::is::live ? FLAT_OK : FLAT_DOUBLE_FREE;
    }

  private:
    static std::string differs(const std::string &what, std::uint64_t got, std::uint64_t expected) {
        return what + " is " + std::to_string(got) + ", expected " + std::to_string(expected);
    }
    static std::uint32_t index_of(const shard_class &c, std::uintptr_t address) {
        return static_cast<std::uint32_t>((address - c.start) / c.size);
    }
    static std::size_t stale_of(const shard_class &c) {
        std::size_t stale = 0;
        for (unsigned char marks : c.stale) stale += marks;
        return stale;
    }
    bool all_owned() const {
        return std::all_of(shards.begin(), shards.end(), [](const shard_model &shard) { return shard.owned; });
    }
    bool is_of(std::size_t s, const shard_class &c) const {
        return &c >= shards[s].classes.data() && &c < shards[s].classes.data() + shards[s].classes.size();
    }
    shard_class *class_for(std::size_t s, std::size_t alignment, std::size_t size) {
        if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > FLAT_POOL_MAX_ALIGNMENT) return nullptr;
        for (shard_class &c : shards[s].classes) {
            if (size <= c.size && alignment <= c.alignment()) return &c;
        }
        return nullptr;
    }

    // Checks and records the result of an alloc of shard `s` from class `c`. While no free is in progress, it is NULL
    // iff all blocks are live, or the alloc met stale marks.
    std::string took(std::size_t s, shard_class *c, std::uintptr_t address, std::uint64_t late_before) {
        if (c == nullptr) return address == 0 ? "" : "alloc serves what no class holds";
        const std::uint64_t late = flat_percore_late_double_frees(set_.shard(s));
        if (late > shards[s].pairs) return "more late double frees than there were";
        if (address == 0) {
            c->refused++;
            if (c->live.size() == c->count) return "";
            if (c->listed == 0 && c->fresh == c->count && late > late_before) return "";
            return "alloc gives none of " + std::to_string(c->count - c->live.size()) + " free blocks";
        }
        if (owner(address) != c || (address - c->start) % c->size != 0) return "alloc gives no block of its class";
        const std::uint32_t index = index_of(*c, address);
        const shard_class::is was = c->state[index];
        if (was == shard_class::is::live) return "alloc gives a live block";
        if (c->listed > 0 && was != shard_class::is::listed) return "alloc passes the list by";
        if (c->listed > 0 && !c->list.empty() && index != c->list.back()) return "alloc gives another than freed last";
        if (was == shard_class::is::fresh && index != c->fresh) return "fresh blocks come out of order";
        c->take(index);
        return "";
    }

    // Records which marked blocks a drain moved to the free lists. The set chooses their order.
    std::string follow_drain(std::size_t s, std::size_t drained) {
        std::size_t moved = 0;
        for (shard_class &c : shards[s].classes) {
            if (c.marked == 0) continue;
            for (std::uint32_t i = 0; i < c.count; i++) {
                if (c.state[i] != shard_class::is::marked || percore_is_claimed(set_.shard(s), at(c.address(i)))) {
                    continue;
                }
                c.state[i] = shard_class::is::listed;
                c.listed++;
                c.marked--;
                c.list.clear();
                moved++;
            }
        }
        return moved == drained ? "" : differs("the number of blocks that a drain moved", moved, drained);
    }

    std::string compare(std::size_t s) {
        const std::string wrong = check(s);
        if (!wrong.empty()) return wrong;
        const std::vector<flat_pool_stats> stats = set_.stats(s);
        std::vector<std::pair<std::uintptr_t, std::size_t>> expected, met;
        for (std::size_t i = 0; i < stats.size(); i++) {
            const shard_class &c = shards[s].classes[i];
            if (stats[i].block_size != c.size || stats[i].block_count != c.count) return "statistics of another class";
            if (stats[i].live != c.live.size()) return differs("live", stats[i].live, c.live.size());
            if (stats[i].high_water != c.fresh) return differs("high_water", stats[i].high_water, c.fresh);
            if (stats[i].refused != c.refused) return differs("refused", stats[i].refused, c.refused);
            std::vector<std::uint32_t> live = c.live;
            std::sort(live.begin(), live.end());
            for (std::uint32_t index : live) expected.emplace_back(c.address(index), c.size);
        }
        flat_pool_visit(
            set_.shard(s),
            [](void *context, void *block, std::size_t size) {
                static_cast<decltype(met) *>(context)->emplace_back(address_of(block), size);
            },
            &met);
        return met == expected ? "" : "visit met other blocks than the live ones";
    }

    test_percore &set_;
    std::vector<shard_model> new_;
};

} // namespace test

#endif
