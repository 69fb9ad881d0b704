/* Regions: where a pool's memory comes from on a hosted system.
 *
 *     [ guard | ......... slack | start: size bytes | slack < alignment | guard ]
 *
 * A region is a private anonymous mapping between two guard pages: a write that runs off either end of the mapping
 * stops the program instead of reaching a neighbour. `start` is placed as close to the upper guard as its alignment
 * allows; where `size` is a multiple of `alignment`, the byte behind the region is the guard.
 *
 * Functions here call the system. They are for start-up and shut-down, and have no bounded worst case. */
#ifndef FLATLINE_REGION_H
#define FLATLINE_REGION_H

#include <flatline/status.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct flat_region {
    void *start;         /**< first usable byte */
    size_t size;         /**< usable bytes, as asked for */
    void *mapping;       /**< what `flat_region_destroy` gives back, guards included */
    size_t mapping_size; /**< bytes */
} flat_region;

/** Zero in a member is its default. */
typedef struct flat_region_options {
    /** false: every page is resident and written before `flat_region_create` returns, so that no later access faults.
     * true: pages come with the first access, each at the price of a page fault. */
    bool lazy;
    /** false: transparent huge pages where the system grants them while the region is created; afterwards the kernel is
     * told to leave the pages as they are, since a later collapse would stall the program. true: base pages only.
     * Without effect on lazy regions, which follow the system's setting. */
    bool base_pages;
} flat_region_options;

/** Maps `size` bytes (1 .. PTRDIFF_MAX / 2) at a multiple of `alignment` (a power of two up to 2 MiB) and describes
 * them in `*region`. `options` NULL stands for all defaults. Any thread. FLAT_INVALID_ARGUMENT iff `region` is NULL, or
 * `size` or `alignment` is out of its range; FLAT_OUT_OF_MEMORY iff the system refuses the mapping or cannot make it
 * resident. On failure `*region` is left as it was. */
FLAT_API FLAT_NODISCARD flat_status flat_region_create(flat_region *region, size_t size, size_t alignment,
                                                       const flat_region_options *options);

/** Gives the mapping back and clears `*region`. NULL, or a region that is clear already, is left alone. No thread may
 * use the memory any more. */
FLAT_API void flat_region_destroy(flat_region *region);

#ifdef __cplusplus
}
#endif
#endif
