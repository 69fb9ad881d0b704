/* Callers in the process that would reach the C library's own malloc although this one has replaced it. */
#ifndef FLATLINE_MALLOC_NEIGHBOURS_H
#define FLATLINE_MALLOC_NEIGHBOURS_H

#include <stddef.h>

/* glibc's second names of its malloc. Its headers do not declare them, but programs call them. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void *__libc_valloc(size_t size);
void *__libc_pvalloc(size_t size);
void __libc_free(void *block);

/* Runs by itself at the start: see neighbours.c. */
void flat_redirect_c_library(void);

#endif
