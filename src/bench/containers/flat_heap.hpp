// A heap for the whole process, of the size that is proved to be enough for the counted requests of the workload.
#pragma once

#include "../driver/containers.hpp"

#include <flatline/heap.h>
#include <flatline/version.h>

#include <cstddef>

inline flat_heap *the_heap;

inline bool make_heap() {
    flat_heap_demand demand{};
    demand.live = bench_work_needs.peak;
    demand.smallest = bench_work_needs.smallest;
    demand.largest = bench_work_needs.largest;
    std::size_t bytes = 0;
    return flat_heap_bound(&demand, &bytes) == FLAT_OK && flat_heap_create(&the_heap, bytes, nullptr) == FLAT_OK;
}

/// The most bytes of blocks that were live at once.
inline std::size_t held_by_heap() {
    flat_heap_stats stats;
    flat_heap_get_stats(the_heap, &stats);
    return stats.high_water;
}

bench_function *bench_code(void) { return reinterpret_cast<bench_function *>(flat_heap_alloc); }

const char *bench_version(void) { return flat_version(); }
