// A batch of trades on the stack: containers over an arena that lies in the function's own frame.
//
//     trade_batch [ROUNDS]
#include <flatline/allocator.hpp>
#include <flatline/resource.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory_resource>
#include <vector>

/* Which part of its life the program is in. Only the tests read it: they require that the heap is not called while it
 * is STEADY. */
enum Phase { STARTING, STEADY, ENDING };
volatile Phase phase;

namespace {

struct Trade {
    std::uint64_t id;
    double price;
    int quantity;
};

// A hundred trades and nothing else: 100 * 24 bytes, and the vector asks once.
double worth_of_batch(std::uint64_t first) {
    flat::inline_arena<100 * sizeof(Trade)> arena;
    std::pmr::vector<Trade> batch(&arena);
    batch.reserve(100);
    for (std::uint64_t id = first; id < first + 100; id++) batch.push_back({id, 10 + 0.25 * double(id % 8), 100});
    double worth = 0;
    for (const Trade &trade : batch) worth += trade.price * trade.quantity;
    return worth;
}

// The same as a source of flat::allocator: no virtual call, an addition and a comparison a request.
double worth_of_batch_without_a_virtual_call(std::uint64_t first) {
    using Arena = flat::inline_arena<100 * sizeof(Trade)>;
    Arena arena;
    std::vector<Trade, flat::allocator<Trade, Arena>> batch(&arena);
    batch.reserve(100);
    for (std::uint64_t id = first; id < first + 100; id++) batch.push_back({id, 10 + 0.25 * double(id % 8), 100});
    double worth = 0;
    for (const Trade &trade : batch) worth += trade.price * trade.quantity;
    return worth;
}

// One trade more does not fit. Nothing continues in the heap: the batch keeps what it has, and the caller knows.
bool refuses_the_hundred_and_first() {
    flat::inline_arena<100 * sizeof(Trade)> arena;
    std::pmr::vector<Trade> batch(&arena);
    batch.resize(100);
    try {
        batch.push_back({});
    } catch (const std::bad_alloc &) {
        const flat::refusal last = flat::last_refusal();
        std::printf("%s refused %zu bytes\n", last.resource, last.bytes);
        return batch.size() == 100;
    }
    return false;
}

} // namespace

int main(int argc, char **argv) {
    const std::uint64_t rounds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000;
    if (!refuses_the_hundred_and_first()) return 1;
    double worth = 0, same = 0;
    phase = STEADY;
    for (std::uint64_t round = 0; round < rounds; round++) {
        worth += worth_of_batch(round * 100);
        same += worth_of_batch_without_a_virtual_call(round * 100);
    }
    phase = ENDING;
    std::printf("%llu batches, worth %.2f\n", static_cast<unsigned long long>(rounds), worth);
    return worth > 0 && worth == same ? 0 : 1;
}
