/* Damage to a heap's metadata, one kind at a time, that `flat_heap_check` must see. In C because the metadata's
 * declarations are C. */
#ifndef FLATLINE_TESTS_CORE_HEAP_CORRUPT_H
#define FLATLINE_TESTS_CORE_HEAP_CORRUPT_H

#include <flatline/heap.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The number of kinds. */
size_t heap_corruptions(void);

/* Does damage of `kind`; returns what was done, in words. The heap has 16 cells; of these 0 and 1 hold slots of 64
 * bytes, some of them live and some free in both, 2 is a free piece, 3 a live one, 4 and 5 are a live one of 1024
 * bytes, 6 a free piece, 7 a live one, and the rest is free. */
const char *corrupt_heap(flat_heap *heap, size_t kind);

#ifdef __cplusplus
}
#endif
#endif
