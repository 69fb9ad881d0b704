// A reference model of the arena: it implements the contract of <flatline/arena.h> with numbers so wide that none of
// them wraps around.
//
// Besides the arena itself, the model keeps the larger arena to which the statistics refer: it begins at the same
// address and refuses nothing.
#ifndef FLATLINE_TESTS_CORE_ARENA_MODEL_HPP
#define FLATLINE_TESTS_CORE_ARENA_MODEL_HPP

#include <flatline/arena.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test {

__extension__ using wide = unsigned __int128;

inline wide rounded_up(wide value, wide to) { return (value + to - 1) / to * to; }

struct arena_model {
    struct block {
        wide address, size;
    };
    struct mark {
        wide cursor, larger_cursor;
    };

    wide start = 0, end = 0, cursor = 0;
    wide larger_cursor = 0; // of the arena that refuses nothing
    wide high_water = 0, needed = 0;
    std::uint64_t refused = 0;
    std::vector<block> blocks; // in use, ascending

    arena_model() = default;
    arena_model(std::uintptr_t address, std::size_t size) {
        start = rounded_up(address, 16);
        end = (wide{address} + size) / 16 * 16;
        if (start > end) start = end;
        cursor = larger_cursor = start;
    }

    // Allocates a block. Returns its address, or 0.
    std::uintptr_t alloc(std::size_t alignment, std::size_t asked_for) {
        if (alignment == 0 || (alignment & (alignment - 1)) != 0) return 0;
        const wide size = std::max<std::size_t>(asked_for, 1), at = rounded_up(cursor, alignment);
        if (at + size > end) {
            refuse(rounded_up(larger_cursor, alignment) + size);
            return 0;
        }
        // The larger arena pads like this one if it is ahead by a multiple of the alignment, so round up its lead.
        larger_cursor = cursor + rounded_up(larger_cursor - cursor, alignment > 16 ? alignment : 16);
        larger_cursor += at + size - cursor;
        cursor = at + size;
        blocks.push_back({at, size});
        note_peaks();
        return static_cast<std::uintptr_t>(at);
    }

    bool resize(std::uintptr_t address, std::size_t old_size, std::size_t new_size) {
        const wide was = std::max<std::size_t>(old_size, 1), becomes = std::max<std::size_t>(new_size, 1);
        if (address < start || address + was != cursor) return false;
        if (address + becomes > end) {
            refuse(larger_cursor + becomes - was);
            return false;
        }
        larger_cursor = larger_cursor + becomes - was;
        cursor = address + becomes;
        if (!blocks.empty() && blocks.back().address == address) blocks.back().size = becomes;
        forget_blocks_above_cursor();
        note_peaks();
        return true;
    }

    mark get_mark() const { return {cursor, larger_cursor}; }

    flat_status rewind(const mark &to) {
        if (to.cursor < start || to.cursor > cursor) return FLAT_INVALID_ARGUMENT;
        cursor = to.cursor;
        larger_cursor = to.larger_cursor;
        forget_blocks_above_cursor();
        return FLAT_OK;
    }

    void reset() { (void)rewind({start, start}); }

    flat_arena_stats stats() const {
        const bool none_is_enough = needed > FLAT_ARENA_MAX_BYTES;
        flat_arena_stats stats{};
        stats.bytes = static_cast<std::size_t>(end - start);
        stats.used = static_cast<std::size_t>(cursor - start);
        stats.high_water = static_cast<std::size_t>(high_water);
        stats.needed = none_is_enough ? SIZE_MAX : static_cast<std::size_t>(needed);
        stats.refused = refused;
        return stats;
    }

  private:
    void refuse(wide larger_end) {
        larger_cursor = cursor + rounded_up(larger_end - cursor, 16);
        refused++;
        note_peaks();
    }

    void note_peaks() {
        high_water = std::max(high_water, cursor - start);
        needed = std::max(needed, larger_cursor - start);
    }

    void forget_blocks_above_cursor() {
        while (!blocks.empty() && blocks.back().address + blocks.back().size > cursor) blocks.pop_back();
    }
};

} // namespace test

#endif
