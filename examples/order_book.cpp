// An order book's hot loop: the nodes of std::map and std::list come from a pool, by direct calls and not through a
// memory_resource, so each node is one straight line of at most 60 instructions.
//
//     order_book [ROUNDS]
#include <flatline/allocator.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <utility>

/* Which part of its life the program is in. Only the tests read it: they require that the heap is not called while it
 * is STEADY. */
enum Phase { STARTING, STEADY, ENDING };
volatile Phase phase;

namespace {

template <class T> using PoolAllocator = flat::allocator<T, flat_pool>;

struct Order {
    std::uint64_t id;
    int quantity;
};
using Level = std::list<Order, PoolAllocator<Order>>; // the orders at one price, the oldest first

constexpr int lowest_price = 1000, prices = 200;
constexpr std::size_t most_orders = 5000; // that may wait on one side; then the worst one is taken out

// One side of the book, the best price first. Every order is a node of 32 bytes, every price one of 80.
template <class Better> class Side {
  public:
    explicit Side(flat_pool *pool) : pool_(pool), levels_(pool) {}

    void add(std::uint64_t id, int price, int quantity) {
        if (orders_ == most_orders) take_out(std::prev(levels_.end()));
        levels_.try_emplace(price, pool_).first->second.push_back({id, quantity});
        orders_++;
    }

    // Trades up to `quantity` at `limit` or better; returns how much.
    int trade(int limit, int quantity) {
        int traded = 0;
        while (traded < quantity && !levels_.empty() && !Better()(limit, levels_.begin()->first)) {
            Order &oldest = levels_.begin()->second.front();
            const int part = std::min(quantity - traded, oldest.quantity);
            oldest.quantity -= part;
            traded += part;
            if (oldest.quantity == 0) take_out(levels_.begin());
        }
        return traded;
    }

  private:
    using Levels = std::map<int, Level, Better, PoolAllocator<std::pair<const int, Level>>>;

    void take_out(typename Levels::iterator level) {
        level->second.pop_front();
        if (level->second.empty()) levels_.erase(level);
        orders_--;
    }

    flat_pool *pool_;
    Levels levels_;
    std::size_t orders_ = 0;
};

} // namespace

int main(int argc, char **argv) {
    const std::uint64_t rounds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100000;
    // The worst case, and not a byte more: all orders that may wait, and every price on both sides.
    const std::array<flat_class, 2> classes{{{32, 2 * most_orders}, {80, 2 * prices}}};
    flat_pool_options options{};
    options.classes = classes.data();
    options.class_count = classes.size();
    flat_pool *pool = nullptr;
    if (flat_pool_create(&pool, &options, nullptr) != FLAT_OK) return 1;

    std::uint64_t traded = 0;
    {
        Side<std::greater<>> bids(pool);
        Side<std::less<>> asks(pool);
        std::uint64_t random = 42;
        phase = STEADY;
        for (std::uint64_t id = 0; id < rounds; id++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            const int price = lowest_price + static_cast<int>(random >> 33) % prices;
            const int quantity = 1 + static_cast<int>(random >> 45) % 100;
            const int at_once = id % 2 == 0 ? bids.trade(price, quantity) : asks.trade(price, quantity);
            traded += static_cast<std::uint64_t>(at_once);
            if (at_once == quantity) continue;
            if (id % 2 == 0) {
                asks.add(id, price, quantity - at_once);
            } else {
                bids.add(id, price, quantity - at_once);
            }
        }
        phase = ENDING;
        std::array<flat_pool_stats, 2> stats{};
        (void)flat_pool_get_stats(pool, stats.data(), stats.size());
        std::printf("%llu orders, %llu traded; live: %zu orders of %zu, %zu prices of %zu\n",
                    static_cast<unsigned long long>(rounds), static_cast<unsigned long long>(traded), stats[0].live,
                    stats[0].block_count, stats[1].live, stats[1].block_count);
    }
    const bool all_back = flat_pool_visit(pool, nullptr, nullptr) == 0;
    flat_pool_destroy(pool);
    return all_back && traded > 0 && flat::last_refusal().count == 0 ? 0 : 1;
}
