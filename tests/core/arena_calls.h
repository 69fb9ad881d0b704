/* The functions that <flatline/arena.h> compiles into its callers, out of line: compiled as C, once, so that a fault
 * planted in that header needs no test compiled anew (tests/build/planted_faults.py). */
#ifndef FLATLINE_TESTS_CORE_ARENA_CALLS_H
#define FLATLINE_TESTS_CORE_ARENA_CALLS_H

#include <flatline/arena.h>

#ifdef __cplusplus
extern "C" {
#endif

void *call_arena_alloc(flat_arena *arena, size_t size);
void *call_arena_aligned_alloc(flat_arena *arena, size_t alignment, size_t size);
flat_arena_mark call_arena_get_mark(const flat_arena *arena);
bool call_arena_owns(const flat_arena *arena, const void *address);

#ifdef __cplusplus
}
#endif
#endif
