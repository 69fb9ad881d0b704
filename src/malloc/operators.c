/* C++'s operators new and delete, all twenty, under the names of the Itanium ABI where size_t is unsigned long. If
 * there is no memory at once, the operator of the C++ runtime is called: it asks malloc and the new handler, and can
 * throw and catch. If the runtime has none, because it was linked into the program, which then has these operators
 * instead, the same is done here. */
#include "exceptions.h"
#include "replaced.h"
#include "say.h"
#include "usual.h"

#include <flatline/status.h>
#include <stdlib.h>

typedef void new_handler(void);

/* std::get_new_handler */
new_handler *get_new_handler(void) __asm__("_ZSt15get_new_handlerv") __attribute__((weak));

/* As the standard says: the handler frees something, throws, ends the program, or installs another handler. NULL iff
 * there is none. */
static void *try_again(flat_any_function *by, size_t alignment, size_t size) {
    (void)by;
    for (;;) {
        new_handler *handler = get_new_handler != NULL ? get_new_handler() : NULL;
        if (handler == NULL) return NULL;
        handler();
        void *block = alignment <= GRANULE ? malloc(size) : aligned_alloc(alignment, size);
        if (block != NULL) return block;
    }
}

typedef void *plain(size_t size);
typedef void *aligned(size_t size, size_t alignment);
typedef void *nothrow(size_t size, const void *tag);
typedef void *aligned_nothrow(size_t size, size_t alignment, const void *tag);

/* Also too large, and no runtime can make it small by rounding it up. */
static size_t no_wrap(size_t size) { return size < PTRDIFF_MAX ? size : PTRDIFF_MAX; }

static NOINLINE void *try_or_throw(size_t alignment, size_t size, const void *caller) {
    bool usual = alignment <= GRANULE;
    flat_any_function *own = flat_runtime_function(usual ? "_Znwm" : "_ZnwmSt11align_val_t", caller);
    if (own != NULL) return usual ? ((plain *)own)(size) : ((aligned *)own)(no_wrap(size), alignment);
    void *block = try_again(NULL, alignment, size);
    if (block != NULL) return block;
    flat_throw_bad_alloc();
    static const char line[] = "flatline-malloc: operator new: there is no memory, and no C++ library to throw "
                               "std::bad_alloc by: link libstdc++ as a shared library\n";
    flat_say(line, sizeof line - 1);
    abort();
}

static NOINLINE void *try_or_null(size_t alignment, size_t size, const void *tag, const void *caller) {
    bool usual = alignment <= GRANULE;
    flat_any_function *own =
        flat_runtime_function(usual ? "_ZnwmRKSt9nothrow_t" : "_ZnwmSt11align_val_tRKSt9nothrow_t", caller);
    if (own == NULL) return flat_take_or_null(try_again, NULL, alignment, size);
    return usual ? ((nothrow *)own)(size, tag) : ((aligned_nothrow *)own)(no_wrap(size), alignment, tag);
}

ALWAYS_INLINE void *take(size_t size) {
    void *block = fast_malloc(size);
    return UNLIKELY(block == NULL) ? try_or_throw(GRANULE, size, CALLER) : block;
}

ALWAYS_INLINE void *take_or_null(size_t size, const void *tag) {
    void *block = fast_malloc(size);
    return UNLIKELY(block == NULL) ? try_or_null(GRANULE, size, tag, CALLER) : block;
}

ALWAYS_INLINE void *take_aligned(size_t size, size_t alignment) {
    void *block = aligned_alloc(alignment, size);
    return UNLIKELY(block == NULL) ? try_or_throw(alignment, size, CALLER) : block;
}

ALWAYS_INLINE void *take_aligned_or_null(size_t size, size_t alignment, const void *tag) {
    void *block = aligned_alloc(alignment, size);
    return UNLIKELY(block == NULL) ? try_or_null(alignment, size, tag, CALLER) : block;
}

static void *take_by(flat_any_function *by, size_t alignment, size_t size) {
    return alignment == 0 ? ((plain *)by)(size) : ((aligned *)by)(size, alignment);
}

typedef void delete_plain(void *block);
typedef void delete_to(void *block, size_t alignment);

/* Calls the program's own `base` or `below`, if the program has replaced one of them that this operator is built on. A
 * separate function and a tail call: the path around it costs one comparison. */
static NOINLINE void *ask_new(base_operator base, base_operator below, size_t size) {
    flat_any_function *own = flat_replaced_operator(base, below);
    return own != NULL ? ((plain *)own)(size) : take(size);
}

static NOINLINE void *ask_new_or_null(base_operator base, base_operator below, size_t size, const void *tag) {
    flat_any_function *own = flat_replaced_operator(base, below);
    return own != NULL ? flat_take_or_null(take_by, own, 0, size) : take_or_null(size, tag);
}

static NOINLINE void *ask_new_aligned(base_operator base, base_operator below, size_t size, size_t to) {
    flat_any_function *own = flat_replaced_operator(base, below);
    return own != NULL ? ((aligned *)own)(size, to) : take_aligned(size, to);
}

static NOINLINE void *ask_new_aligned_or_null(base_operator base, base_operator below, size_t size, size_t to,
                                              const void *tag) {
    flat_any_function *own = flat_replaced_operator(base, below);
    return own != NULL ? flat_take_or_null(take_by, own, to, size) : take_aligned_or_null(size, to, tag);
}

static NOINLINE void ask_delete(base_operator base, base_operator below, void *block) {
    flat_any_function *own = flat_replaced_operator(base, below);
    if (own == NULL)
        fast_free(block);
    else
        ((delete_plain *)own)(block);
}

static NOINLINE void ask_delete_aligned(base_operator base, base_operator below, void *block, size_t to) {
    flat_any_function *own = flat_replaced_operator(base, below);
    if (own == NULL)
        fast_free(block);
    else
        ((delete_to *)own)(block, to);
}

#define MAYBE UNLIKELY(flat_may_be_replaced)
#define OR_RELEASE(ask)                                                                                                \
    if (MAYBE)                                                                                                         \
        ask;                                                                                                           \
    else                                                                                                               \
        fast_free(block)

/* Weak: from an archive, a program's own operators replace them one by one. */
#define OPERATOR(mangled, name, parameters, result, ...)                                                               \
    static USUAL result name parameters { __VA_ARGS__; }                                                               \
    FLAT_API USUAL result name##_linked parameters __asm__(mangled) __attribute__((weak, alias(#name)));

OPERATOR("_Znwm", new_one, (size_t size), void *, return take(size))
OPERATOR("_ZnwmSt11align_val_t", new_aligned, (size_t size, size_t to), void *, return take_aligned(size, to))
OPERATOR("_Znam", new_many, (size_t size), void *, return MAYBE ? ask_new(NEW, NEW, size) : take(size))
OPERATOR("_ZnamSt11align_val_t", new_aligned_many, (size_t size, size_t to), void *,
         return MAYBE ? ask_new_aligned(NEW_ALIGNED, NEW_ALIGNED, size, to) : take_aligned(size, to))

OPERATOR("_ZnwmRKSt9nothrow_t", new_one_or_null, (size_t size, const void *tag), void *,
         return MAYBE ? ask_new_or_null(NEW, NEW, size, tag) : take_or_null(size, tag))
OPERATOR("_ZnamRKSt9nothrow_t", new_many_or_null, (size_t size, const void *tag), void *,
         return MAYBE ? ask_new_or_null(NEW_MANY, NEW, size, tag) : take_or_null(size, tag))
OPERATOR("_ZnwmSt11align_val_tRKSt9nothrow_t", new_aligned_or_null, (size_t size, size_t to, const void *tag), void *,
         return MAYBE ? ask_new_aligned_or_null(NEW_ALIGNED, NEW_ALIGNED, size, to, tag)
                      : take_aligned_or_null(size, to, tag))
OPERATOR("_ZnamSt11align_val_tRKSt9nothrow_t", new_aligned_many_or_null, (size_t size, size_t to, const void *tag),
         void *,
         return MAYBE ? ask_new_aligned_or_null(NEW_ALIGNED_MANY, NEW_ALIGNED, size, to, tag)
                      : take_aligned_or_null(size, to, tag))

OPERATOR("_ZdlPv", delete_one, (void *block), void, fast_free(block))
OPERATOR("_ZdaPv", delete_many, (void *block), void, OR_RELEASE(ask_delete(DELETE, DELETE, block)))
OPERATOR("_ZdlPvm", delete_sized, (void *block, size_t size), void, (void)size;
         OR_RELEASE(ask_delete(DELETE, DELETE, block)))
OPERATOR("_ZdaPvm", delete_sized_many, (void *block, size_t size), void, (void)size;
         OR_RELEASE(ask_delete(DELETE_MANY, DELETE, block)))
OPERATOR("_ZdlPvRKSt9nothrow_t", delete_nothrow, (void *block, const void *tag), void, (void)tag;
         OR_RELEASE(ask_delete(DELETE, DELETE, block)))
OPERATOR("_ZdaPvRKSt9nothrow_t", delete_nothrow_many, (void *block, const void *tag), void, (void)tag;
         OR_RELEASE(ask_delete(DELETE_MANY, DELETE, block)))
OPERATOR("_ZdlPvSt11align_val_t", delete_aligned, (void *block, size_t to), void, (void)to; fast_free(block))
OPERATOR("_ZdaPvSt11align_val_t", delete_aligned_many, (void *block, size_t to), void,
         OR_RELEASE(ask_delete_aligned(DELETE_ALIGNED, DELETE_ALIGNED, block, to)))
OPERATOR("_ZdlPvmSt11align_val_t", delete_aligned_sized, (void *block, size_t size, size_t to), void, (void)size;
         OR_RELEASE(ask_delete_aligned(DELETE_ALIGNED, DELETE_ALIGNED, block, to)))
OPERATOR("_ZdaPvmSt11align_val_t", delete_aligned_sized_many, (void *block, size_t size, size_t to), void, (void)size;
         OR_RELEASE(ask_delete_aligned(DELETE_ALIGNED_MANY, DELETE_ALIGNED, block, to)))
OPERATOR("_ZdlPvSt11align_val_tRKSt9nothrow_t", delete_aligned_nothrow, (void *block, size_t to, const void *tag), void,
         (void)tag;
         OR_RELEASE(ask_delete_aligned(DELETE_ALIGNED, DELETE_ALIGNED, block, to)))
OPERATOR("_ZdaPvSt11align_val_tRKSt9nothrow_t", delete_aligned_nothrow_many, (void *block, size_t to, const void *tag),
         void, (void)tag;
         OR_RELEASE(ask_delete_aligned(DELETE_ALIGNED_MANY, DELETE_ALIGNED, block, to)))

#define ADDRESSES(name) {(flat_any_function *)name, (flat_any_function *)name##_linked}
const operator_addresses flat_base_operators[BASE_OPERATORS] = {
    [NEW] = ADDRESSES(new_one),
    [NEW_MANY] = ADDRESSES(new_many),
    [NEW_ALIGNED] = ADDRESSES(new_aligned),
    [NEW_ALIGNED_MANY] = ADDRESSES(new_aligned_many),
    [DELETE] = ADDRESSES(delete_one),
    [DELETE_MANY] = ADDRESSES(delete_many),
    [DELETE_ALIGNED] = ADDRESSES(delete_aligned),
    [DELETE_ALIGNED_MANY] = ADDRESSES(delete_aligned_many),
};
