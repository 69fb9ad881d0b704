/* If one malloc frees a block of another, the program ends, or worse. Callers of malloc by name get this one, because
 * it comes first in the dynamic linker's search. Two searches begin elsewhere and end at the C library's malloc: that
 * of a library opened with RTLD_DEEPBIND, as php opens its extensions, and dlsym() in the C library itself, as Python's
 * ctypes calls it. So the C library's symbol table, in this process's memory, is changed: for each function of malloc
 * it says where this library has it. This is done in one piece or not at all, at the start, and only if this malloc is
 * the program's: not if it is opened late, next to another. */
#define _GNU_SOURCE
#include "neighbours.h"

#include "c_library.h"

#include <flatline/status.h>

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

FLAT_API void *__libc_malloc(size_t size) { return malloc(size); }
FLAT_API void *__libc_calloc(size_t count, size_t size) { return calloc(count, size); }
FLAT_API void *__libc_realloc(void *block, size_t size) { return realloc(block, size); }
FLAT_API void *__libc_memalign(size_t alignment, size_t size) { return memalign(alignment, size); }
FLAT_API void *__libc_valloc(size_t size) { return valloc(size); }
FLAT_API void *__libc_pvalloc(size_t size) { return pvalloc(size); }
FLAT_API void __libc_free(void *block) { free(block); }

/* All that glibc's malloc exports. Names that a glibc lacks are skipped. Old programs know free by another name as
 * well, which must not be exported here: libraries have functions of their own with that name. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* mallinfo, which programs call nevertheless */
#define BY_NAME(name, function) {name, (uintptr_t)&function}
#define FUNCTION(name) BY_NAME(#name, name)
static const c_library_function functions[] = {FUNCTION(malloc),
                                               FUNCTION(free),
                                               FUNCTION(calloc),
                                               FUNCTION(realloc),
                                               FUNCTION(reallocarray),
                                               FUNCTION(memalign),
                                               FUNCTION(aligned_alloc),
                                               FUNCTION(posix_memalign),
                                               FUNCTION(valloc),
                                               FUNCTION(pvalloc),
                                               BY_NAME("cfree", free),
                                               FUNCTION(malloc_usable_size),
                                               FUNCTION(malloc_trim),
                                               FUNCTION(mallinfo),
                                               FUNCTION(mallinfo2),
                                               FUNCTION(malloc_info),
                                               FUNCTION(malloc_stats),
                                               FUNCTION(mallopt),
                                               FUNCTION(__libc_malloc),
                                               FUNCTION(__libc_free),
                                               FUNCTION(__libc_calloc),
                                               FUNCTION(__libc_realloc),
                                               FUNCTION(__libc_memalign),
                                               FUNCTION(__libc_valloc),
                                               FUNCTION(__libc_pvalloc),
                                               BY_NAME("__libc_reallocarray", reallocarray),
                                               BY_NAME("__libc_mallinfo", mallinfo),
                                               BY_NAME("__libc_mallopt", mallopt)};
__attribute__((constructor)) void flat_redirect_c_library(void) {
    const int error = errno;
    object libc;
    if (flat_c_library_find(&libc, (uintptr_t)&flat_redirect_c_library))
        (void)flat_c_library_change(&libc, functions, sizeof functions / sizeof *functions);
    errno = error;
}
