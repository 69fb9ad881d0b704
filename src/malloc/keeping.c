#include "keeping.h"

#include "extents.h"
#include "pages.h"
#include "policy.h"

#define PAGES_WORTH 32 /* with credit for fewer, no step is made: a system call has a fixed cost */

static bool heap_keeps_too_much(const thread_heap *heap) {
    const run_set *pages = &heap->free_pages;
    return heap->credit >= PAGES_WORTH * PAGE_CREDIT &&
           flat_pages_above(pages->dirty, heap->chunk_count * CHUNK_PAGES - pages->free, flat_policy.kept_pages) != 0;
}

/* A step that the system refuses costs all of the credit, so that the next one is tried after as many calls as any
 * other. */
static void clean_some(thread_heap *heap) {
    uint64_t most = heap->credit / PAGE_CREDIT;
    uint32_t cleaned = flat_pages_clean(heap, most < CLEANED_PAGES ? (uint32_t)most : CLEANED_PAGES);
    heap->credit = cleaned != 0 ? heap->credit - PAGE_CREDIT * cleaned : 0;
}

void flat_keep_to_policy(thread_heap *heap) {
    bool mine = heap == flat_my_heap;
    if (!mine || flat_my_stacks == &heap->stacks) heap->credit++;
    if (heap_keeps_too_much(heap)) clean_some(heap);
    if (mine) flat_allow_usual_path(!heap_keeps_too_much(heap) && !extents_are_due());
}

void flat_keep_huge_to_policy(void) {
    if (extents_are_due()) flat_extents_clean(EXTENT_STEP);
    if (flat_my_heap != NULL && extents_are_due()) flat_allow_usual_path(false); /* until a call has checked again */
}
