/* The fastest pool known: a LIFO free list whose links are stored in the blocks, without any check. A double free makes
 * a cycle, and a write after a free decides where the next alloc points. That is the price of its speed. */
#include "../backend.h"

#include <flatline/region.h>
#include <flatline/version.h>

#include <stdint.h>

const bench_traits bench_backend = {.driver = "list", .prefaults = true};

typedef struct link {
    struct link *next;
} link;

#define LIST_GRANULE 16
#define LARGEST 8192
static _Thread_local link *heads[LARGEST / LIST_GRANULE + 1]; /* by size in granules, rounded up */

bool bench_prepare(const bench_class *classes, size_t count, bench_pages pages) {
    flat_region_options options = {.lazy = pages == BENCH_LAZY}; /* writing the links faults in the pages that hold
                                                                    them */
    for (size_t c = 0; c < count; c++) {
        flat_region region;
        size_t size = (classes[c].size + LIST_GRANULE - 1) / LIST_GRANULE * LIST_GRANULE;
        if (size > LARGEST) return false;
        if (flat_region_create(&region, size * classes[c].count, LIST_GRANULE, &options) != FLAT_OK) return false;
        for (size_t i = classes[c].count; i-- > 0;) bench_free((char *)region.start + i * size, size);
    }
    return true;
}

void *bench_alloc(size_t size) {
    link **head = &heads[(size + LIST_GRANULE - 1) / LIST_GRANULE];
    link *block = *head;
    if (block == NULL) return NULL;
    *head = block->next;
    return block;
}

void bench_free(void *freed, size_t size) {
    link **head = &heads[(size + LIST_GRANULE - 1) / LIST_GRANULE];
    link *block = freed;
    block->next = *head;
    *head = block;
}

bench_function *bench_code(void) { return (bench_function *)bench_alloc; }

const char *bench_version(void) { return FLAT_VERSION_STRING; }
