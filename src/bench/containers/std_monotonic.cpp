// Containers of std::pmr over its monotonic_buffer_resource, released after each round.
#include "std_memory.hpp"

namespace {

template <std::size_t> struct source {
    template <class T> using allocator = std::pmr::polymorphic_allocator<T>;
    template <class T> allocator<T> get() { return &*buffer; }
    void end_round() { buffer->release(); }
    std::size_t held() { return held_by_buffer(); }
};

} // namespace

const bench_traits bench_backend = flat::bench::traits_of("containers-std-monotonic");

bool bench_prepare(const bench_class *, std::size_t, bench_pages) {
    constexpr std::size_t asked_by_held = 1;
    return make_buffer(bench_work_needs.total + asked_by_held);
}

const bench_workload *bench_find_workload(const char *name) {
    return flat::bench::find_workload(flat::bench::workloads_over<source>, name);
}
