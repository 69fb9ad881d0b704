// A reference model of the heap: it implements the contract of <flatline/heap.h> with standard containers.
//
// The model does not predict which of several equally small pieces a request takes. The test tells it where the heap
// put a block, and it reports an error if the contract does not allow that place. Offsets are bytes from the region's
// start.
#ifndef FLATLINE_TESTS_CORE_HEAP_MODEL_HPP
#define FLATLINE_TESTS_CORE_HEAP_MODEL_HPP

#include "core/test_heap.hpp"

#include <flatline/heap.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace test {

class heap_model {
  public:
    struct block {
        std::size_t size = 0;  // a power of two
        std::size_t place = 0; // its index in `live_`
    };

    explicit heap_model(std::size_t bytes) : bytes_(bytes / heap_cell * heap_cell) { start_again(); }

    std::size_t bytes() const { return bytes_; }
    std::size_t live_bytes() const { return live_bytes_; }
    std::size_t high_water() const { return high_water_; }
    std::uint64_t refused = 0;

    // The offsets of the live blocks, unordered.
    const std::vector<std::size_t> &live() const { return live_; }
    std::size_t size_at(std::size_t offset) const { return blocks_.at(offset).size; }
    bool is_live(std::size_t offset) const { return blocks_.count(offset) != 0; }

    // Frees all blocks. Keeps the count of refusals.
    void reset() {
        for (auto &list : pieces_) list.clear();
        for (auto &list : cells_with_room_) list.clear();
        cells_.clear();
        blocks_.clear();
        live_.clear();
        live_bytes_ = high_water_ = 0;
        std::size_t offset = 0;
        for (std::size_t size : heap_pieces(bytes_)) {
            add_piece(offset, size);
            offset += size;
        }
    }
    void start_again() {
        refused = 0;
        reset();
    }

    std::size_t largest_free() const {
        for (std::size_t i = pieces_.size(); i-- > 0;) {
            if (!pieces_[i].empty()) return std::size_t{1} << i;
        }
        return 0;
    }

    // The size of the smallest free piece of at least `size` bytes, or 0 if there is none.
    std::size_t smallest_piece(std::size_t size) const {
        for (std::size_t i = index(size < heap_cell ? heap_cell : size); i < pieces_.size(); i++) {
            if (!pieces_[i].empty()) return std::size_t{1} << i;
        }
        return 0;
    }

    // Whether the heap can serve a block of `size`, a power of two.
    bool serves(std::size_t size) const { return has_slot(size) || smallest_piece(size) != 0; }

    // Whether a block of `size` would come from a slot, or from a piece smaller than `piece` bytes.
    bool serves_below(std::size_t size, std::size_t piece) const {
        const std::size_t smallest = smallest_piece(size);
        return has_slot(size) || (smallest != 0 && smallest < piece);
    }

    // Records that the heap put a block of `size` at `offset`. Returns "" or why the block may not lie there.
    std::string take(std::size_t offset, std::size_t size) {
        if (offset >= bytes_ || size > bytes_ - offset) return "the block leaves the region";
        if (offset % size != 0) return "the block is not at a multiple of its size";
        const std::string wrong = has_slot(size) ? take_slot(offset, size) : take_piece(offset, size);
        if (wrong.empty()) add_live(offset, size);
        return wrong;
    }

    // Frees the live block at `offset`.
    void give(std::size_t offset) {
        const block gone = blocks_.at(offset);
        live_[gone.place] = live_.back();
        blocks_[live_[gone.place]].place = gone.place;
        live_.pop_back();
        blocks_.erase(offset);
        live_bytes_ -= gone.size;
        if (gone.size >= heap_cell) {
            merge(offset, gone.size);
        } else {
            give_slot(offset, gone.size);
        }
    }

    // Whether the live block at `offset` is the lower half of a piece whose upper half is free.
    bool can_double(std::size_t offset) const {
        const std::size_t size = size_at(offset);
        return size >= heap_cell && offset % (2 * size) == 0 && pieces_[index(size)].count(offset + size) != 0;
    }

    void double_in_place(std::size_t offset) {
        const std::size_t size = size_at(offset);
        pieces_[index(size)].erase(offset + size);
        blocks_[offset].size = 2 * size;
        count(size);
    }

    // Shrinks the block to `size` bytes and frees the rest.
    void cut_back(std::size_t offset, std::size_t size) {
        std::size_t piece = size_at(offset);
        live_bytes_ -= piece - size;
        blocks_[offset].size = size;
        for (; piece > size && piece > heap_cell; piece /= 2) add_piece(offset + piece / 2, piece / 2);
        if (size < heap_cell) open_cell(offset, size);
    }

    // Returns the status of a free of `offset` without freeing it. An offset below 0 has wrapped around.
    flat_status status_of_free(std::size_t offset) const {
        if (offset >= bytes_) return FLAT_FOREIGN_POINTER;
        const auto cell = cells_.find(offset / heap_cell * heap_cell);
        if (cell != cells_.end()) {
            const std::size_t slot = offset / cell->second.size * cell->second.size;
            if (!is_live(slot)) return FLAT_DOUBLE_FREE;
            return slot == offset ? FLAT_OK : FLAT_INTERIOR_POINTER;
        }
        if (is_live(offset)) return FLAT_OK;
        for (std::size_t i = index(heap_cell); i < pieces_.size(); i++) {
            if (pieces_[i].count(offset >> i << i) != 0) return FLAT_DOUBLE_FREE;
        }
        return FLAT_INTERIOR_POINTER;
    }

    // Returns "" if live blocks, cells of slots and free pieces cover the region exactly once and no two free halves
    // are unmerged.
    std::string check() const {
        std::map<std::size_t, std::size_t> parts;
        for (const auto &[offset, of] : blocks_) {
            if (of.size >= heap_cell) parts[offset] = of.size;
        }
        for (const auto &[offset, cell] : cells_) parts[offset] = heap_cell;
        for (std::size_t i = 0; i < pieces_.size(); i++) {
            for (std::size_t offset : pieces_[i]) {
                if (pieces_[i].count(offset ^ std::size_t{1} << i) != 0) return "two halves of a piece are both free";
                if (!parts.emplace(offset, std::size_t{1} << i).second) return "a part of the region is there twice";
            }
        }
        std::size_t end = 0;
        for (const auto &[offset, size] : parts) {
            if (offset != end) return "the parts of the region overlap or leave gaps";
            end += size;
        }
        return end == bytes_ ? "" : "the parts of the region do not fill it";
    }

  private:
    struct slots {                      // the slots of one cell
        std::size_t size = 0, live = 0; // the size of each slot, and the number of live ones
    };

    // The binary logarithm of a power of two.
    static std::size_t index(std::size_t size) { return static_cast<std::size_t>(__builtin_ctzll(size)); }

    bool has_slot(std::size_t size) const { return size < heap_cell && !cells_with_room_[index(size)].empty(); }

    void add_piece(std::size_t offset, std::size_t size) { pieces_[index(size)].insert(offset); }

    void count(std::size_t size) {
        live_bytes_ += size;
        if (live_bytes_ > high_water_) high_water_ = live_bytes_;
    }

    void add_live(std::size_t offset, std::size_t size) {
        blocks_[offset] = {size, live_.size()};
        live_.push_back(offset);
        count(size);
    }

    void open_cell(std::size_t offset, std::size_t size) {
        cells_[offset] = {size, 1};
        cells_with_room_[index(size)].insert(offset);
    }

    std::string take_slot(std::size_t offset, std::size_t size) {
        const std::size_t start = offset / heap_cell * heap_cell;
        if (cells_with_room_[index(size)].count(start) == 0) return "a free slot of this size was passed over";
        if (is_live(offset)) return "the slot is live";
        if (++cells_[start].live == heap_cell / size) cells_with_room_[index(size)].erase(start);
        return "";
    }

    std::string take_piece(std::size_t offset, std::size_t size) {
        std::size_t piece = smallest_piece(size);
        if (piece == 0) return "there is no free piece for it";
        const std::size_t start = offset / piece * piece;
        if (pieces_[index(piece)].erase(start) == 0) return "it does not come from the smallest free piece";
        const std::size_t needed = size < heap_cell ? heap_cell : size;
        for (std::size_t at = start; piece > needed;) {
            piece /= 2;
            const bool upper = offset >= at + piece;
            add_piece(upper ? at : at + piece, piece);
            at += upper ? piece : 0;
        }
        if (size < heap_cell) open_cell(offset / heap_cell * heap_cell, size);
        return "";
    }

    void give_slot(std::size_t offset, std::size_t size) {
        const std::size_t start = offset / heap_cell * heap_cell;
        if (--cells_[start].live > 0) {
            cells_with_room_[index(size)].insert(start);
            return;
        }
        cells_.erase(start);
        cells_with_room_[index(size)].erase(start);
        merge(start, heap_cell);
    }

    void merge(std::size_t offset, std::size_t size) {
        while (size <= bytes_ && pieces_[index(size)].erase(offset ^ size) != 0) {
            offset &= ~size;
            size *= 2;
        }
        add_piece(offset, size);
    }

    std::size_t bytes_;
    std::array<std::set<std::size_t>, 64> pieces_;         // offsets of free pieces, by log2 of their size
    std::array<std::set<std::size_t>, 9> cells_with_room_; // by log2 of their slot size
    std::unordered_map<std::size_t, slots> cells_;
    std::unordered_map<std::size_t, block> blocks_;
    std::vector<std::size_t> live_;
    std::size_t live_bytes_ = 0, high_water_ = 0;
};

} // namespace test

#endif
