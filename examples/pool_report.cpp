// A pool in C++: owned by a smart pointer, going on elsewhere at exhaustion and misuse, and reporting its classes.
#include <flatline/pool.h>

#include <array>
#include <cstdio>
#include <memory>

// Which part of its life the program is in. Only the tests read it: they require that the heap is not called while it
// is STEADY.
enum Phase { STARTING, STEADY, ENDING };
volatile Phase phase;

namespace {

struct PoolDeleter {
    void operator()(flat_pool *pool) const noexcept { flat_pool_destroy(pool); }
};
using Pool = std::unique_ptr<flat_pool, PoolDeleter>;

// Where the pool refuses, the call goes on here, and returns what this returns.
struct Incidents : flat_pool_otherwise {
    Incidents() : flat_pool_otherwise{count_exhausted, count_misused} {}

    int exhausted = 0;
    int misused = 0;

    static void *count_exhausted(flat_pool_otherwise *self, size_t, size_t) {
        static_cast<Incidents *>(self)->exhausted++;
        return nullptr;
    }
    static flat_status count_misused(flat_pool_otherwise *self, void *, size_t, size_t, flat_status refusal) {
        static_cast<Incidents *>(self)->misused++;
        return refusal;
    }
};

Pool make_pool(const flat_pool_options &options) {
    flat_pool *pool = nullptr;
    if (flat_pool_create(&pool, &options, nullptr) != FLAT_OK) return nullptr;
    return Pool(pool);
}

void report(const flat_pool *pool) {
    std::array<flat_pool_stats, FLAT_POOL_MAX_CLASSES> stats{};
    const std::size_t classes = flat_pool_get_stats(pool, stats.data(), stats.size());
    std::printf("%12s %8s %8s %12s %8s\n", "block bytes", "blocks", "live", "high water", "refused");
    for (std::size_t i = 0; i < classes; i++) {
        const flat_pool_stats &of = stats[i];
        std::printf("%12zu %8zu %8zu %12zu %8llu\n", of.block_size, of.block_count, of.live, of.high_water,
                    static_cast<unsigned long long>(of.refused));
    }
}

} // namespace

int main() {
    const std::array<flat_class, 2> classes{{{64, 2}, {256, 4}}};
    Incidents incidents;
    flat_pool_options options{};
    options.classes = classes.data();
    options.class_count = classes.size();
    const Pool pool = make_pool(options);
    if (!pool) return 1;

    phase = STEADY;
    void *first = flat_pool_alloc_or_else(pool.get(), 64, 16, &incidents);
    void *second = flat_pool_alloc_or_else(pool.get(), 64, 16, &incidents);
    void *third = flat_pool_alloc_or_else(pool.get(), 64, 16, &incidents); // the class of 64 has two blocks
    const flat_status once = flat_pool_free_or_else(pool.get(), first, 64, 16, &incidents);
    const flat_status twice = flat_pool_free_or_else(pool.get(), first, 64, 16, &incidents); // refused
    phase = ENDING;

    report(pool.get());
    flat_pool_stats small{};
    (void)flat_pool_get_stats(pool.get(), &small, 1);
    const bool as_told = second != nullptr && third == nullptr && once == FLAT_OK && twice == FLAT_DOUBLE_FREE &&
                         incidents.exhausted == 1 && incidents.misused == 1 && small.live == 1 &&
                         small.high_water == 2 && small.refused == 1;
    return as_told ? 0 : 1;
}
