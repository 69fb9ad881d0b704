/* Flatline's heap, from the shared library, created with its defaults. */
#include <flatline/heap.h>
#include <flatline/region.h>
#include <flatline/version.h>

#include "../backend.h"

enum { REGION = 2 }; /* times the sum of the blocks: room for fragmentation, as for o1heap */

static flat_heap *heap;
static size_t metadata;

static size_t metadata_bytes(void) { return metadata; }

const bench_traits bench_backend = {
    .driver = "heap", .prefaults = true, .any_size = true, .metadata_bytes = metadata_bytes};

bool bench_prepare(const bench_class *classes, size_t count, bench_pages pages) {
    flat_footprint footprint;
    flat_region_options region = {.lazy = pages == BENCH_LAZY};
    size_t bytes = 0;
    for (size_t c = 0; c < count; c++) {
        size_t block = FLAT_HEAP_GRANULE;
        while (block < classes[c].size) block *= 2;
        bytes += REGION * block * classes[c].count;
    }
    if (flat_heap_footprint(bytes, &footprint) != FLAT_OK) return false;
    metadata = footprint.metadata_bytes;
    return flat_heap_create(&heap, bytes, &region) == FLAT_OK;
}

void *bench_alloc(size_t size) { return flat_heap_alloc(heap, size); }

void bench_free(void *block, size_t size) {
    (void)size;
    (void)flat_heap_free(heap, block);
}

bench_function *bench_code(void) { return (bench_function *)flat_heap_alloc; }

const char *bench_version(void) { return flat_version(); }
