/* Returning a pool's unused pages to the OS. */
#define _GNU_SOURCE
#include "region_plan.h"

#include "../core/pool_state.h"

#include <sys/mman.h>

#define PAGES_ASKED 1024 /* pages per call of mincore */

typedef struct trimming {
    const flat_pool *pool;
    bool shared;
    bool refused;    /* the kernel refused pages */
    size_t returned; /* bytes */
} trimming;

/* Resident pages of [start, start + count pages); 0 if the kernel does not say. */
static size_t count_resident(void *start, size_t count, size_t page) {
    unsigned char there[PAGES_ASKED];
    size_t resident = 0;
    if (mincore(start, count * page, there) != 0) return 0;
    for (size_t i = 0; i < count; i++) resident += there[i] & 1;
    return resident;
}

static void give_back(trimming *trim, char *start, size_t bytes, size_t page) {
    int advice = trim->shared ? MADV_REMOVE : MADV_DONTNEED;
    while (bytes > 0 && !trim->refused) {
        size_t chunk = bytes < PAGES_ASKED * page ? bytes : PAGES_ASKED * page;
        size_t resident = count_resident(start, chunk / page, page);
        trim->refused = madvise(start, chunk, advice) != 0;
        if (!trim->refused) trim->returned += resident * page;
        start += chunk;
        bytes -= chunk;
    }
}

/* Trims the whole pages in a stretch of free memory. The memory around the blocks on their first and last page is
 * slack. */
static void trim_stretch(void *context, uintptr_t start, size_t bytes) {
    trimming *trim = context;
    size_t page = flat_base_page();
    uintptr_t end = start + bytes;
    bool first = start == trim->pool->start, last = end == trim->pool->start + trim->pool->length;
    start = first ? start / page * page : flat_round_up(start, page);
    end = last ? flat_round_up(end, page) : end / page * page;
    if (start < end) give_back(trim, (char *)start, end - start, page);
}

flat_status flat_pool_trim(flat_pool *pool, size_t *returned_bytes) {
    const flat_region *blocks = flat_pool_region(pool);
    if (blocks == NULL || !blocks->can_trim) return FLAT_INVALID_ARGUMENT;
    trimming trim = {.pool = pool, .shared = blocks->shared};
    flat_pool_visit_free(pool, trim_stretch, &trim);
    if (returned_bytes != NULL) *returned_bytes = trim.returned;
    return trim.refused ? FLAT_UNAVAILABLE : FLAT_OK;
}
