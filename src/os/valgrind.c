/* The calls of src/core/instrument.h for Valgrind's memcheck: the pool is a memory pool, whose blocks are allocated and
 * freed. */
#include "../core/instrument.h"

#include <stdint.h>
#include <valgrind/memcheck.h>

void flat_instrument_begin(const void *pool, void *blocks, size_t size) {
    VALGRIND_CREATE_MEMPOOL(pool, 0, 0);
    VALGRIND_MAKE_MEM_NOACCESS(blocks, size);
}

void flat_instrument_end(const void *pool, void *blocks, size_t size) {
    VALGRIND_DESTROY_MEMPOOL(pool);
    VALGRIND_MAKE_MEM_UNDEFINED(blocks, size);
}

void flat_instrument_alloc(const void *pool, void *block, size_t size) {
    VALGRIND_MEMPOOL_ALLOC(pool, block, size != 0 ? size : 1);
}

void flat_instrument_free(const void *pool, void *block, size_t block_size) {
    (void)block_size;
    VALGRIND_MEMPOOL_FREE(pool, block);
}

/* Only the bytes after the requested ones change, from unaddressable to undefined; memcheck knows where they begin. */
void flat_instrument_widen(const void *pool, const void *block, size_t block_size) {
    VALGRIND_DISABLE_ERROR_REPORTING;
    uintptr_t first = VALGRIND_CHECK_MEM_IS_ADDRESSABLE(block, block_size);
    VALGRIND_ENABLE_ERROR_REPORTING;
    if (first == 0) return;
    VALGRIND_MEMPOOL_CHANGE(pool, block, block, block_size);
    VALGRIND_MAKE_MEM_UNDEFINED(first, (uintptr_t)block + block_size - first);
}

void flat_instrument_resize(const void *pool, const void *block, size_t block_size, size_t size) {
    flat_instrument_widen(pool, block, block_size);
    size_t used = size != 0 ? size : 1;
    VALGRIND_MEMPOOL_CHANGE(pool, block, block, used);
    VALGRIND_MAKE_MEM_NOACCESS((const char *)block + used, block_size - used);
}
