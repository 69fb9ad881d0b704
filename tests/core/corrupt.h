/* Damages a pool's metadata, one kind of damage at a time, which `flat_pool_check` must detect. It is in C because the
 * metadata's declarations are C. */
#ifndef FLATLINE_TESTS_CORE_CORRUPT_H
#define FLATLINE_TESTS_CORE_CORRUPT_H

#include <flatline/pool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The number of kinds of damage. */
size_t corruptions(void);

/* Does damage of `kind` and returns a description of it. The pool has a class of 16 bytes and one of 48. The first has
 * at least four blocks: block 0 is live, 1 and 2 were freed in this order, and the others are fresh. */
const char *corrupt(flat_pool *pool, size_t kind);

#ifdef __cplusplus
}
#endif
#endif
