// Containers of std::pmr over flat::arena_resource.
#include "flat_arena.hpp"

#include <flatline/resource.hpp>

#include <memory_resource>
#include <optional>

namespace {

flat_arena arena;
std::optional<flat::arena_resource> resource;

template <std::size_t> struct source {
    template <class T> using allocator = std::pmr::polymorphic_allocator<T>;
    template <class T> allocator<T> get() { return &*resource; }
    void end_round() { flat_arena_reset(&arena); }
    std::size_t held() { return held_by_arena(arena); }
};

} // namespace

const bench_traits bench_backend = flat::bench::traits_of("containers-arena-resource");

bool bench_prepare(const bench_class *, std::size_t, bench_pages) {
    if (!make_arena(arena)) return false;
    resource.emplace(arena);
    return true;
}

const bench_workload *bench_find_workload(const char *name) {
    return flat::bench::find_workload(flat::bench::workloads_over<source>, name);
}
