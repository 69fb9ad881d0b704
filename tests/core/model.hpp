// A reference model of the pool: it implements the contract of <flatline/pool.h> with standard containers.
//
// The test tells the model the address of each class's first block. From that alone it predicts every result: the
// status of a free of any address, and exactly which block an alloc returns.
#ifndef FLATLINE_TESTS_CORE_MODEL_HPP
#define FLATLINE_TESTS_CORE_MODEL_HPP

#include <flatline/pool.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace test {

struct model_class {
    std::size_t size = 0, count = 0; // as rounded
    std::uintptr_t start = 0;        // of block 0

    enum class state : unsigned char { free, live };
    std::vector<state> used;          // of every block ever allocated; the others are fresh and come in order
    std::vector<std::uint32_t> freed; // free blocks that were used, the latest at the back
    std::vector<std::uint32_t> live;  // unordered
    std::vector<std::uint32_t> place; // place[i] is the index of live block i in `live`
    std::uint64_t refused = 0;

    std::size_t alignment() const { return std::min<std::size_t>(size & (0 - size), FLAT_POOL_MAX_ALIGNMENT); }
    std::size_t free_blocks() const { return count - live.size(); }
    std::uintptr_t end() const { return start + size * count; }
    std::uintptr_t address(std::uint64_t index) const { return start + size * static_cast<std::size_t>(index); }
    bool is_live(std::size_t index) const { return index < used.size() && used[index] == state::live; }

    // Allocates the next block and returns its address. There must be a free block.
    std::uintptr_t take() {
        std::uint32_t index;
        if (!freed.empty()) {
            index = freed.back();
            freed.pop_back();
            used[index] = state::live;
        } else {
            index = static_cast<std::uint32_t>(used.size());
            used.push_back(state::live);
            place.push_back(0);
        }
        place[index] = static_cast<std::uint32_t>(live.size());
        live.push_back(index);
        return address(index);
    }

    void give(std::uint32_t index) {
        const std::uint32_t moved = live.back();
        live[place[index]] = moved;
        place[moved] = place[index];
        live.pop_back();
        used[index] = state::free;
        freed.push_back(index);
    }

    void reset() {
        used.clear();
        freed.clear();
        live.clear();
        place.clear();
    }
};

class model {
  public:
    // Takes the classes as given to the pool, and the address of each class's first block.
    model(const std::vector<flat_class> &given, const std::vector<std::uintptr_t> &starts) {
        for (std::size_t i = 0; i < given.size(); i++) {
            model_class c;
            c.size = (given[i].block_size + FLAT_POOL_GRANULE - 1) / FLAT_POOL_GRANULE * FLAT_POOL_GRANULE;
            c.count = given[i].block_count;
            c.start = starts[i];
            classes.push_back(c);
        }
    }

    std::vector<model_class> classes;

    std::size_t largest() const { return classes.back().size; }

    // The smallest class that holds `size`.
    model_class *class_for(std::size_t size) {
        for (model_class &c : classes) {
            if (size <= c.size) return &c;
        }
        return nullptr;
    }

    model_class *class_for(std::size_t alignment, std::size_t size) {
        if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > FLAT_POOL_MAX_ALIGNMENT) return nullptr;
        for (model_class &c : classes) {
            if (size <= c.size && alignment <= c.alignment()) return &c;
        }
        return nullptr;
    }

    // The result of an alloc from `c`, or 0 for NULL.
    std::uintptr_t alloc(model_class *c) {
        if (c == nullptr) return 0;
        if (c->free_blocks() == 0) {
            c->refused++;
            return 0;
        }
        return c->take();
    }

    model_class *owner(std::uintptr_t address) {
        for (model_class &c : classes) {
            if (address >= c.start && address < c.end()) return &c;
        }
        return nullptr;
    }

    // Returns the status of a free of `address` without freeing it.
    flat_status status_of_free(std::uintptr_t address) {
        if (address == 0) return FLAT_OK;
        const model_class *c = owner(address);
        if (c == nullptr) return FLAT_FOREIGN_POINTER;
        const std::size_t offset = address - c->start;
        if (offset % c->size != 0) return FLAT_INTERIOR_POINTER;
        return c->is_live(offset / c->size) ? FLAT_OK : FLAT_DOUBLE_FREE;
    }

    flat_status free(std::uintptr_t address) {
        const flat_status status = status_of_free(address);
        if (status != FLAT_OK || address == 0) return status;
        model_class *c = owner(address);
        c->give(static_cast<std::uint32_t>((address - c->start) / c->size));
        return FLAT_OK;
    }

    std::size_t usable_size(std::uintptr_t address) {
        return address != 0 && status_of_free(address) == FLAT_OK ? owner(address)->size : 0;
    }

    void reset() {
        for (model_class &c : classes) c.reset();
    }
};

} // namespace test

#endif
