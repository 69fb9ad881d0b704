/* What the pool tells memory checkers, in the builds that use one; nothing at all in every other build.
 *
 * A checker that only sees one large mapping would take every block for valid for ever. So the pool declares its blocks
 * unaddressable when it is made, each block addressable for exactly the requested bytes while it is with the caller,
 * and unaddressable again when it comes back. Capacity and layout stay what they are in the release build.
 *
 * AddressSanitizer is recognised by the compiler's own macro. Valgrind needs FLATLINE_VALGRIND, which the CMake option
 * of the same name sets; its requests live in src/os/valgrind.c, since core includes no foreign header. */
#ifndef FLATLINE_CORE_INSTRUMENT_H
#define FLATLINE_CORE_INSTRUMENT_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define FLATLINE_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FLATLINE_ADDRESS_SANITIZER 1
#endif
#endif

#if defined(FLATLINE_ADDRESS_SANITIZER)

void __asan_poison_memory_region(void const volatile *start, size_t size);
void __asan_unpoison_memory_region(void const volatile *start, size_t size);

static inline void instrument_begin(const void *pool, void *blocks, size_t size) {
    (void)pool;
    __asan_poison_memory_region(blocks, size);
}
static inline void instrument_end(const void *pool, void *blocks, size_t size) {
    (void)pool;
    __asan_unpoison_memory_region(blocks, size);
}
static inline void instrument_alloc(const void *pool, void *block, size_t size) {
    (void)pool;
    __asan_unpoison_memory_region(block, size != 0 ? size : 1);
}
static inline void instrument_free(const void *pool, void *block, size_t block_size) {
    (void)pool;
    __asan_poison_memory_region(block, block_size);
}
/* The caller has learnt how many bytes it may really use: from now on they all count. */
static inline void instrument_widen(const void *pool, const void *block, size_t block_size) {
    (void)pool;
    __asan_unpoison_memory_region(block, block_size);
}

#elif defined(FLATLINE_VALGRIND)

void flat_instrument_begin(const void *pool, void *blocks, size_t size);
void flat_instrument_end(const void *pool, void *blocks, size_t size);
void flat_instrument_alloc(const void *pool, void *block, size_t size);
void flat_instrument_free(const void *pool, void *block, size_t block_size);
void flat_instrument_widen(const void *pool, const void *block, size_t block_size);
#define instrument_begin flat_instrument_begin
#define instrument_end flat_instrument_end
#define instrument_alloc flat_instrument_alloc
#define instrument_free flat_instrument_free
#define instrument_widen flat_instrument_widen

#else

#define instrument_begin(pool, blocks, size) ((void)(pool), (void)(blocks), (void)(size))
#define instrument_end(pool, blocks, size) ((void)(pool), (void)(blocks), (void)(size))
#define instrument_alloc(pool, block, size) ((void)(pool), (void)(block), (void)(size))
#define instrument_free(pool, block, block_size) ((void)(pool), (void)(block), (void)(block_size))
#define instrument_widen(pool, block, block_size) ((void)(pool), (void)(block), (void)(block_size))

#endif
#endif
