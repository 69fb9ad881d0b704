// A pool for the whole process, with exactly the classes that were counted for the workload.
#pragma once

#include "../driver/containers.hpp"

#include <flatline/pool.h>
#include <flatline/version.h>

#include <cstddef>

inline flat_pool *the_pool;

inline bool make_pool(const bench_class *classes, std::size_t count) {
    flat_class declared[FLAT_POOL_MAX_CLASSES];
    for (std::size_t i = 0; i < count; i++) declared[i] = {classes[i].size, classes[i].count};
    flat_pool_options options{};
    options.classes = declared;
    options.class_count = count;
    return flat_pool_create(&the_pool, &options, nullptr) == FLAT_OK;
}

/// The most bytes of blocks that were live at once.
inline std::size_t held_by_pool() {
    flat_pool_stats stats[FLAT_POOL_MAX_CLASSES];
    const std::size_t count = flat_pool_get_stats(the_pool, stats, FLAT_POOL_MAX_CLASSES);
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count; i++) bytes += stats[i].high_water * stats[i].block_size;
    return bytes;
}

bench_function *bench_code(void) { return reinterpret_cast<bench_function *>(flat_pool_alloc); }

const char *bench_version(void) { return flat_version(); }
