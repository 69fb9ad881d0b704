/* The usual malloc and free: a straight line with no lock, no atomic instruction and no call. Whatever is not usual
 * goes through a function apart, so that nothing of it is paid for here. */
#ifndef FLATLINE_MALLOC_USUAL_H
#define FLATLINE_MALLOC_USUAL_H

#include "live.h"
#include "thread_heap.h"

/* For functions that have the usual path in them: the linker puts them beside one another, before nearly all of the
 * rest, which grows and shrinks. So they hardly move, and with them what a measurement owes to where code lies: up to 5
 * % of a pair of calls. */
#define USUAL __attribute__((hot))

/* As malloc and free, for every case that the usual path leaves out. `caller`: where the program called it. */
void *flat_allocate_rarely(size_t size);
void flat_free_rarely(void *block, const void *caller);

/* The address to which the function returns that this stands in. */
#define CALLER __builtin_return_address(0)

/* By an entry, up or down: one instruction on x86-64, where compilers make two. */
static inline __attribute__((always_inline)) void move_top(size_bin *bin, ptrdiff_t by) {
#if defined(FLAT_SINGLE_STEPS)
    __asm__ volatile("addq %1, %0" : "+m"(bin->top) : "er"(by * (ptrdiff_t)sizeof(void *)) : "cc");
#else
    bin->top += by;
#endif
}

static inline __attribute__((always_inline)) void *allocate(size_t size) {
    if (RARE(size > SMALL_MAX)) return flat_allocate_rarely(size);
    size_bin *bin = flat_my_bins[granules_in(size)];
    void *block = bin->top[-1];
    if (RARE(block == NULL)) return flat_allocate_rarely(size);
    move_top(bin, -1);
    set_live(block);
    return block;
}

/* Whether no table reaches so far. */
static inline __attribute__((always_inline)) bool is_beyond(size_t granule) {
#if defined(FLAT_SINGLE_STEPS)
    bool beyond;
    __asm__("cmpq %2, %1" : "=@ccae"(beyond) : "r"(granule), "m"(flat_space.granules));
    return beyond;
#else
    return granule >= usable_granules();
#endif
}

static inline __attribute__((always_inline)) void release(void *block) {
    uintptr_t offset = offset_of(block);
    size_t granule =
        offset / GRANULE | offset * (SIZE_MAX / GRANULE + 1); /* beyond all unless a granule starts there */
    if (RARE(is_beyond(granule))) {
        flat_free_rarely(block, CALLER);
        return;
    }
    bool was_live;
    uint32_t *words = flat_space.live, without_it = without_bit(words, granule, &was_live);
    if (RARE(!was_live)) {
        flat_free_rarely(block, CALLER);
        return;
    }
    size_bin *bin = (size_bin *)tag_of(granule / (PAGE / GRANULE));
    if (RARE(bin->owner != flat_my_bins)) {
        flat_free_rarely(block, CALLER);
        return;
    }
    void **top = bin->top;
    if (RARE(top == bin->end)) {
        flat_free_rarely(block, CALLER);
        return;
    }
    set_live_word(words, granule, without_it);
    *top = block;
    move_top(bin, 1);
}

#endif
