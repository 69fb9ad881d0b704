/* A heap's state without the parts that cannot affect a later call: counters, and old values in links that are not in
 * use. It is in C because the metadata's declarations are C. */
#ifndef FLATLINE_TESTS_CORE_HEAP_STATE_H
#define FLATLINE_TESTS_CORE_HEAP_STATE_H

#include <flatline/heap.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the state to `to`, at most `4 * (cells + 32)` numbers, and returns their count. Two heaps of one size behave
 * alike iff their states are equal. */
size_t heap_state(const flat_heap *heap, uint32_t *to);

#ifdef __cplusplus
}
#endif
#endif
