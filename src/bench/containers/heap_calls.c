/* Counts every call of the C library's allocating functions in this process, by any caller: operator new calls them
 * too. Linked into the drivers whose backends must not use the heap. */
#include "../driver/containers.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t calls; /* used by one thread only */

uint64_t bench_heap_calls(void) { return calls; }

/* The C library's own names for its functions. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

#define EXPORT __attribute__((visibility("default")))

EXPORT void *malloc(size_t size) {
    calls++;
    return __libc_malloc(size);
}

EXPORT void *calloc(size_t count, size_t size) {
    calls++;
    return __libc_calloc(count, size);
}

EXPORT void *realloc(void *block, size_t size) {
    calls++;
    return __libc_realloc(block, size);
}

EXPORT void *aligned_alloc(size_t alignment, size_t size) {
    calls++;
    return __libc_memalign(alignment, size);
}

EXPORT int posix_memalign(void **block, size_t alignment, size_t size) {
    calls++;
    *block = __libc_memalign(alignment, size);
    return *block != NULL ? 0 : ENOMEM;
}
