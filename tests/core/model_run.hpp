// Runs operations on a pool and on the model side by side, and reports the first difference.
#ifndef FLATLINE_TESTS_CORE_MODEL_RUN_HPP
#define FLATLINE_TESTS_CORE_MODEL_RUN_HPP

#include "core/model.hpp"
#include "core/test_pool.hpp"

#include <cinttypes>
#include <cstdio>
#include <string>
#include <vector>

namespace test {

// One operation. `a` and `b` select its arguments from the current state, so every list of operations is valid: a list
// can be cut anywhere, and a fuzzer can generate one.
struct operation {
    enum kind : std::uint8_t {
        alloc,
        alloc_aligned,
        alloc_many,
        free_live,
        free_free,
        free_fresh,
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

// The address of the first block of each class, which is the first one allocated. Leaves the pool as new.
inline std::vector<std::uintptr_t> first_blocks(test_pool &pool) {
    std::vector<std::uintptr_t> starts;
    for (const flat_class &c : pool.classes()) starts.push_back(address_of(flat_pool_alloc(pool, c.block_size)));
    pool.start_again();
    return starts;
}

// Returns "" if the classes lie in the block memory one after the other, aligned as promised; else what is wrong.
inline std::string check_placement(const test_pool &pool, const model &reference) {
    std::uintptr_t end = address_of(pool.blocks().start());
    for (const model_class &c : reference.classes) {
        if (c.start < end) return "classes overlap or do not ascend";
        if (c.start % c.alignment() != 0) return "a class is not aligned";
        end = c.end();
    }
    if (end > address_of(pool.blocks().start()) + pool.footprint().block_bytes) return "a class leaves its memory";
    return "";
}

class model_run {
  public:
    explicit model_run(test_pool &pool) : pool_(pool), starts_(first_blocks(pool)), model_(pool.classes(), starts_) {}

    model &reference() { return model_; }

    // Starts over with a new pool and a new model.
    void start_again() {
        pool_.start_again();
        model_ = model(pool_.classes(), starts_);
    }

    // Executes one operation. Returns "" or how the pool differs from the model.
    std::string apply(const operation &op) {
        switch (op.what % operation::kinds) {
        case operation::alloc: return alloc(size_from(op));
        case operation::alloc_aligned: return alloc_aligned(alignment_from(op.b), size_from(op));
        case operation::alloc_many: return alloc_many(size_from(op), static_cast<std::size_t>(op.b >> 32) % 12);
        case operation::free_live: return free(live_from(op));
        case operation::free_free: return free(freed_from(op));
        case operation::free_fresh: return free(fresh_from(op));
        case operation::free_interior: return free(interior_from(op));
        case operation::free_any: return free(any_from(op));
        case operation::look: return look(op.a & 1 ? any_from(op) : live_from(op));
        case operation::compare: return compare();
        default: return reset(op);
        }
    }

    // Compares the whole visible state: statistics, live blocks, invariants.
    std::string compare() {
        if (flat_pool_check(pool_) != FLAT_OK) return "flat_pool_check finds the pool corrupted";
        const std::vector<flat_pool_stats> stats = pool_.stats();
        for (std::size_t i = 0; i < stats.size(); i++) {
            const model_class &c = model_.classes[i];
            if (stats[i].block_size != c.size) return differs("block_size", stats[i].block_size, c.size);
            if (stats[i].block_count != c.count) return differs("block_count", stats[i].block_count, c.count);
            if (stats[i].live != c.live.size()) return differs("live", stats[i].live, c.live.size());
            if (stats[i].high_water != c.used.size()) return differs("high_water", stats[i].high_water, c.used.size());
            if (stats[i].refused != c.refused) return differs("refused", stats[i].refused, c.refused);
        }
        return compare_live();
    }

    // Allocates all remaining blocks of every class and checks their order. At the end no block is free.
    std::string drain() {
        for (const flat_class &c : pool_.classes()) {
            model_class *of = model_.class_for(c.block_size);
            for (std::size_t left = of->free_blocks(); left > 0; left--) {
                const std::string wrong = alloc(c.block_size);
                if (!wrong.empty()) return "while taking all that is left: " + wrong;
            }
        }
        return compare();
    }

    // Describes the operation as it would act on the current state.
    std::string describe(const operation &op) {
        switch (op.what % operation::kinds) {
        case operation::alloc: return "alloc " + std::to_string(size_from(op));
        case operation::alloc_aligned:
            return "aligned_alloc " + std::to_string(alignment_from(op.b)) + ", " + std::to_string(size_from(op));
        case operation::alloc_many:
            return "alloc_many " + std::to_string(size_from(op)) + " x " + std::to_string((op.b >> 32) % 12);
        case operation::free_live: return "free " + name(live_from(op));
        case operation::free_free: return "free " + name(freed_from(op));
        case operation::free_fresh: return "free " + name(fresh_from(op));
        case operation::free_interior: return "free " + name(interior_from(op));
        case operation::free_any: return "free " + name(any_from(op));
        case operation::look: return "owns, usable_size " + name(op.a & 1 ? any_from(op) : live_from(op));
        case operation::compare: return "check, stats, visit";
        default: return "reset";
        }
    }

  private:
    static std::string hex(std::uint64_t value) {
        char text[32];
        std::snprintf(text, sizeof text, "0x%" PRIx64, value);
        return text;
    }
    static std::string differs(const std::string &what, std::uint64_t got, std::uint64_t expected) {
        return what + " is " + hex(got) + ", expected " + hex(expected);
    }
    std::string name(std::uintptr_t address) {
        const model_class *c = model_.owner(address);
        if (c == nullptr) return hex(address) + " (outside every block)";
        const std::size_t offset = address - c->start;
        std::string name = "block " + std::to_string(offset / c->size) + " of size " + std::to_string(c->size);
        if (offset % c->size != 0) name += " + " + std::to_string(offset % c->size);
        return name + (c->is_live(offset / c->size) ? " (live)" : " (free)");
    }

    model_class &class_from(std::uint64_t number) { return model_.classes[number % model_.classes.size()]; }

    // A size at or near a class's block size, any other size, 0, or a size near SIZE_MAX.
    std::size_t size_from(const operation &op) {
        const std::size_t border = class_from(op.a >> 8).size;
        switch (op.a % 8) {
        case 0: return border - 1;
        case 1: return border + 1;
        case 2: return static_cast<std::size_t>((op.a >> 16) % (model_.largest() + 32));
        case 3: return op.a >> 16 & 1 ? 0 : op.a >> 17 & 1 ? SIZE_MAX - static_cast<std::size_t>(op.a >> 24) % 64 : 1;
        case 4: return border - static_cast<std::size_t>(op.a >> 16) % 16;
        default: return border;
        }
    }
    static std::size_t alignment_from(std::uint64_t number) {
        const std::size_t power = std::size_t{1} << (number & 15);
        return number >> 8 & 7 ? power : power + static_cast<std::size_t>(number >> 16 & 3);
    }
    std::uintptr_t live_from(const operation &op) {
        const model_class &c = class_from(op.a >> 8);
        return c.live.empty() ? 0 : c.address(c.live[op.b % c.live.size()]);
    }
    std::uintptr_t freed_from(const operation &op) {
        const model_class &c = class_from(op.a >> 8);
        if (c.freed.empty()) return 0;
        return c.address(op.a & 1 ? c.freed.back() : c.freed[op.b % c.freed.size()]);
    }
    std::uintptr_t fresh_from(const operation &op) {
        const model_class &c = class_from(op.a >> 8);
        const std::size_t fresh = c.count - c.used.size();
        return fresh == 0 ? 0 : c.address(op.a & 1 ? c.count - 1 : c.used.size() + op.b % fresh);
    }
    std::uintptr_t interior_from(const operation &op) {
        const model_class &c = class_from(op.a >> 8);
        const std::uint64_t inside = op.a & 1 ? op.b >> 32 : op.b >> 32 << 4;
        return c.address(op.b % c.count) + static_cast<std::size_t>(inside % c.size);
    }
    // An address in or around the block memory, near the end of a class, in the metadata or on the stack.
    std::uintptr_t any_from(const operation &op) {
        const std::uintptr_t blocks = address_of(pool_.blocks().start());
        const model_class &c = class_from(op.a >> 8);
        switch (op.a >> 1 & 7) {
        case 0: return blocks + static_cast<std::size_t>(op.b % (pool_.footprint().block_bytes + 4096)) / 16 * 16;
        case 1: return blocks + static_cast<std::size_t>(op.b % (pool_.footprint().block_bytes + 4096));
        case 2: return c.end() + static_cast<std::size_t>(op.b % (2 * c.size)) / 16 * 16;
        case 3: return c.end() + c.size * static_cast<std::size_t>(op.b % 3);
        case 4: return address_of(pool_.metadata().start()) + static_cast<std::size_t>(op.b) % pool_.metadata().size();
        case 5: return address_of(&op);
        case 6: return blocks - 16 * static_cast<std::size_t>(op.b % 256);
        default: return static_cast<std::uintptr_t>(op.b);
        }
    }

    std::string alloc(std::size_t size) {
        const std::uintptr_t expected = model_.alloc(model_.class_for(size));
        const std::uintptr_t got = address_of(flat_pool_alloc(pool_, size));
        return got == expected ? "" : differs("alloc " + std::to_string(size), got, expected);
    }
    std::string alloc_aligned(std::size_t alignment, std::size_t size) {
        const std::uintptr_t expected = model_.alloc(model_.class_for(alignment, size));
        const std::uintptr_t got = address_of(flat_pool_aligned_alloc(pool_, alignment, size));
        return got == expected ? "" : differs("aligned_alloc", got, expected);
    }
    std::string alloc_many(std::size_t size, std::size_t count) {
        model_class *c = model_.class_for(size);
        const bool served = c != nullptr && count > 0 && c->free_blocks() >= count;
        if (c != nullptr && count > 0 && !served) c->refused++;
        std::vector<void *> blocks(count + 1, this);
        const std::size_t got = flat_pool_alloc_many(pool_, size, blocks.data(), count);
        if (got != (served ? count : 0)) return differs("alloc_many", got, served ? count : 0);
        for (std::size_t i = 0; i <= count; i++) {
            const std::uintptr_t expected = served && i < count ? c->take() : address_of(this);
            if (address_of(blocks[i]) != expected)
                return differs("alloc_many's block", address_of(blocks[i]), expected);
        }
        return "";
    }
    std::string free(std::uintptr_t address) {
        const flat_status expected = model_.free(address);
        const flat_status got = flat_pool_free(pool_, at(address));
        if (got == expected) return "";
        return std::string("free gives \"") + flat_status_string(got) + "\", expected \"" +
               flat_status_string(expected) + '"';
    }
    std::string look(std::uintptr_t address) {
        const bool owned = model_.owner(address) != nullptr;
        if (flat_pool_owns(pool_, at(address)) != owned) return owned ? "owns says no" : "owns says yes";
        const std::size_t usable = flat_pool_usable_size(pool_, at(address));
        const std::size_t expected = model_.usable_size(address);
        return usable == expected ? "" : differs("usable_size", usable, expected);
    }
    std::string reset(const operation &op) {
        if (op.a % 16 != 0) return look(any_from(op)); // rare, so that free lists can grow long
        flat_pool_reset(pool_);
        model_.reset();
        return compare();
    }
    std::string compare_live() {
        std::vector<std::pair<std::uintptr_t, std::size_t>> expected, met;
        for (const model_class &c : model_.classes) {
            std::vector<std::uint32_t> live = c.live;
            std::sort(live.begin(), live.end());
            for (std::uint32_t index : live) expected.emplace_back(c.address(index), c.size);
        }
        const std::size_t count = flat_pool_visit(
            pool_,
            [](void *context, void *block, std::size_t size) {
                static_cast<decltype(met) *>(context)->emplace_back(address_of(block), size);
            },
            &met);
        if (count != expected.size()) return differs("visit", count, expected.size());
        return met == expected ? "" : "visit met other blocks than the live ones";
    }

    test_pool &pool_;
    std::vector<std::uintptr_t> starts_;
    model model_;
};

} // namespace test

#endif
