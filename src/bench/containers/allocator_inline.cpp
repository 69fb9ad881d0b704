// Containers with flat::allocator over a flat::inline_arena, constructed on the stack for each round: no virtual call.
#include "flat_arena.hpp"

#include <flatline/allocator.hpp>

namespace {

template <std::size_t Bytes> struct source {
    template <class T> using allocator = flat::allocator<T, flat::inline_arena<Bytes>>;
    template <class T> allocator<T> get() { return &arena; }
    void end_round() {}
    std::size_t held() { return held_by_arena(arena.source()); }
    flat::inline_arena<Bytes> arena;
};

} // namespace

const bench_traits bench_backend = flat::bench::traits_of("containers-allocator-inline");

bool bench_prepare(const bench_class *, std::size_t, bench_pages) { return true; }

const bench_workload *bench_find_workload(const char *name) {
    return flat::bench::find_workload(flat::bench::workloads_over<source>, name);
}
