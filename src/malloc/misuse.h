/* What happens when a program frees, resizes or asks the size of an address at which no live block starts. */
#ifndef FLATLINE_MALLOC_MISUSE_H
#define FLATLINE_MALLOC_MISUSE_H

#include <flatline/status.h>

/* Why no live block starts at `address`: FLAT_DOUBLE_FREE, FLAT_INTERIOR_POINTER or FLAT_FOREIGN_POINTER. No bound: it
 * may look at each page of a huge block. */
flat_status flat_judge(const void *address);

/* Prints one line to stderr: what `function` was called with, from where, and why that is wrong. Then it stops the
 * program by abort(). If FLATLINE_MISUSE=report it returns instead, whether the line could be written or not, and the
 * caller leaves everything as it is. `caller`: the address that the call returns to; NULL: unknown. errno does not
 * change. */
void flat_misuse(const char *function, const void *address, flat_status why, const void *caller);

#endif
