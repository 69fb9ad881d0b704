/* malloc's family and operator new and delete: in a section each call is reported, and what it does itself is not. */
#define _GNU_SOURCE
#include "state.h"
#include "violations.h"

#include "../core/compiler.h"
#include "../preload/next.h"

#include <errno.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

/* From a report to the end of the call, in whatever way it ends: operator new may throw. */
static void end_told(const bool *is_told) {
    if (*is_told) guard_resume();
}
#define TELL(kind, condition)                                                                                          \
    __attribute__((cleanup(end_told))) const bool is_told = guard_watches() && (condition);                            \
    if (UNLIKELY(is_told)) guard_tell(kind, 0, CALLER);

EXPORT void *malloc(size_t size) {
    if (!next_is_ready()) return first_memory_take(size);
    TELL(GUARD_MALLOC, true)
    return next.malloc(size);
}

EXPORT void *calloc(size_t count, size_t size) {
    size_t bytes;
    const bool wraps = __builtin_mul_overflow(count, size, &bytes);
    if (!next_is_ready()) return wraps ? NULL : first_memory_take(bytes);
    TELL(GUARD_MALLOC, true)
    return next.calloc(count, size);
}

/* One that frees its block and returns none is a free. */
EXPORT void *realloc(void *block, size_t size) {
    void *moved;
    if (UNLIKELY(first_memory_resizes(block, size, &moved))) return moved;
    TELL(block != NULL && size == 0 ? GUARD_FREE : GUARD_MALLOC, true)
    return next.realloc(block, size);
}

EXPORT void *reallocarray(void *block, size_t count, size_t size) {
    void *moved;
    if (UNLIKELY(first_memory_resizes_array(block, count, size, &moved))) return moved;
    TELL(GUARD_MALLOC, true)
    return next.reallocarray(block, count, size);
}

EXPORT void free(void *block) {
    if (first_memory_owns(block) || !next_is_ready()) return;
    TELL(GUARD_FREE, block != NULL)
    next.free(block);
}

EXPORT int posix_memalign(void **block, size_t alignment, size_t size) {
    if (!next_is_ready()) return ENOMEM;
    TELL(GUARD_MALLOC, true)
    return next.posix_memalign(block, alignment, size);
}

#define ALIGNED(name)                                                                                                  \
    EXPORT void *name(size_t alignment, size_t size);                                                                  \
    EXPORT void *name(size_t alignment, size_t size) {                                                                 \
        if (!next_is_ready()) return NULL;                                                                             \
        TELL(GUARD_MALLOC, true)                                                                                       \
        return next.name(alignment, size);                                                                             \
    }
ALIGNED(memalign)
ALIGNED(aligned_alloc)

/* Functions that other allocators may lack: then nothing that would call them is loaded. */
#define PAGE_ALIGNED(name)                                                                                             \
    EXPORT void *name(size_t size);                                                                                    \
    EXPORT void *name(size_t size) {                                                                                   \
        if (!next_is_ready() || next.name == NULL) return NULL;                                                        \
        TELL(GUARD_MALLOC, true)                                                                                       \
        return next.name(size);                                                                                        \
    }
PAGE_ALIGNED(valloc)
PAGE_ALIGNED(pvalloc)

/* The C++ library may have been loaded late. Where none is found at all, malloc serves, as for a program that uses the
 * operators without one. */
#define NEW(mangled, member, parameters, arguments, otherwise)                                                         \
    EXPORT void *mangled parameters;                                                                                   \
    EXPORT void *mangled parameters {                                                                                  \
        if (!next_is_ready()) return first_memory_take(size);                                                          \
        TELL(GUARD_MALLOC, true)                                                                                       \
        if (UNLIKELY(next.member == NULL)) next_look_up_operators(CALLER);                                             \
        return next.member != NULL ? next.member arguments : (otherwise);                                              \
    }
NEW(_Znwm, new_one, (size_t size), (size), next.malloc(size))
NEW(_Znam, new_array, (size_t size), (size), next.malloc(size))
NEW(_ZnwmRKSt9nothrow_t, new_nothrow, (size_t size, const void *tag), (size, tag), next.malloc(size))
NEW(_ZnamRKSt9nothrow_t, new_array_nothrow, (size_t size, const void *tag), (size, tag), next.malloc(size))
NEW(_ZnwmSt11align_val_t, new_aligned, (size_t size, size_t to), (size, to), next.memalign(to, size))
NEW(_ZnamSt11align_val_t, new_array_aligned, (size_t size, size_t to), (size, to), next.memalign(to, size))
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, new_aligned_nothrow, (size_t size, size_t to, const void *tag), (size, to, tag),
    next.memalign(to, size))
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, new_array_aligned_nothrow, (size_t size, size_t to, const void *tag),
    (size, to, tag), next.memalign(to, size))

#define DELETE(mangled, member, parameters, arguments)                                                                 \
    EXPORT void mangled parameters;                                                                                    \
    EXPORT void mangled parameters {                                                                                   \
        if (first_memory_owns(block) || !next_is_ready()) return;                                                      \
        TELL(GUARD_FREE, block != NULL)                                                                                \
        if (UNLIKELY(next.member == NULL)) next_look_up_operators(CALLER);                                             \
        if (next.member != NULL)                                                                                       \
            next.member arguments;                                                                                     \
        else                                                                                                           \
            next.free(block);                                                                                          \
    }
DELETE(_ZdlPv, delete_one, (void *block), (block))
DELETE(_ZdaPv, delete_array, (void *block), (block))
DELETE(_ZdlPvm, delete_sized, (void *block, size_t size), (block, size))
DELETE(_ZdaPvm, delete_array_sized, (void *block, size_t size), (block, size))
DELETE(_ZdlPvRKSt9nothrow_t, delete_nothrow, (void *block, const void *tag), (block, tag))
DELETE(_ZdaPvRKSt9nothrow_t, delete_array_nothrow, (void *block, const void *tag), (block, tag))
DELETE(_ZdlPvSt11align_val_t, delete_aligned, (void *block, size_t to), (block, to))
DELETE(_ZdaPvSt11align_val_t, delete_array_aligned, (void *block, size_t to), (block, to))
DELETE(_ZdlPvmSt11align_val_t, delete_aligned_sized, (void *block, size_t size, size_t to), (block, size, to))
DELETE(_ZdaPvmSt11align_val_t, delete_array_aligned_sized, (void *block, size_t size, size_t to), (block, size, to))
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, delete_aligned_nothrow, (void *block, size_t to, const void *tag),
       (block, to, tag))
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, delete_array_aligned_nothrow, (void *block, size_t to, const void *tag),
       (block, to, tag))
