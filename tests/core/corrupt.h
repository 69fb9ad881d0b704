/* Damage to a pool's metadata, one kind at a time, that `flat_pool_check` must see. In C because the metadata's
 * declarations are C. */
#ifndef FLATLINE_TESTS_CORE_CORRUPT_H
#define FLATLINE_TESTS_CORE_CORRUPT_H

#include <flatline/pool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The number of kinds. */
size_t corruptions(void);

/* Does damage of `kind`; returns what was done, in words. The pool has a class of 16 and one of 48 bytes; the first has
 * at least four blocks, of which block 0 is live, 1 and 2 were freed in this order, and the rest is fresh. */
const char *corrupt(flat_pool *pool, size_t kind);

#ifdef __cplusplus
}
#endif
#endif
