// Containers with flat::allocator over a pool: no virtual call.
#include "flat_pool.hpp"

#include <flatline/allocator.hpp>

namespace {

template <std::size_t> struct source {
    template <class T> using allocator = flat::allocator<T, flat_pool>;
    template <class T> allocator<T> get() { return the_pool; }
    void end_round() {}
    std::size_t held() { return held_by_pool(); }
};

} // namespace

const bench_traits bench_backend = flat::bench::traits_of("containers-allocator-pool");

bool bench_prepare(const bench_class *classes, std::size_t count, bench_pages) { return make_pool(classes, count); }

const bench_workload *bench_find_workload(const char *name) {
    return flat::bench::find_workload(flat::bench::workloads_over<source>, name);
}
