// Random operations on random heaps, against the model. On a failure the list of operations is shrunk before it is
// printed. `make validate` runs it for 100 million operations.
#include "core/environment.hpp"
#include "core/heap_model_run.hpp"
#include "core/model_shrink.hpp"
#include "core/random_source.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

namespace {

using test::heap_operation;
using test::heap_run;
using test::random_source;
using test::test_heap;

// A random list in which heaps fill and drain: the balance of allocs and frees changes every few hundred steps.
std::vector<heap_operation> random_operations(random_source &random, std::size_t count) {
    std::vector<heap_operation> operations;
    std::uint64_t filling = 50; // percent of the steps that are allocs or frees
    while (operations.size() < count) {
        if (random.one_in(300)) filling = 5 + random.below(91);
        std::uint8_t what;
        if (random.below(100) < 90) {
            const bool fill = random.below(100) < filling;
            what = random.one_in(6)   ? heap_operation::reallocate
                   : !fill            ? heap_operation::free_live
                   : random.one_in(6) ? heap_operation::alloc_aligned
                                      : heap_operation::alloc;
        } else {
            what = static_cast<std::uint8_t>(heap_operation::reallocate_any +
                                             random.below(heap_operation::kinds - heap_operation::reallocate_any));
            if (what == heap_operation::compare && !random.one_in(20)) what = heap_operation::look;
            if (what == heap_operation::reset && !random.one_in(20)) what = heap_operation::free_any;
        }
        operations.push_back({what, random.next(), random.next()});
    }
    return operations;
}

// Regions of up to `most` bytes, each order of magnitude as likely as the next; small sizes in every fourth heap.
void explore(std::uint64_t seed, std::size_t heaps, std::size_t operations, std::size_t most) {
    for (std::size_t round = 0; round < heaps; round++) {
        random_source random(seed + round);
        const std::size_t bytes = 512 * random.magnitude(most / 512) + random.below(512);
        test_heap heap(bytes, PROT_READ | PROT_WRITE, std::size_t{512} << random.below(8));
        heap_run pair(heap);
        std::vector<heap_operation> list = random_operations(random, operations);
        if (random.one_in(4)) {
            for (heap_operation &op : list) op.a = (op.a & ~std::uint64_t{7}) | 4; // sizes up to 600
        }
        std::size_t steps;
        if (test::run(pair, list, steps).empty()) continue;
        list.resize(steps);
        const std::vector<heap_operation> shortest = test::shrink(pair, list);
        FAIL() << "repeat with FLATLINE_TEST_SEED=" << seed + round << "\na heap of " << bytes
               << " bytes\nshortest failing list found (" << shortest.size() << " of " << list.size()
               << " operations):\n"
               << test::in_words(pair, shortest);
    }
    std::cout << heaps * operations << " operations on " << heaps << " heaps of up to " << most << " bytes\n";
}

class heap_model : public testing::Test {
  protected:
    void SetUp() override { std::cout << "seed: FLATLINE_TEST_SEED=" << test::seed() << std::endl; }
};

} // namespace

// Two million operations in all: FLATLINE_TEST_SCALE=50 makes them 100 million.
TEST_F(heap_model, tiny_heaps_behave_as_the_model) { explore(test::seed(), test::scaled(1000), 1000, 8 * 512); }
TEST_F(heap_model, small_heaps_behave_as_the_model) { explore(test::seed(), test::scaled(150), 4000, 256 << 10); }
TEST_F(heap_model, large_heaps_behave_as_the_model) { explore(test::seed(), test::scaled(8), 50000, 16 << 20); }
