// Runs operations on an arena and on the model side by side, and reports the first difference. The caller may give any
// memory, because an arena never touches it.
#ifndef FLATLINE_TESTS_CORE_ARENA_RUN_HPP
#define FLATLINE_TESTS_CORE_ARENA_RUN_HPP

#include "core/arena_calls.h"
#include "core/arena_model.hpp"

#include <array>
#include <cinttypes>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace test {

// One operation. `a` and `b` select its arguments from the current state, so every list of operations is valid.
struct arena_operation {
    enum kind : std::uint8_t {
        alloc,
        alloc_aligned,
        resize,
        mark,
        rewind,
        rewind_foreign,
        look,
        compare,
        reset,
        kinds
    };
    std::uint8_t what;
    std::uint64_t a, b;
};

class arena_run {
  public:
    explicit arena_run(flat_memory memory) : memory_(memory) {
        if (flat_arena_init(&other_, {nullptr, 0}) != FLAT_OK) throw std::runtime_error("no arena of 0 bytes");
        start_again();
    }
    arena_run(const arena_run &) = delete;
    arena_run &operator=(const arena_run &) = delete;
    ~arena_run() { flat_arena_destroy(&arena_); }

    // Creates a new arena in the same memory.
    void start_again() {
        flat_arena_destroy(&arena_);
        if (flat_arena_init(&arena_, memory_) != FLAT_OK) throw std::runtime_error("no arena in this memory");
        model_ = arena_model(reinterpret_cast<std::uintptr_t>(memory_.start), memory_.size);
        marks_.fill({});
    }

    // Executes one operation. Returns "" or how the arena differs from the model.
    std::string apply(const arena_operation &op) {
        switch (op.what % arena_operation::kinds) {
        case arena_operation::alloc: return same_block(call_arena_alloc(&arena_, size_from(op.a)), 16, size_from(op.a));
        case arena_operation::alloc_aligned: {
            const std::size_t alignment = alignment_from(op.b), size = size_from(op.a);
            return same_block(call_arena_aligned_alloc(&arena_, alignment, size), alignment, size);
        }
        case arena_operation::resize: return resize(op);
        case arena_operation::mark: return mark(op);
        case arena_operation::rewind: return rewind(op);
        case arena_operation::rewind_foreign: return rewind_foreign(op);
        case arena_operation::look: return look(address_from(op));
        case arena_operation::compare: return compare();
        default: return reset(op);
        }
    }

    std::string compare() const {
        const flat_arena_stats expected = model_.stats();
        flat_arena_stats got{};
        flat_arena_get_stats(&arena_, &got);
        if (got.bytes != expected.bytes) return differs("bytes", got.bytes, expected.bytes);
        if (got.used != expected.used) return differs("used", got.used, expected.used);
        if (got.high_water != expected.high_water) return differs("high_water", got.high_water, expected.high_water);
        if (got.needed != expected.needed) return differs("needed", got.needed, expected.needed);
        if (got.refused != expected.refused) return differs("refused", got.refused, expected.refused);
        return "";
    }

    // Describes the operation as it would act on the current state.
    std::string describe(const arena_operation &op) const {
        switch (op.what % arena_operation::kinds) {
        case arena_operation::alloc: return "alloc " + hex(size_from(op.a));
        case arena_operation::alloc_aligned:
            return "aligned_alloc " + hex(alignment_from(op.b)) + ", " + hex(size_from(op.a));
        case arena_operation::resize: {
            const resizing of = resizing_from(op);
            return "resize " + place(of.address) + " from " + hex(of.old_size) + " to " + hex(of.size);
        }
        case arena_operation::mark: return "mark " + std::to_string(op.b % marks) + " taken";
        case arena_operation::rewind: return "rewind to mark " + std::to_string(op.b % marks);
        case arena_operation::rewind_foreign: return "rewind to another arena's mark";
        case arena_operation::look: return "owns " + place(address_from(op));
        case arena_operation::compare: return "stats";
        default: return "reset";
        }
    }

  private:
    static constexpr std::size_t marks = 8; // kept at once

    struct pair_of_marks {
        flat_arena_mark of_arena;
        arena_model::mark of_model;
    };
    struct resizing {
        std::uintptr_t address;
        std::size_t old_size, size;
    };

    static std::string hex(std::uint64_t value) {
        char text[32];
        std::snprintf(text, sizeof text, "0x%" PRIx64, value);
        return text;
    }
    static std::string differs(const std::string &what, std::uint64_t got, std::uint64_t expected) {
        return what + " is " + hex(got) + ", expected " + hex(expected);
    }
    std::string place(std::uintptr_t address) const {
        return "start + " + hex(address - static_cast<std::uintptr_t>(model_.start));
    }
    std::size_t space() const { return static_cast<std::size_t>(model_.end - model_.cursor); }

    // Mostly a small size; also the remaining space or near it, 0, and sizes that are far too large.
    std::size_t size_from(std::uint64_t number) const {
        const auto more = static_cast<std::size_t>(number >> 8);
        switch (number % 16) {
        case 0: return space() + more % 3 - 1;
        case 1: return more % 2 == 0 ? 0 : space();
        case 2: return space() / 16 * 16 - more % 64;
        case 3: return more % 8 == 0 ? SIZE_MAX - more / 8 % 80 : more % 1000;
        case 4: return more % 8 == 0 ? FLAT_ARENA_MAX_BYTES + 32 - more / 8 % 64 : more % 3;
        case 5: return more % 8 == 0 ? static_cast<std::size_t>(PTRDIFF_MAX) + 32 - more / 8 % 64 : 16;
        case 6: return 1 + more % 512;
        default: return 1 + more % 64;
        }
    }
    static std::size_t alignment_from(std::uint64_t number) {
        if (number % 8 == 0) return static_cast<std::size_t>(number >> 8) % 100; // rarely a power of two
        if (number % 8 == 1) return std::size_t{1} << (number >> 8) % 64 % (8 * sizeof(std::size_t));
        return std::size_t{1} << (number >> 8) % 9;
    }
    // The last block, another one, or one that never existed.
    resizing resizing_from(const arena_operation &op) const {
        if (model_.blocks.empty()) return {static_cast<std::uintptr_t>(model_.cursor), 0, size_from(op.a)};
        const bool last = op.b % 8 != 0;
        const auto &block = last ? model_.blocks.back() : model_.blocks[(op.b >> 8) % model_.blocks.size()];
        auto old_size = static_cast<std::size_t>(block.size);
        if (op.b % 8 == 1) old_size += static_cast<std::size_t>(op.b >> 16) % 64 - 32;
        const bool near = op.a % 2 == 0;
        const std::size_t size =
            near ? old_size + static_cast<std::size_t>(op.a >> 8) % 129 - 64 : size_from(op.a >> 1);
        return {static_cast<std::uintptr_t>(block.address), old_size, size};
    }
    std::uintptr_t address_from(const arena_operation &op) const {
        const auto bytes = static_cast<std::uintptr_t>(model_.end - model_.start);
        if (op.b % 8 == 0) return static_cast<std::uintptr_t>(op.a);
        return static_cast<std::uintptr_t>(model_.start) - 16 + static_cast<std::uintptr_t>(op.a) % (bytes + 32);
    }

    std::string same_block(void *got, std::size_t alignment, std::size_t size) {
        const std::uintptr_t expected = model_.alloc(alignment, size);
        const auto address = reinterpret_cast<std::uintptr_t>(got);
        return address == expected ? "" : differs("block", address, expected);
    }
    std::string resize(const arena_operation &op) {
        const resizing of = resizing_from(op);
        const bool expected = model_.resize(of.address, of.old_size, of.size);
        const bool got = flat_arena_resize(&arena_, reinterpret_cast<void *>(of.address), of.old_size, of.size);
        return got == expected ? "" : differs("resize", got, expected);
    }
    std::string mark(const arena_operation &op) {
        marks_[op.b % marks] = {call_arena_get_mark(&arena_), model_.get_mark()};
        return "";
    }
    std::string rewind(const arena_operation &op) {
        const pair_of_marks &to = marks_[op.b % marks];
        const flat_status expected = to.of_arena.arena == nullptr ? FLAT_INVALID_ARGUMENT : model_.rewind(to.of_model);
        const flat_status got = flat_arena_rewind(&arena_, to.of_arena);
        return got == expected ? "" : differs("rewind", got, expected);
    }
    // Rewinds to a mark of another arena that would be valid if it were of this one.
    std::string rewind_foreign(const arena_operation &op) {
        flat_arena_mark foreign = op.a % 2 == 0 ? call_arena_get_mark(&other_) : call_arena_get_mark(&arena_);
        foreign.arena = &other_;
        const flat_status got = flat_arena_rewind(&arena_, foreign);
        return got == FLAT_INVALID_ARGUMENT ? "" : differs("rewind", got, FLAT_INVALID_ARGUMENT);
    }
    std::string look(std::uintptr_t address) const {
        const bool expected = address >= model_.start && address < model_.end;
        const bool got = call_arena_owns(&arena_, reinterpret_cast<const void *>(address));
        return got == expected ? "" : differs("owns", got, expected);
    }
    std::string reset(const arena_operation &op) {
        if (op.a % 4 != 0) return compare(); // rare, so that the arena can fill
        flat_arena_reset(&arena_);
        model_.reset();
        return compare();
    }

    flat_memory memory_;
    flat_arena arena_{}, other_{};
    arena_model model_;
    std::array<pair_of_marks, marks> marks_{};
};

} // namespace test

#endif
