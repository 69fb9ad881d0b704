/* What operator new needs of a C++ runtime, in a library that must not load one. Programs in C++ bring theirs, which
 * may be libstdc++ or libc++, shared or part of the program, and may come late, with a plugin of a program in C. */
#ifndef FLATLINE_MALLOC_EXCEPTIONS_H
#define FLATLINE_MALLOC_EXCEPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void flat_any_function(void); /* to be cast to what it is */

/* A function of the shared C++ runtime that serves `caller`: the one that the caller's program or library is or needs;
 * else the first one loaded. NULL: there is none, or it has no such function. */
flat_any_function *flat_runtime_function(const char *name, const void *caller);

/* The rest goes by what was there when this library was loaded, or was linked with it. */

/* By an operator new, or NULL if it takes none. */
typedef void *flat_taker(flat_any_function *by, size_t alignment, size_t size);

#ifdef FLATLINE_WITHOUT_CXX /* nothing can be caught or thrown: the project that this is a part of has no compiler of  \
                               C++ */
static inline void *flat_take_or_null(flat_taker *take, flat_any_function *by, size_t alignment, size_t size) {
    return take(by, alignment, size);
}
static inline void flat_throw_bad_alloc(void) {}
#else
/* What `take` returns; NULL where it throws. Where there is nothing to catch with, whatever it throws goes on. */
void *flat_take_or_null(flat_taker *take, flat_any_function *by, size_t alignment, size_t size);

/* Throws std::bad_alloc; returns iff there is nothing to throw with. */
void flat_throw_bad_alloc(void);
#endif

#ifdef __cplusplus
}
#endif
#endif
