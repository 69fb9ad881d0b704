// std::allocator over the process's malloc. Used together with backends/malloc.c or backends/glibc-tuned.c.
#include "../driver/containers.hpp"

namespace {

template <std::size_t> struct source {
    template <class T> using allocator = std::allocator<T>;
    template <class T> allocator<T> get() { return {}; }
    void end_round() {}
};

} // namespace

const bench_workload *bench_find_workload(const char *name) {
    return flat::bench::find_workload(flat::bench::workloads_over<source>, name);
}
