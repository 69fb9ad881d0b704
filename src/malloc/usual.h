/* The usual malloc and free: a straight line with no lock, no atomic instruction and no call. Whatever is not usual
 * goes through a function apart, so that nothing of it is paid for here. */
#ifndef FLATLINE_MALLOC_USUAL_H
#define FLATLINE_MALLOC_USUAL_H

#include "live.h"
#include "thread_heap.h"

/* As malloc and free, for every case that the usual path leaves out. `caller`: where the program called it. */
void *flat_allocate_rarely(size_t size);
void flat_free_rarely(void *block, const void *caller);

/* The address to which the function returns that this stands in. */
#define CALLER __builtin_return_address(0)

static inline __attribute__((always_inline)) void *allocate(size_t size) {
    if (RARE(size > SMALL_MAX)) return flat_allocate_rarely(size);
    size_bin *bin = bin_at(flat_my_bins, bin_serving(size));
    void **top = bin->top;
    void *block = top[-1];
    if (RARE(block == NULL)) return flat_allocate_rarely(size);
    bin->top = top - 1;
    set_live(block);
    return block;
}

static inline __attribute__((always_inline)) void release(void *block) {
    uintptr_t offset = offset_of(block);
    size_t granule =
        offset / GRANULE | offset * (SIZE_MAX / GRANULE + 1); /* beyond all unless a granule starts there */
    if (RARE(granule >= space.granules)) {
        flat_free_rarely(block, CALLER);
        return;
    }
    uint32_t *word = live_word(granule), now = __atomic_load_n(word, __ATOMIC_RELAXED);
    if (RARE(!clear_bit(&now, granule))) {
        flat_free_rarely(block, CALLER);
        return;
    }
    uint32_t other = tag_of(granule / (PAGE / GRANULE)) ^ flat_my_bins->tag;
    if (RARE(other > BIN_MASK)) {
        flat_free_rarely(block, CALLER);
        return;
    }
    size_bin *bin = bin_at(flat_my_bins, other);
    void **top = bin->top;
    if (RARE(top == bin->end)) {
        flat_free_rarely(block, CALLER);
        return;
    }
    __atomic_store_n(word, now, __ATOMIC_RELAXED);
    *top = block;
    bin->top = top + 1;
}

#endif
