/* Those in the process who would reach the C library's own malloc though this one is in its place. */
#ifndef FLATLINE_MALLOC_NEIGHBOURS_H
#define FLATLINE_MALLOC_NEIGHBOURS_H

#include <stddef.h>

/* glibc's second names of its malloc, which its headers do not declare, and programs call all the same. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void *__libc_valloc(size_t size);
void *__libc_pvalloc(size_t size);
void __libc_free(void *block);

/* At the start, by itself: see neighbours.c. */
void flat_redirect_c_library(void);

#endif
