/* The bounded functions: alloc, aligned alloc and free. None has a loop or calls anything, and the jumps of alloc and
 * free all go forward. Those that continue elsewhere do so by a jump, as their last step. */
#include "pool_steps.h"

#include <flatline/bounded.h>

void *flat_pool_alloc(flat_pool *pool, size_t size) { return alloc_steps(pool, &(request){.size = size}); }
FLAT_BOUNDED("flat_pool_alloc");

void *flat_pool_alloc_or_else(flat_pool *pool, size_t size, size_t alignment, flat_pool_otherwise *otherwise) {
    return alloc_steps(pool, &(request){size, alignment, otherwise});
}
FLAT_BOUNDED("flat_pool_alloc_or_else hands-over=2");

void *flat_pool_aligned_alloc(flat_pool *pool, size_t alignment, size_t size) {
    pool_class *class = class_for_aligned(pool, alignment, size);
    if (class == NULL) return NULL;
    return take_from(pool, class, &(request){.size = size});
}
FLAT_BOUNDED("flat_pool_aligned_alloc");

flat_status flat_pool_free(flat_pool *pool, void *block) {
    return free_steps(pool, &(returned_block){.block = block}, refuse_address);
}
FLAT_BOUNDED("flat_pool_free");

flat_status flat_pool_free_or_else(flat_pool *pool, void *block, size_t size, size_t alignment,
                                   flat_pool_otherwise *otherwise) {
    return free_steps(pool, &(returned_block){block, size, alignment, otherwise}, refuse_address);
}
FLAT_BOUNDED("flat_pool_free_or_else hands-over=3");
