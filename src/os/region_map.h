/* Maps a planned region between its guards. */
#ifndef FLATLINE_OS_REGION_MAP_H
#define FLATLINE_OS_REGION_MAP_H

#include "region_plan.h"

/* Maps and settles the plan; on failure nothing stays mapped. */
flat_status flat_map_plan(flat_region *region, const region_plan *plan);

/* Unmaps a mapping, guards included. */
void flat_unmap_region(char *mapping, size_t mapping_size, char *body, size_t body_size);

#endif
