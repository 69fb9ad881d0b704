// Containers with flat::allocator over an arena: no virtual call.
#include "flat_arena.hpp"

#include <flatline/allocator.hpp>

namespace {

flat_arena arena;

template <std::size_t> struct source {
    template <class T> using allocator = flat::allocator<T, flat_arena>;
    template <class T> allocator<T> get() { return &arena; }
    void end_round() { flat_arena_reset(&arena); }
    std::size_t held() { return held_by_arena(arena); }
};

} // namespace

const bench_traits bench_backend = flat::bench::traits_of("containers-allocator-arena");

bool bench_prepare(const bench_class *, std::size_t, bench_pages) { return make_arena(arena); }

const bench_workload *bench_find_workload(const char *name) {
    return flat::bench::find_workload(flat::bench::workloads_over<source>, name);
}
