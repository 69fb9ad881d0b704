// Containers of std::pmr over flat::pool_resource.
#include "flat_pool.hpp"

#include <flatline/resource.hpp>

#include <memory_resource>
#include <optional>

namespace {

std::optional<flat::pool_resource> resource;

template <std::size_t> struct source {
    template <class T> using allocator = std::pmr::polymorphic_allocator<T>;
    template <class T> allocator<T> get() { return &*resource; }
    void end_round() {}
    std::size_t held() { return held_by_pool(); }
};

} // namespace

const bench_traits bench_backend = flat::bench::traits_of("containers-pool-resource");

bool bench_prepare(const bench_class *classes, std::size_t count, bench_pages) {
    if (!make_pool(classes, count)) return false;
    resource.emplace(*the_pool);
    return true;
}

const bench_workload *bench_find_workload(const char *name) {
    return flat::bench::find_workload(flat::bench::workloads_over<source>, name);
}
