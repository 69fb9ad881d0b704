/* What the pool tells memory checkers, in builds that use one. In every other build it is empty.
 *
 * A checker that only sees one large mapping would regard every block as valid for ever. So the pool declares its
 * blocks unaddressable when it is made. A block becomes addressable, for exactly the requested bytes, when it is
 * allocated, and unaddressable again when it is freed. Capacity and layout are the same as in the release build.
 *
 * <flatline/sanitizer.h> detects AddressSanitizer. Valgrind needs FLATLINE_VALGRIND, which the CMake option of the same
 * name sets; its requests are in src/os/valgrind.c, since core includes no foreign header. */
#ifndef FLATLINE_CORE_INSTRUMENT_H
#define FLATLINE_CORE_INSTRUMENT_H

#include <flatline/sanitizer.h>
#include <stddef.h>
#include <stdint.h>

#if defined(FLAT_ADDRESS_SANITIZER)

static inline void instrument_begin(const void *pool, void *blocks, size_t size) {
    (void)pool;
    flat_sanitizer_close(blocks, size);
}
static inline void instrument_end(const void *pool, void *blocks, size_t size) {
    (void)pool;
    flat_sanitizer_open(blocks, size);
}
static inline void instrument_alloc(const void *pool, void *block, size_t size) {
    (void)pool;
    flat_sanitizer_open(block, size != 0 ? size : 1);
}
static inline void instrument_free(const void *pool, void *block, size_t block_size) {
    (void)pool;
    flat_sanitizer_close(block, block_size);
}
/* The block now has `size` bytes of its `block_size`, and keeps their content. */
static inline void instrument_resize(const void *pool, const void *block, size_t block_size, size_t size) {
    (void)pool;
    __asan_poison_memory_region(block, block_size);
    __asan_unpoison_memory_region(block, size != 0 ? size : 1);
}
/* The caller has asked for the usable size: from now on all bytes of the block are addressable. */
static inline void instrument_widen(const void *pool, const void *block, size_t block_size) {
    (void)pool;
    flat_sanitizer_open(block, block_size);
}

#elif defined(FLATLINE_VALGRIND)

void flat_instrument_begin(const void *pool, void *blocks, size_t size);
void flat_instrument_end(const void *pool, void *blocks, size_t size);
void flat_instrument_alloc(const void *pool, void *block, size_t size);
void flat_instrument_free(const void *pool, void *block, size_t block_size);
void flat_instrument_resize(const void *pool, const void *block, size_t block_size, size_t size);
void flat_instrument_widen(const void *pool, const void *block, size_t block_size);
#define instrument_begin flat_instrument_begin
#define instrument_end flat_instrument_end
#define instrument_alloc flat_instrument_alloc
#define instrument_free flat_instrument_free
#define instrument_resize flat_instrument_resize
#define instrument_widen flat_instrument_widen

#else

#define instrument_begin(pool, blocks, size) ((void)(pool), (void)(blocks), (void)(size))
#define instrument_end(pool, blocks, size) ((void)(pool), (void)(blocks), (void)(size))
#define instrument_alloc(pool, block, size) ((void)(pool), (void)(block), (void)(size))
#define instrument_free(pool, block, block_size) ((void)(pool), (void)(block), (void)(block_size))
#define instrument_claim(pool, word, live, block, block_size) ((void)(pool), (void)(word), (void)(block))
#define instrument_resize(pool, block, block_size, size) ((void)(pool), (void)(block), (void)(block_size), (void)(size))
#define instrument_widen(pool, block, block_size) ((void)(pool), (void)(block), (void)(block_size))

#endif

#if defined(FLAT_ADDRESS_SANITIZER) || defined(FLATLINE_VALGRIND)
/* The block is about to be freed, perhaps by a thread that is not its owner, iff its word says `live`. */
static inline void instrument_claim(const void *pool, const uint32_t *word, uint32_t live, void *block,
                                    size_t block_size) {
    if (__atomic_load_n(word, __ATOMIC_RELAXED) == live) instrument_free(pool, block, block_size);
}
#endif

#endif
