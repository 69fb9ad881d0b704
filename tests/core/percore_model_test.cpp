// Compares random operations on random sets with the model. One thread plays all parts. After a failure, the test
// shrinks the list of operations before it prints it. All blocks are PROT_NONE, so a set that reads or writes one dies.
#include "core/environment.hpp"
#include "core/layouts.hpp"
#include "core/model_shrink.hpp"
#include "core/percore_model.hpp"
#include "core/random_source.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <vector>

namespace {

using test::percore_pair;
using test::random_source;
using test::shard_class;
using test::test_percore;

// One operation. `a` and `b` select its arguments from the current state, so lists can be cut anywhere.
struct operation {
    enum kind : std::uint8_t {
        alloc,
        free_remotely,
        free_as_owner,
        free_by_pool,
        aligned_alloc,
        pool_alloc,
        free_twice_at_once,
        free_any,
        drain,
        flush,
        adopt,
        leave,
        look,
        compare,
        kinds
    };
    std::uint8_t what;
    std::uint64_t a, b;
};

const char *const words[] = {"alloc",          "free",
                             "free_as",        "pool free of its own",
                             "aligned_alloc",  "pool alloc",
                             "free at once",   "free of any",
                             "drain",          "flush",
                             "adopt",          "leave",
                             "owns, shard_of", "check, stats, visit"};

class percore_run {
  public:
    explicit percore_run(test_percore &set) : set_(set), pair_(set) {
        std::size_t blocks = 0;
        for (const flat_class &c : set.classes()) blocks += c.block_count;
        // Small sets are checked after each step, larger ones less often.
        check_one_in_ = 1 + blocks / 50;
    }

    void start_again() { pair_.start_again(); }
    std::string compare() { return pair_.compare(); }
    std::string drain() { return pair_.drain(); }

    std::string apply(const operation &op) {
        const std::string wrong = act(op);
        if (!wrong.empty() || (op.b >> 32) % check_one_in_ != 0) return wrong;
        return pair_.check(shard_from(op));
    }

    std::string describe(const operation &op) {
        std::string text = words[op.what % operation::kinds];
        text += ", shard " + std::to_string(shard_from(op));
        switch (op.what % operation::kinds) {
        case operation::alloc:
        case operation::pool_alloc: return text + ": " + std::to_string(size_from(op));
        case operation::aligned_alloc:
            return text + ": " + std::to_string(alignment_from(op)) + ", " + std::to_string(size_from(op));
        case operation::drain: return text + ": " + std::to_string(op.b % 20);
        case operation::free_remotely:
        case operation::free_as_owner:
        case operation::free_twice_at_once: return text + ": " + name(live_from(op));
        case operation::free_by_pool: return text + ": " + name(live_of(class_from(op), op));
        case operation::free_any:
        case operation::look: return text + ": " + name(any_from(op));
        default: return text;
        }
    }

  private:
    std::string act(const operation &op) {
        const std::size_t s = shard_from(op);
        switch (op.what % operation::kinds) {
        case operation::alloc: return pair_.alloc(s, size_from(op));
        case operation::aligned_alloc: return pair_.aligned_alloc(s, alignment_from(op), size_from(op));
        case operation::pool_alloc: return pair_.pool_alloc(s, size_from(op));
        case operation::free_remotely: return pair_.free(percore_pair::way::any_thread, s, live_from(op));
        case operation::free_as_owner: return pair_.free(percore_pair::way::as_owner, s, live_from(op));
        case operation::free_by_pool: return pair_.free(percore_pair::way::by_pool, s, live_of(class_from(op), op));
        case operation::free_twice_at_once: return pair_.free_twice_at_once(live_from(op));
        case operation::free_any: return pair_.free(static_cast<percore_pair::way>(op.b >> 60 & 1), s, any_from(op));
        case operation::drain: return pair_.drain(s, static_cast<std::size_t>(op.b % 20));
        case operation::flush: return pair_.flush(s);
        case operation::adopt: return pair_.adopt();
        case operation::leave: return pair_.leave(s);
        case operation::look: return pair_.look(s, op.a & 1 ? any_from(op) : live_from(op));
        default: return pair_.compare();
        }
    }

    std::size_t shard_from(const operation &op) const { return static_cast<std::size_t>(op.a >> 40) % set_.shards(); }
    shard_class &class_from(const operation &op) {
        return pair_.shards[shard_from(op)].classes[static_cast<std::size_t>(op.a >> 8) % set_.classes().size()];
    }
    // A size at or near a class's block size, 0, or a size near SIZE_MAX.
    std::size_t size_from(const operation &op) {
        const std::size_t border = class_from(op).size;
        switch (op.a % 16) {
        case 0: return border - 1;
        case 1: return border + 1;
        case 2: return 0;
        case 3: return SIZE_MAX - static_cast<std::size_t>(op.a >> 24) % 64;
        default: return border;
        }
    }
    static std::size_t alignment_from(const operation &op) { return std::size_t{1} << (op.b & 15) | (op.b >> 8 & 64); }
    static std::uintptr_t live_of(const shard_class &c, const operation &op) {
        return c.live.empty() ? 0 : c.address(c.live[op.b % c.live.size()]);
    }
    // A live block of any shard.
    std::uintptr_t live_from(const operation &op) {
        const auto &shard = pair_.shards[(op.a >> 50) % set_.shards()];
        return live_of(shard.classes[static_cast<std::size_t>(op.a >> 8) % shard.classes.size()], op);
    }
    // The start of a block, live or not; an address inside a block; or any other address.
    std::uintptr_t any_from(const operation &op) {
        const shard_class &c = class_from(op);
        const std::size_t bytes = set_.footprint().block_bytes;
        switch (op.a % 8) {
        case 0: return c.address(op.b % c.count) + (op.b >> 20) % c.size;
        case 1: return test::address_of(set_.blocks().start()) - 4096 + op.b % (bytes + 8192);
        case 2: return c.end() + c.size * (op.b % 3);
        case 3: return test::address_of(set_.metadata().start()) + op.b % set_.footprint().metadata_bytes;
        case 4: return op.b % 3 == 0 ? 0 : op.b;
        default: return c.address(op.b % c.count);
        }
    }
    std::string name(std::uintptr_t address) {
        const shard_class *c = pair_.owner(address);
        if (c == nullptr) return std::to_string(address) + " (outside every block)";
        const std::size_t offset = address - c->start;
        return "block " + std::to_string(offset / c->size) + " of size " + std::to_string(c->size) + " of shard " +
               std::to_string(flat_percore_shard_of(set_, test::at(address))) +
               (offset % c->size != 0 ? " + " + std::to_string(offset % c->size) : "");
    }

    test_percore &set_;
    percore_pair pair_;
    std::uint64_t check_one_in_;
};

// A random list in which shards fill and drain by frees of all kinds. The shares of allocs and of remote frees change
// every few hundred steps.
std::vector<operation> random_operations(random_source &random, std::size_t count, bool at_once) {
    std::vector<operation> operations;
    std::uint64_t filling = 60, remote = 50; // percent
    while (operations.size() < count) {
        if (random.one_in(300)) {
            filling = 5 + random.below(91);
            remote = random.below(101);
        }
        std::uint8_t what;
        if (random.below(100) < 85) {
            const bool fill = random.below(100) < filling;
            what = !fill               ? (random.below(100) < remote ? operation::free_remotely
                                          : random.one_in(2)         ? operation::free_as_owner
                                                                     : operation::free_by_pool)
                   : random.one_in(10) ? operation::aligned_alloc
                   : random.one_in(10) ? operation::pool_alloc
                                       : operation::alloc;
        } else {
            what = static_cast<std::uint8_t>(operation::free_twice_at_once +
                                             random.below(operation::kinds - operation::free_twice_at_once));
            if (what == operation::free_twice_at_once && !at_once) what = operation::free_any;
            if (what == operation::compare && !random.one_in(40)) what = operation::look;
            if (what == operation::flush && !random.one_in(10)) what = operation::free_any;
        }
        operations.push_back({what, random.next(), random.next()});
    }
    return operations;
}

struct extent {
    std::size_t sets, operations, most_shards;
    bool at_once; // include simultaneous frees of one block by two threads
};

void explore(std::uint64_t seed, const extent &extent, const test::layout_bounds &bounds) {
    for (std::size_t round = 0; round < extent.sets; round++) {
        random_source random(seed + round);
        const std::vector<flat_class> layout = test::random_layout(random, bounds);
        const std::size_t shards = random.magnitude(extent.most_shards);
        test_percore set(layout, shards);
        percore_run pair(set);
        std::vector<operation> list = random_operations(random, extent.operations, extent.at_once);
        std::size_t steps;
        if (test::run(pair, list, steps).empty()) continue;
        list.resize(steps);
        const std::vector<operation> shortest = test::shrink(pair, list);
        FAIL() << "repeat with FLATLINE_TEST_SEED=" << seed + round << '\n'
               << shards << " shards of " << test::describe(layout) << "\nshortest failing list found ("
               << shortest.size() << " of " << list.size() << " operations):\n"
               << test::in_words(pair, shortest);
    }
}

class percore_model : public testing::Test {
  protected:
    void SetUp() override { std::cout << "seed: FLATLINE_TEST_SEED=" << test::seed() << std::endl; }
};

constexpr std::size_t mebibyte = std::size_t{1} << 20;

} // namespace

TEST_F(percore_model, small_sets_behave_as_the_contract_says) {
    explore(test::seed(), {test::scaled(300), 3000, 3, false}, {3, 2048, 20, 64 * mebibyte});
}

TEST_F(percore_model, sets_of_many_classes_and_shards_behave_as_the_contract_says) {
    explore(test::seed(), {test::scaled(60), 10000, 40, false}, {64, 1 << 16, 300, 64 * mebibyte});
}

TEST_F(percore_model, trees_of_two_and_three_levels_behave_as_the_contract_says) {
    explore(test::seed(), {test::scaled(10), 60000, 2, false}, {2, 1024, 200000, 64 * mebibyte});
}

TEST_F(percore_model, overlapping_frees_lose_nothing) {
    explore(test::seed(), {test::scaled(200), 3000, 3, true}, {3, 1024, 200, 64 * mebibyte});
}
