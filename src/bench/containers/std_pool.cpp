// Containers of std::pmr over its unsynchronized_pool_resource, for the whole process. It has a pool for every size of
// the workload, and so much memory that it never has to ask its upstream for more.
#include "std_memory.hpp"

namespace {

std::optional<std::pmr::unsynchronized_pool_resource> resource;

template <std::size_t> struct source {
    template <class T> using allocator = std::pmr::polymorphic_allocator<T>;
    template <class T> allocator<T> get() { return &*resource; }
    void end_round() {}
    std::size_t held() { return held_by_buffer(); }
};

} // namespace

const bench_traits bench_backend = flat::bench::traits_of("containers-std-pool");

bool bench_prepare(const bench_class *, std::size_t, bench_pages) {
    constexpr std::size_t room = 4 << 20, times = 16; // bytes; it takes memory in pieces that double
    if (!make_buffer(room + times * bench_work_needs.peak)) return false;
    resource.emplace(std::pmr::pool_options{0, bench_work_needs.largest}, &*buffer);
    return true;
}

const bench_workload *bench_find_workload(const char *name) {
    return flat::bench::find_workload(flat::bench::workloads_over<source>, name);
}
