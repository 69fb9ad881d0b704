/* Memory that a caller provides, and what an allocator needs of it. */
#ifndef FLATLINE_MEMORY_H
#define FLATLINE_MEMORY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct flat_memory {
    void *start;
    size_t size; /**< bytes */
} flat_memory;

/** What an `..._init` needs: exactly these bytes, at multiples of these powers of two. Metadata and blocks are
 * separate: the blocks can be in a device's memory, or end at a guard page, without the metadata next to them. */
typedef struct flat_footprint {
    size_t metadata_bytes, metadata_alignment, block_bytes, block_alignment;
} flat_footprint;

#ifdef __cplusplus
}
#endif
#endif
