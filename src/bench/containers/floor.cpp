// The same work in plain arrays on the stack, where arrays can do it. Used together with backends/floor.c.
#include "../driver/containers.hpp"

namespace {

using namespace flat::bench;

constexpr std::array workloads{
    workload_in_arrays<vector_of_records<false>>(),
    workload_in_arrays<vector_of_records<true>>(),
    workload_in_arrays<strings<false>>(),
    workload_in_arrays<strings<true>>(),
    workload_in_arrays<concatenation>(),
    workload_in_arrays<list_of_devices>(),
    workload_in_arrays<deque_of_records>(),
    workload_in_arrays<message_queue>(),
    workload_in_arrays<trades>(),
    workload_in_arrays<new_and_delete>(),
};

} // namespace

const bench_workload *bench_find_workload(const char *name) { return find_workload(workloads, name); }
