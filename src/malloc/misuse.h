/* What happens when a program frees, resizes or asks the size of something that is no live block. */
#ifndef FLATLINE_MALLOC_MISUSE_H
#define FLATLINE_MALLOC_MISUSE_H

#include <flatline/status.h>

/* Why no live block starts at `address`: FLAT_DOUBLE_FREE, FLAT_INTERIOR_POINTER or FLAT_FOREIGN_POINTER. No bound: it
 * may look at each page of a huge block. */
flat_status flat_judge(const void *address);

/* Says on standard error in one line what `function` was called with, from where, and why that is wrong; then stops the
 * program by abort(), or, if FLATLINE_MISUSE=report, returns, whether anybody could be told or not: the caller leaves
 * everything as it is. `caller`: the address that the call returns to; NULL: it is not known. errno stays. */
void flat_misuse(const char *function, const void *address, flat_status why, const void *caller);

#endif
