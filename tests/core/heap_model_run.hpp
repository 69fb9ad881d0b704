// Runs operations on a heap and on the model side by side, and reports the first difference.
#ifndef FLATLINE_TESTS_CORE_HEAP_MODEL_RUN_HPP
#define FLATLINE_TESTS_CORE_HEAP_MODEL_RUN_HPP

#include "core/heap_model.hpp"
#include "core/test_heap.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace test {

// One operation. `a` and `b` select its arguments from the current state, so every list of operations is valid: a list
// can be cut anywhere, and a fuzzer can generate one.
struct heap_operation {
    enum kind : std::uint8_t {
        alloc,
        alloc_aligned,
        reallocate,
        free_live,
        reallocate_any,
        free_interior,
        free_any,
        look,
        compare,
        reset,
        kinds
    };
    std::uint8_t what;
    std::uint64_t a, b;
};

class heap_run {
  public:
    explicit heap_run(test_heap &heap) : heap_(heap), model_(heap.footprint().block_bytes) {}

    const heap_model &reference() const { return model_; }

    // Starts over with an empty heap and an empty model.
    void start_again() {
        heap_.start_again();
        model_.start_again();
        marks_.clear();
    }

    // Executes one operation. Returns "" or how the heap differs from the model.
    std::string apply(const heap_operation &op) {
        switch (op.what % heap_operation::kinds) {
        case heap_operation::alloc: return alloc(1, size_from(op.a));
        case heap_operation::alloc_aligned: return alloc(alignment_from(op.b), size_from(op.a));
        case heap_operation::reallocate: return reallocate(live_from(op.b), size_from(op.a));
        case heap_operation::free_live: return free(live_from(op.b));
        case heap_operation::reallocate_any: return reallocate(any_from(op), size_from(op.a >> 8));
        case heap_operation::free_interior: return free(interior_from(op));
        case heap_operation::free_any: return free(any_from(op));
        case heap_operation::look: return look(op.a & 1 ? any_from(op) : live_from(op.b));
        case heap_operation::compare: return compare();
        default: return op.a % 16 == 0 ? reset() : look(any_from(op)); // rare, so that the heap can fill
        }
    }

    // Compares the whole visible state: statistics, live blocks and their contents, invariants.
    std::string compare() {
        if (flat_heap_check(heap_) != FLAT_OK) return "flat_heap_check finds the heap corrupted";
        const std::string wrong = model_.check();
        if (!wrong.empty()) return "of the model: " + wrong;
        const flat_heap_stats stats = heap_.stats();
        if (stats.bytes != model_.bytes()) return differs("bytes", stats.bytes, model_.bytes());
        if (stats.live != model_.live_bytes()) return differs("live", stats.live, model_.live_bytes());
        if (stats.high_water != model_.high_water())
            return differs("high_water", stats.high_water, model_.high_water());
        if (stats.refused != model_.refused) return differs("refused", stats.refused, model_.refused);
        if (stats.largest_free != model_.largest_free())
            return differs("largest_free", stats.largest_free, model_.largest_free());
        return compare_live();
    }

    // Frees all blocks. After that the heap must have the same free pieces as a new one.
    std::string drain() {
        while (!model_.live().empty()) {
            const std::string wrong = free(address(model_.live().back()));
            if (!wrong.empty()) return "while freeing all that is left: " + wrong;
        }
        for (std::size_t size : heap_pieces(model_.bytes())) {
            const std::string wrong = alloc(1, size);
            if (!wrong.empty()) return wrong;
            if (model_.largest_free() >= size) return "the empty heap is not in the pieces that it began with";
        }
        return compare();
    }

    // Describes the operation as it would act on the current state.
    std::string describe(const heap_operation &op) const {
        switch (op.what % heap_operation::kinds) {
        case heap_operation::alloc: return "alloc " + std::to_string(size_from(op.a));
        case heap_operation::alloc_aligned:
            return "aligned_alloc " + std::to_string(alignment_from(op.b)) + ", " + std::to_string(size_from(op.a));
        case heap_operation::reallocate:
            return "realloc " + name(live_from(op.b)) + " to " + std::to_string(size_from(op.a));
        case heap_operation::free_live: return "free " + name(live_from(op.b));
        case heap_operation::reallocate_any:
            return "realloc " + name(any_from(op)) + " to " + std::to_string(size_from(op.a >> 8));
        case heap_operation::free_interior: return "free " + name(interior_from(op));
        case heap_operation::free_any: return "free " + name(any_from(op));
        case heap_operation::look: return "owns, usable_size " + name(op.a & 1 ? any_from(op) : live_from(op.b));
        case heap_operation::compare: return "check, stats, visit";
        default: return op.a % 16 == 0 ? "reset" : "owns, usable_size " + name(any_from(op));
        }
    }

  private:
    // What the test wrote to a live block: the requested size, and a number that identifies the block.
    struct mark {
        std::size_t size = 0;
        std::uint64_t number = 0;
    };

    static std::string hex(std::uint64_t value) {
        char text[32];
        std::snprintf(text, sizeof text, "0x%" PRIx64, value);
        return text;
    }
    static std::string differs(const std::string &what, std::uint64_t got, std::uint64_t expected) {
        return what + " is " + hex(got) + ", expected " + hex(expected);
    }
    static std::string differs(const std::string &what, flat_status got, flat_status expected) {
        return what + " gives \"" + flat_status_string(got) + "\", expected \"" + flat_status_string(expected) + '"';
    }
    std::uintptr_t address(std::size_t offset) const { return address_of(heap_.start()) + offset; }
    std::size_t offset(std::uintptr_t address) const { return address - address_of(heap_.start()); }
    std::string name(std::uintptr_t of) const {
        if (of == 0) return "NULL";
        const flat_status status = model_.status_of_free(offset(of));
        if (status == FLAT_FOREIGN_POINTER) return hex(of) + " (outside)";
        const std::string at = "offset " + std::to_string(offset(of));
        if (status == FLAT_OK) return at + " (live, " + std::to_string(model_.size_at(offset(of))) + " bytes)";
        return at + (status == FLAT_INTERIOR_POINTER ? " (inside a block)" : " (free)");
    }

    // A size of any order of magnitude, at or near a power of two; sometimes 0, too large, or near SIZE_MAX.
    std::size_t size_from(std::uint64_t number) const {
        const unsigned powers = static_cast<unsigned>(__builtin_ctzll(heap_block_size(model_.bytes()))) + 1;
        const std::size_t power = std::size_t{1} << (number >> 8) % powers;
        switch (number % 8) {
        case 0: return power + 1;
        case 1: return power - 1;
        case 2: return (number >> 20) % 64 == 0 ? SIZE_MAX - static_cast<std::size_t>(number >> 32) % 64 : power;
        case 3: return static_cast<std::size_t>(number >> 20) % (model_.bytes() / 4) + 1;
        case 4: return static_cast<std::size_t>(number >> 20) % 600;
        default: return power / 2 + static_cast<std::size_t>(number >> 20) % power;
        }
    }
    static std::size_t alignment_from(std::uint64_t number) {
        const std::size_t power = std::size_t{1} << (number & 15);
        return (number >> 8 & 31) != 0 ? power : power + static_cast<std::size_t>(number >> 16 & 3);
    }
    std::uintptr_t live_from(std::uint64_t number) const {
        const auto &live = model_.live();
        return live.empty() ? 0 : address(live[number % live.size()]);
    }
    std::uintptr_t interior_from(const heap_operation &op) const {
        const std::uintptr_t block = live_from(op.b);
        if (block == 0) return 0;
        const std::size_t inside = static_cast<std::size_t>(op.a >> 8) % model_.size_at(offset(block));
        return block + (op.a & 1 ? inside : inside / 32 * 32);
    }
    // An address in the region (at a granule, a cell or any byte), outside it, in the metadata or on the stack.
    std::uintptr_t any_from(const heap_operation &op) const {
        const std::size_t inside = static_cast<std::size_t>(op.b % model_.bytes());
        switch (op.a >> 1 & 15) {
        case 0: return address(inside);
        case 1: return address_of(heap_.metadata().start()) + inside % heap_.metadata().size();
        case 2: return address_of(&op);
        case 3: return address(0) - 1 - inside;
        case 4: return address(model_.bytes()) + inside;
        case 5: return static_cast<std::uintptr_t>(op.b);
        case 6: return 0;
        case 7: return address(inside / 512 * 512);
        default: return address(inside / 32 * 32);
        }
    }

    std::size_t block_for(std::size_t size) const { return size > model_.bytes() ? SIZE_MAX : heap_block_size(size); }

    // Checks and records that the heap returned `block` for a request of `size`, which needs a block of `needed` bytes.
    std::string handed_out(void *block, std::size_t needed, std::size_t size) {
        if (needed == SIZE_MAX || !model_.serves(needed)) {
            model_.refused++;
            return block == nullptr ? "" : "served, expected to be refused";
        }
        if (block == nullptr) return "refused, though a free piece holds it";
        const std::string wrong = model_.take(offset(address_of(block)), needed);
        if (wrong.empty()) write(address_of(block), size);
        return wrong;
    }

    std::string alloc(std::size_t alignment, std::size_t size) {
        const std::uintptr_t start = address(0);
        const bool possible = alignment != 0 && (alignment & (alignment - 1)) == 0 && start % alignment == 0;
        void *block = alignment == 1 ? flat_heap_alloc(heap_, size) : flat_heap_aligned_alloc(heap_, alignment, size);
        if (block != nullptr && possible && address_of(block) % alignment != 0) return "the block is not aligned";
        return handed_out(block, possible ? block_for(std::max(size, alignment)) : SIZE_MAX, size);
    }

    std::string free(std::uintptr_t block) {
        const flat_status expected = block == 0 ? FLAT_OK : model_.status_of_free(offset(block));
        const std::string wrong = expected == FLAT_OK && block != 0 ? check_mark(block, SIZE_MAX) : "";
        const flat_status got = flat_heap_free(heap_, at(block));
        if (got != expected) return differs("free", got, expected);
        if (expected == FLAT_OK && block != 0) forget(block);
        return wrong;
    }

    void forget(std::uintptr_t block) {
        marks_.erase(offset(block));
        model_.give(offset(block));
    }

    std::string reallocate(std::uintptr_t from, std::size_t size) {
        void *block = at(from);
        const flat_status got = flat_heap_realloc(heap_, &block, size);
        const std::uintptr_t now = address_of(block);
        if (from == 0) {
            const std::string wrong = handed_out(block, block_for(size), size);
            const flat_status expected = block != nullptr ? FLAT_OK : FLAT_OUT_OF_MEMORY;
            return wrong.empty() && got != expected ? differs("realloc of NULL", got, expected) : wrong;
        }
        const flat_status of_free = model_.status_of_free(offset(from));
        if (of_free != FLAT_OK) {
            if (now != from) return "a refused realloc moved the pointer";
            return got == of_free ? "" : differs("realloc", got, of_free);
        }
        return reallocated(from, now, size, got);
    }

    // Checks and records a realloc of a live block that returned the status `got`.
    std::string reallocated(std::uintptr_t from, std::uintptr_t now, std::size_t size, flat_status got) {
        const std::size_t had = model_.size_at(offset(from)), needed = block_for(size);
        if (got != FLAT_OK) {
            model_.refused++;
            if (now != from) return "a refused realloc moved the pointer";
            if (needed <= had) return "realloc did not shrink";
            if (needed == 2 * had && model_.can_double(offset(from))) return "realloc did not double in place";
            if (needed != SIZE_MAX && model_.serves(needed)) return "realloc was refused, though a piece holds it";
            return differs_unless(got == FLAT_OUT_OF_MEMORY, got);
        }
        const std::string lost = check_mark(now, std::min(marks_[offset(from)].size, size + (size == 0)), from);
        if (!lost.empty()) return lost;
        const bool moves = must_move(from, had, needed);
        if (moves != (now != from)) return moves ? "realloc stayed in place" : "realloc moved";
        if (moves) {
            const std::string wrong = model_.take(offset(now), needed);
            if (!wrong.empty()) return "realloc: " + wrong;
            forget(from);
        } else if (needed > had) {
            if (needed != 2 * had || !model_.can_double(offset(from))) return "realloc grew where nothing is free";
            model_.double_in_place(offset(from));
        } else if (needed < had && had >= heap_cell) {
            model_.cut_back(offset(from), needed);
        }
        write(now, size);
        return "";
    }
    static std::string differs_unless(bool right, flat_status got) {
        return right ? "" : differs("realloc", got, FLAT_OUT_OF_MEMORY);
    }
    bool must_move(std::uintptr_t from, std::size_t had, std::size_t needed) const {
        if (needed == had) return false;
        if (needed > had) return needed != 2 * had || !model_.can_double(offset(from));
        return had < heap_cell ? model_.serves(needed) : model_.serves_below(needed, had);
    }

    std::string look(std::uintptr_t at_address) {
        const flat_status status = at_address == 0 ? FLAT_FOREIGN_POINTER : model_.status_of_free(offset(at_address));
        const bool owned = status != FLAT_FOREIGN_POINTER;
        if (flat_heap_owns(heap_, at(at_address)) != owned) return owned ? "owns says no" : "owns says yes";
        const std::size_t usable = flat_heap_usable_size(heap_, at(at_address));
        const std::size_t expected = status == FLAT_OK ? model_.size_at(offset(at_address)) : 0;
        return usable == expected ? "" : differs("usable_size", usable, expected);
    }
    std::string reset() {
        flat_heap_reset(heap_);
        model_.reset();
        marks_.clear();
        return compare();
    }

    std::string compare_live() {
        std::vector<std::pair<std::uintptr_t, std::size_t>> expected;
        for (std::size_t offset : model_.live()) expected.emplace_back(address(offset), model_.size_at(offset));
        std::sort(expected.begin(), expected.end());
        if (flat_heap_visit(heap_, nullptr, nullptr) != expected.size()) return "visit counts wrong";
        if (heap_live(heap_) != expected) return "visit met other blocks than the live ones";
        for (const auto &[block, size] : expected) {
            const std::string wrong = check_mark(block, SIZE_MAX);
            if (!wrong.empty()) return wrong;
        }
        return "";
    }

    // Calls `act` for the bytes of a block that carry a mark: the first, the last, and those around powers of two.
    template <typename Act> static void at_marked_bytes(std::size_t size, Act act) {
        act(std::size_t{0});
        for (std::size_t at = 1; at < size; at = 2 * at + (at & 1)) act(at);
        if (size > 1) act(size - 1);
    }
    static char marking(std::uint64_t number, std::size_t at) {
        return static_cast<char>(number * 31 + at * 7 + (at >> 9));
    }
    void write(std::uintptr_t block, std::size_t size) {
        const std::uint64_t number = ++written_;
        size += size == 0;
        marks_[offset(block)] = {size, number};
        char *bytes = static_cast<char *>(at(block));
        at_marked_bytes(size, [&](std::size_t at) { bytes[at] = marking(number, at); });
    }
    // Checks that the first `most` bytes of `block` still hold what was written when the block was at `from`.
    std::string check_mark(std::uintptr_t block, std::size_t most, std::uintptr_t from = 0) const {
        const mark &expected = marks_.at(offset(from != 0 ? from : block));
        const char *bytes = static_cast<const char *>(at(block));
        bool right = true;
        at_marked_bytes(expected.size, [&](std::size_t at) {
            if (at < most && bytes[at] != marking(expected.number, at)) right = false;
        });
        return right ? "" : "a block's content has changed";
    }

    test_heap &heap_;
    heap_model model_;
    std::unordered_map<std::size_t, mark> marks_;
    std::uint64_t written_ = 0;
};

} // namespace test

#endif
