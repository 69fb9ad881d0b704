// Containers of std::pmr over flat::heap_resource.
#include "flat_heap.hpp"

#include <flatline/resource.hpp>

#include <memory_resource>
#include <optional>

namespace {

std::optional<flat::heap_resource> resource;

template <std::size_t> struct source {
    template <class T> using allocator = std::pmr::polymorphic_allocator<T>;
    template <class T> allocator<T> get() { return &*resource; }
    void end_round() {}
    std::size_t held() { return held_by_heap(); }
};

} // namespace

const bench_traits bench_backend = flat::bench::traits_of("containers-heap-resource");

bool bench_prepare(const bench_class *, std::size_t, bench_pages) {
    if (!make_heap()) return false;
    resource.emplace(*the_heap);
    return true;
}

const bench_workload *bench_find_workload(const char *name) {
    return flat::bench::find_workload(flat::bench::workloads_over<source>, name);
}
