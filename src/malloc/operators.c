/* C++'s operators new and delete, all twenty, under the names that the Itanium ABI gives them where size_t is unsigned
 * long. In C, because a program in C must not load the C++ library for them: what they need of it is looked for when
 * the program starts, and is there in every program that could call them. */
#include "usual.h"

#include <flatline/status.h>
#include <stdlib.h>

typedef void new_handler(void);

/* std::get_new_handler and std::__throw_bad_alloc */
new_handler *get_new_handler(void) __asm__("_ZSt15get_new_handlerv") __attribute__((weak));
_Noreturn void throw_bad_alloc(void) __asm__("_ZSt17__throw_bad_allocv") __attribute__((weak));

/* As the standard has it: the handler frees something, or throws, or ends the program, or makes itself another. NULL
 * iff there is none. */
static APART void *try_again(size_t alignment, size_t size) {
    for (;;) {
        new_handler *handler = get_new_handler != NULL ? get_new_handler() : NULL;
        if (handler == NULL) return NULL;
        handler();
        void *block = alignment <= GRANULE ? malloc(size) : aligned_alloc(alignment, size);
        if (block != NULL) return block;
    }
}

static APART void *try_or_throw(size_t alignment, size_t size) {
    void *block = try_again(alignment, size);
    if (block != NULL) return block;
    if (throw_bad_alloc != NULL) throw_bad_alloc();
    abort();
}

static inline void *take(size_t size) {
    void *block = allocate(size);
    return RARE(block == NULL) ? try_or_throw(GRANULE, size) : block;
}

static inline void *take_or_null(size_t size) {
    void *block = allocate(size);
    return RARE(block == NULL) ? try_again(GRANULE, size) : block;
}

static inline void *take_aligned(size_t size, size_t alignment) {
    void *block = aligned_alloc(alignment, size);
    return RARE(block == NULL) ? try_or_throw(alignment, size) : block;
}

static inline void *take_aligned_or_null(size_t size, size_t alignment) {
    void *block = aligned_alloc(alignment, size);
    return RARE(block == NULL) ? try_again(alignment, size) : block;
}

#define OPERATOR(mangled, name, parameters, result, ...)                                                               \
    FLAT_API result name parameters __asm__(mangled);                                                                  \
    result name parameters { __VA_ARGS__; }

OPERATOR("_Znwm", new_one, (size_t size), void *, return take(size))
OPERATOR("_Znam", new_many, (size_t size), void *, return take(size))
OPERATOR("_ZnwmRKSt9nothrow_t", new_one_or_null, (size_t size, const void *tag), void *, (void)tag;
         return take_or_null(size))
OPERATOR("_ZnamRKSt9nothrow_t", new_many_or_null, (size_t size, const void *tag), void *, (void)tag;
         return take_or_null(size))
OPERATOR("_ZnwmSt11align_val_t", new_aligned, (size_t size, size_t to), void *, return take_aligned(size, to))
OPERATOR("_ZnamSt11align_val_t", new_aligned_many, (size_t size, size_t to), void *, return take_aligned(size, to))
OPERATOR("_ZnwmSt11align_val_tRKSt9nothrow_t", new_aligned_or_null, (size_t size, size_t to, const void *tag), void *,
         (void)tag;
         return take_aligned_or_null(size, to))
OPERATOR("_ZnamSt11align_val_tRKSt9nothrow_t", new_aligned_many_or_null, (size_t size, size_t to, const void *tag),
         void *, (void)tag;
         return take_aligned_or_null(size, to))

OPERATOR("_ZdlPv", delete_one, (void *block), void, release(block))
OPERATOR("_ZdaPv", delete_many, (void *block), void, release(block))
OPERATOR("_ZdlPvm", delete_sized, (void *block, size_t size), void, (void)size; release(block))
OPERATOR("_ZdaPvm", delete_sized_many, (void *block, size_t size), void, (void)size; release(block))
OPERATOR("_ZdlPvRKSt9nothrow_t", delete_nothrow, (void *block, const void *tag), void, (void)tag; release(block))
OPERATOR("_ZdaPvRKSt9nothrow_t", delete_nothrow_many, (void *block, const void *tag), void, (void)tag; release(block))
OPERATOR("_ZdlPvSt11align_val_t", delete_aligned, (void *block, size_t to), void, (void)to; release(block))
OPERATOR("_ZdaPvSt11align_val_t", delete_aligned_many, (void *block, size_t to), void, (void)to; release(block))
OPERATOR("_ZdlPvmSt11align_val_t", delete_aligned_sized, (void *block, size_t size, size_t to), void, (void)size,
         (void)to;
         release(block))
OPERATOR("_ZdaPvmSt11align_val_t", delete_aligned_sized_many, (void *block, size_t size, size_t to), void, (void)size,
         (void)to;
         release(block))
OPERATOR("_ZdlPvSt11align_val_tRKSt9nothrow_t", delete_aligned_nothrow, (void *block, size_t to, const void *tag), void,
         (void)to, (void)tag;
         release(block))
OPERATOR("_ZdaPvSt11align_val_tRKSt9nothrow_t", delete_aligned_nothrow_many, (void *block, size_t to, const void *tag),
         void, (void)to, (void)tag;
         release(block))
