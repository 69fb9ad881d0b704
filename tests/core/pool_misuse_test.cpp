// Every misuse gets its status and changes nothing, for a thousand random layouts. No block is ever touched.
#include "core/environment.hpp"
#include "core/layouts.hpp"
#include "core/model.hpp"
#include "core/model_run.hpp"
#include "core/random_source.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <vector>

namespace {

using test::address_of;
using test::at;
using test::model;
using test::random_source;
using test::test_pool;

// Counts that are a multiple of nothing round: odd, and no neighbour of a power of two.
std::vector<flat_class> crooked(std::vector<flat_class> layout) {
    for (flat_class &c : layout) {
        c.block_count |= 1;
        if ((c.block_count & (c.block_count + 1)) == 0 && c.block_count > 1) c.block_count += 4;
    }
    return layout;
}

// Some blocks live, some used and free in an order of their own, some never handed out.
void use(random_source &random, flat_pool *pool, model &reference) {
    for (test::model_class &c : reference.classes) {
        for (std::size_t i = random.below(c.count + 1); i > 0; i--) {
            ASSERT_EQ(address_of(flat_pool_alloc(pool, c.size)), c.take());
        }
        for (std::size_t i = c.live.size() / 2; i > 0; i--) {
            const std::uint32_t index = c.live[random.below(c.live.size())];
            ASSERT_EQ(flat_pool_free(pool, at(c.address(index))), FLAT_OK);
            c.give(index);
        }
    }
}

// One layout in one state: what the pool answers to any address, and how often each answer came.
class probe {
  public:
    probe(test_pool &pool, model &reference) : pool_(pool), reference_(reference) {}

    // Frees `address`. Where that is right the block is taken back at once, which puts the pool as it was.
    bool operator()(std::uintptr_t address) {
        const flat_status expected = reference_.status_of_free(address);
        const flat_status got = flat_pool_free(pool_, at(address));
        answers[got]++;
        if (got != expected) {
            ADD_FAILURE() << "free of " << address - address_of(pool_.blocks().start())
                          << " bytes into the blocks gives \"" << flat_status_string(got) << "\", expected \""
                          << flat_status_string(expected) << '"';
            return false;
        }
        if (got == FLAT_OK && address != 0) {
            const std::size_t size = reference_.owner(address)->size;
            if (address_of(flat_pool_alloc(pool_, size)) != address) {
                ADD_FAILURE() << "the block freed last did not come first";
                return false;
            }
        }
        return true;
    }

    std::uint64_t answers[FLAT_CORRUPTED + 1] = {};

  private:
    test_pool &pool_;
    model &reference_;
};

// Statistics as they were, and the rest of every class in the order the model foretells.
void expect_unchanged(test_pool &pool, model &reference) {
    ASSERT_EQ(flat_pool_check(pool), FLAT_OK);
    const auto stats = pool.stats();
    for (std::size_t i = 0; i < stats.size(); i++) {
        ASSERT_EQ(stats[i].live, reference.classes[i].live.size());
        ASSERT_EQ(stats[i].high_water, reference.classes[i].used.size());
        ASSERT_EQ(stats[i].refused, 0u);
    }
    for (test::model_class &c : reference.classes) {
        while (c.free_blocks() > 0) ASSERT_EQ(address_of(flat_pool_alloc(pool, c.size)), c.take());
        ASSERT_EQ(flat_pool_alloc(pool, c.size), nullptr);
    }
    ASSERT_EQ(flat_pool_check(pool), FLAT_OK);
}

class pool_misuse : public testing::Test {
  protected:
    void SetUp() override { std::cout << "seed: FLATLINE_TEST_SEED=" << test::seed() << std::endl; }
};

constexpr std::size_t exhaustive_bytes = std::size_t{1} << 16; // regions up to here: every single byte
constexpr std::size_t samples = 8192;                          // of odd offsets in larger ones

} // namespace

TEST_F(pool_misuse, every_address_of_a_thousand_layouts_gets_its_status) {
    std::uint64_t answers[FLAT_CORRUPTED + 1] = {};
    const std::size_t layouts = test::scaled(1000);
    for (std::size_t round = 0; round < layouts && !HasFailure(); round++) {
        random_source random(test::seed() + round);
        const std::vector<flat_class> layout =
            crooked(test::random_layout(random, {20, round % 4 == 0 ? 8192u : 300u, 200, std::size_t{1} << 20}));
        SCOPED_TRACE("FLATLINE_TEST_SEED=" + std::to_string(test::seed() + round) +
                     ", classes: " + test::describe(layout));
        test_pool pool(layout, PROT_NONE);
        model reference(layout, test::first_blocks(pool));
        use(random, pool, reference);
        probe probe(pool, reference);
        const std::uintptr_t first = address_of(pool.blocks().start()) - 4096;
        const std::uintptr_t end = first + 4096 + pool.footprint().block_bytes + 4096;
        const std::uintptr_t step = end - first <= exhaustive_bytes ? 1 : 16;
        for (std::uintptr_t address = first; address < end && probe(address);) address += step;
        for (std::size_t i = 0; step != 1 && i < samples && !HasFailure(); i++)
            probe(first + random.below(end - first));
        expect_unchanged(pool, reference);
        for (int status = 0; status <= FLAT_CORRUPTED; status++) answers[status] += probe.answers[status];
    }
    for (flat_status status : {FLAT_OK, FLAT_DOUBLE_FREE, FLAT_INTERIOR_POINTER, FLAT_FOREIGN_POINTER}) {
        EXPECT_GT(answers[status], 0u) << flat_status_string(status) << " was never met";
        std::cout << answers[status] << " x " << flat_status_string(status) << '\n';
    }
    EXPECT_EQ(answers[FLAT_CORRUPTED] + answers[FLAT_INVALID_ARGUMENT] + answers[FLAT_OUT_OF_MEMORY], 0u);
}

TEST_F(pool_misuse, addresses_outside_the_blocks_are_foreign_in_a_thousand_layouts) {
    const std::size_t layouts = test::scaled(1000);
    for (std::size_t round = 0; round < layouts && !HasFailure(); round++) {
        random_source random(test::seed() ^ (round << 32));
        const std::vector<flat_class> layout =
            crooked(test::random_layout(random, {64, 1 << 20, 300, test::address_budget / 4}));
        SCOPED_TRACE("FLATLINE_TEST_SEED=" + std::to_string(test::seed()) + ", classes: " + test::describe(layout));
        test_pool pool(layout, PROT_NONE), other(layout, PROT_NONE);
        model reference(layout, test::first_blocks(pool));
        use(random, pool, reference);
        void *of_another_pool = flat_pool_alloc(other, layout[0].block_size);
        const std::uintptr_t metadata = address_of(pool.metadata().start());
        std::vector<std::uintptr_t> foreign = {
            address_of(of_another_pool),          address_of(&foreign), address_of(&random), 8, UINTPTR_MAX,
            address_of(pool.blocks().start()) - 1};
        for (std::size_t at = 0; at < pool.footprint().metadata_bytes; at += 61) foreign.push_back(metadata + at);
        for (std::size_t i = 0; i < reference.classes.size(); i++) {
            const test::model_class &c = reference.classes[i];
            const std::uintptr_t next = i + 1 < reference.classes.size()
                                            ? reference.classes[i + 1].start
                                            : address_of(pool.blocks().start()) + pool.footprint().block_bytes;
            if (next == c.end()) continue;
            for (std::uintptr_t a : {c.end(), c.end() + 1, c.end() + 16, next - 16, next - 1, c.end() + c.size}) {
                if (a >= c.end() && a < next) foreign.push_back(a);
            }
        }
        for (std::uintptr_t address : foreign) {
            ASSERT_EQ(flat_pool_free(pool, at(address)), FLAT_FOREIGN_POINTER) << address;
            ASSERT_FALSE(flat_pool_owns(pool, at(address)));
        }
        // Inside blocks too large to try every byte: around every border, and anywhere.
        probe probe(pool, reference);
        for (const test::model_class &c : reference.classes) {
            for (int i = 0; i < 64 && !HasFailure(); i++) {
                const std::uintptr_t block = c.address(random.below(c.count));
                for (std::uintptr_t a : {block, block + 1, block + c.size - 1, block + 16, block + c.size - 16,
                                         block + c.size, block + random.below(c.size)}) {
                    probe(a);
                }
            }
        }
        expect_unchanged(pool, reference);
    }
}
