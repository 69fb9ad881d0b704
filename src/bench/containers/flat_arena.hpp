// Arenas, whose blocks are freed together after each round.
#pragma once

#include "../driver/containers.hpp"

#include <flatline/arena.h>
#include <flatline/version.h>

#include <cstddef>

/// An arena of exactly the bytes that a counted round requested.
inline bool make_arena(flat_arena &arena) {
    return flat_arena_create(&arena, bench_work_needs.total, nullptr) == FLAT_OK;
}

inline std::size_t held_by_arena(const flat_arena &of) {
    flat_arena_stats stats;
    flat_arena_get_stats(&of, &stats);
    return stats.high_water;
}

bench_function *bench_code(void) { return reinterpret_cast<bench_function *>(flat_arena_reset); }

const char *bench_version(void) { return flat_version(); }
