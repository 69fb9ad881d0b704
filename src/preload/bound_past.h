/* Callers that the loader binds past a preloaded library: those in a library that was opened with RTLD_DEEPBIND, which
 * finds the C library's functions first, and those that look them up in the C library itself, as Python's ctypes do. */
#ifndef FLATLINE_PRELOAD_BOUND_PAST_H
#define FLATLINE_PRELOAD_BOUND_PAST_H

#include "../malloc/c_library.h"

/* From here on such callers find these functions of this library, which has looked up the C library's own. Where
 * another library that comes behind this one has the function too, it stays: that one may look the C library's up
 * later, and would find itself called by what it calls. At most 64 functions. At the start, before a library is opened.
 */
void bound_past_redirect(const object *libc, const c_library_function *functions, size_t count);

#endif
