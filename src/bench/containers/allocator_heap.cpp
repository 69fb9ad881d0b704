// Containers with flat::allocator over a heap: no virtual call.
#include "flat_heap.hpp"

#include <flatline/allocator.hpp>

namespace {

template <std::size_t> struct source {
    template <class T> using allocator = flat::allocator<T, flat_heap>;
    template <class T> allocator<T> get() { return the_heap; }
    void end_round() {}
    std::size_t held() { return held_by_heap(); }
};

} // namespace

const bench_traits bench_backend = flat::bench::traits_of("containers-allocator-heap");

bool bench_prepare(const bench_class *, std::size_t, bench_pages) { return make_heap(); }

const bench_workload *bench_find_workload(const char *name) {
    return flat::bench::find_workload(flat::bench::workloads_over<source>, name);
}
