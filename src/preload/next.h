/* The allocator behind a preloaded library that stands before it: the next definition of each function of malloc's
 * family and of each operator new and delete, in the loader's order. */
#ifndef FLATLINE_PRELOAD_NEXT_H
#define FLATLINE_PRELOAD_NEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(member, exported name, result, parameters): those that every C library has. */
#define NEXT_OF_MALLOC(X)                                                                                              \
    X(calloc, "calloc", void *, (size_t, size_t))                                                                      \
    X(realloc, "realloc", void *, (void *, size_t))                                                                    \
    X(free, "free", void, (void *))                                                                                    \
    X(posix_memalign, "posix_memalign", int, (void **, size_t, size_t))                                                \
    X(aligned_alloc, "aligned_alloc", void *, (size_t, size_t))                                                        \
    X(memalign, "memalign", void *, (size_t, size_t))                                                                  \
    X(valloc, "valloc", void *, (size_t))                                                                              \
    X(pvalloc, "pvalloc", void *, (size_t))                                                                            \
    X(reallocarray, "reallocarray", void *, (void *, size_t, size_t))                                                  \
    X(malloc_trim, "malloc_trim", int, (size_t))                                                                       \
    X(malloc, "malloc", void *, (size_t)) /* last: once it is set, all are known */

/* Those of C++, by their names in the Itanium ABI where size_t is unsigned long. NULL while no C++ library that the
 * loader searches has been loaded. */
#define NEXT_OF_NEW(X)                                                                                                 \
    X(new_one, "_Znwm", void *, (size_t))                                                                              \
    X(new_array, "_Znam", void *, (size_t))                                                                            \
    X(new_nothrow, "_ZnwmRKSt9nothrow_t", void *, (size_t, const void *))                                              \
    X(new_array_nothrow, "_ZnamRKSt9nothrow_t", void *, (size_t, const void *))                                        \
    X(new_aligned, "_ZnwmSt11align_val_t", void *, (size_t, size_t))                                                   \
    X(new_array_aligned, "_ZnamSt11align_val_t", void *, (size_t, size_t))                                             \
    X(new_aligned_nothrow, "_ZnwmSt11align_val_tRKSt9nothrow_t", void *, (size_t, size_t, const void *))               \
    X(new_array_aligned_nothrow, "_ZnamSt11align_val_tRKSt9nothrow_t", void *, (size_t, size_t, const void *))

#define NEXT_OF_DELETE(X)                                                                                              \
    X(delete_one, "_ZdlPv", void, (void *))                                                                            \
    X(delete_array, "_ZdaPv", void, (void *))                                                                          \
    X(delete_sized, "_ZdlPvm", void, (void *, size_t))                                                                 \
    X(delete_array_sized, "_ZdaPvm", void, (void *, size_t))                                                           \
    X(delete_nothrow, "_ZdlPvRKSt9nothrow_t", void, (void *, const void *))                                            \
    X(delete_array_nothrow, "_ZdaPvRKSt9nothrow_t", void, (void *, const void *))                                      \
    X(delete_aligned, "_ZdlPvSt11align_val_t", void, (void *, size_t))                                                 \
    X(delete_array_aligned, "_ZdaPvSt11align_val_t", void, (void *, size_t))                                           \
    X(delete_aligned_sized, "_ZdlPvmSt11align_val_t", void, (void *, size_t, size_t))                                  \
    X(delete_array_aligned_sized, "_ZdaPvmSt11align_val_t", void, (void *, size_t, size_t))                            \
    X(delete_aligned_nothrow, "_ZdlPvSt11align_val_tRKSt9nothrow_t", void, (void *, size_t, const void *))             \
    X(delete_array_aligned_nothrow, "_ZdaPvSt11align_val_tRKSt9nothrow_t", void, (void *, size_t, const void *))

#define NEXT_MEMBER(member, name, result, parameters) result(*member) parameters;
struct next_functions {
    NEXT_OF_MALLOC(NEXT_MEMBER)
    NEXT_OF_NEW(NEXT_MEMBER)
    NEXT_OF_DELETE(NEXT_MEMBER)
};
#undef NEXT_MEMBER

/* All members of malloc's family are set iff `next_is_ready()`. */
extern struct next_functions next;

/* Looks the functions up, once. False while that runs, which is before there is a second thread: then the loader itself
 * allocates, and `first_memory_take` serves it. */
bool next_look_up(void);
static inline bool next_is_ready(void) { return __builtin_expect(next.malloc != NULL, 1) || next_look_up(); }

/* Looks up the operators that are still unknown, as after a C++ library was loaded late: first as `next_look_up` does,
 * then in the C++ run time of the library that holds `caller`. Takes the loader's lock: for the rare call only. */
void next_look_up_operators(const void *caller);

/* Memory for the lookup itself, before there is an allocator: 16-byte aligned, zeroed, never given back; 16 KiB in all,
 * then NULL. */
void *first_memory_take(size_t size);
bool first_memory_owns(const void *block);

/* What the functions do that resize a block, as long as there is no allocator, or with a block of the first memory:
 * true, and `moved` is their result. A larger block has the contents of the old one, and of what lies behind it, since
 * the old one's size is not known. */
bool first_memory_resizes(const void *block, size_t size, void **moved);
static inline bool first_memory_resizes_array(const void *block, size_t count, size_t size, void **moved) {
    size_t bytes;
    return first_memory_resizes(block, __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes, moved);
}

#endif
