/* What operator new needs from a C++ runtime, in a library that must not load one. C++ programs bring their own:
 * libstdc++ or libc++, shared or part of the program. It may also come late, with a plugin of a C program. */
#ifndef FLATLINE_MALLOC_EXCEPTIONS_H
#define FLATLINE_MALLOC_EXCEPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void flat_any_function(void); /* cast it to its real type */

/* Returns a function of the shared C++ runtime that serves `caller`: the one that the caller's program or library is or
 * needs, else the first one loaded. NULL: there is none, or it has no such function. */
flat_any_function *flat_runtime_function(const char *name, const void *caller);

/* The rest depends on the C++ runtime that was there when this library was loaded, or that was linked with it. */

/* `by`: the operator new to call; NULL if the taker calls none. */
typedef void *flat_taker(flat_any_function *by, size_t alignment, size_t size);

#ifdef FLATLINE_WITHOUT_CXX /* the enclosing project has no C++ compiler: nothing can be caught or thrown */
static inline void *flat_take_or_null(flat_taker *take, flat_any_function *by, size_t alignment, size_t size) {
    return take(by, alignment, size);
}
static inline void flat_throw_bad_alloc(void) {}
#else
/* Returns what `take` returns; NULL if it throws. If there is nothing to catch with, its exceptions pass through. */
void *flat_take_or_null(flat_taker *take, flat_any_function *by, size_t alignment, size_t size);

/* Throws std::bad_alloc; returns iff there is nothing to throw with. */
void flat_throw_bad_alloc(void);
#endif

#ifdef __cplusplus
}
#endif
#endif
