/* The two regions of an allocator that `..._create` makes: its metadata, which is private, and its blocks. */
#ifndef FLATLINE_OS_BACKING_H
#define FLATLINE_OS_BACKING_H

#include <flatline/memory.h>
#include <flatline/region.h>

/* Stored after the metadata, in the same region. */
typedef struct backing {
    flat_region metadata, blocks;
} backing;

/* Maps both, as `need` says; `metadata` and `blocks` get the arguments for `..._init`. Fails as `flat_region_create`
 * does, and then maps nothing and returns no backing. */
flat_status flat_backing_create(backing **made, const flat_footprint *need, const flat_region_options *region,
                                flat_memory *metadata, flat_memory *blocks);

/* Unmaps both, and with them the backing itself. */
void flat_backing_destroy(backing *made);

#endif
