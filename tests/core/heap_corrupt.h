/* Damages a heap's metadata, one kind of damage at a time, which `flat_heap_check` must detect. It is in C because the
 * metadata's declarations are C. */
#ifndef FLATLINE_TESTS_CORE_HEAP_CORRUPT_H
#define FLATLINE_TESTS_CORE_HEAP_CORRUPT_H

#include <flatline/heap.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The number of kinds of damage. */
size_t heap_corruptions(void);

/* Does damage of `kind` and returns a description of it. The heap has 16 cells. Cells 0 and 1 hold slots of 64 bytes,
 * some live and some free in each; 2 is a free piece, 3 a live block, 4 and 5 a live block of 1024 bytes, 6 a free
 * piece, 7 a live block, and the others are free. */
const char *corrupt_heap(flat_heap *heap, size_t kind);

#ifdef __cplusplus
}
#endif
#endif
