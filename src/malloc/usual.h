/* The usual malloc and free: a straight line with no lock, no atomic instruction and no call. All other cases go
 * through separate functions, so that the fast path does not pay for them. A free is the same whoever owns the block:
 * it goes to the thread's own cache. */
#ifndef FLATLINE_MALLOC_USUAL_H
#define FLATLINE_MALLOC_USUAL_H

#include "states.h"
#include "thread_heap.h"

/* For functions that contain the fast path: the linker puts them next to each other, before nearly all of the rest,
 * which grows and shrinks. So they hardly move, and neither does the part of a measurement that is due to where code
 * lies: up to 5 % of a pair of calls. */
#define USUAL __attribute__((hot))

/* malloc and free, for every case that the fast path leaves out. `caller`: where the program called it. */
void *flat_slow_malloc(size_t size);
void flat_slow_free(void *block, const void *caller);

/* The return address of the function that contains this. */
#define CALLER __builtin_return_address(0)

/* Moves by an entry, up or down: one instruction on x86-64, where compilers make two. */
ALWAYS_INLINE void move_top(block_at_hand **top, ptrdiff_t by) {
#if defined(FLAT_SINGLE_STEPS)
    __asm__ volatile("addq %1, %0" : "+m"(*top) : "er"(by * (ptrdiff_t)sizeof(block_at_hand)) : "cc");
#else
    *top += by;
#endif
}

ALWAYS_INLINE void *fast_malloc(size_t size) {
    if (UNLIKELY(size > SMALL_MAX)) return flat_slow_malloc(size);
    block_stacks *my = flat_my_stacks;
    block_at_hand **top = &my->top[my->class_of_granules[granules_in(size)]];
    HIDE_VALUE(top);
    block_at_hand *entry = *top - 1;
    void *block = entry->block;
    block_state *state = entry->state;
    if (UNLIKELY(has_block(state))) return flat_slow_malloc(size);
    store_state(state, live_state_of(block));
    move_top(top, -1);
    return block;
}

/* Whether no table reaches that far. */
ALWAYS_INLINE bool is_beyond(size_t half) {
#if defined(FLAT_SINGLE_STEPS)
    bool beyond;
    __asm__("cmpq %2, %1" : "=@ccae"(beyond) : "r"(half), "m"(flat_space.halves));
    return beyond;
#else
    return half >= usable_halves();
#endif
}

ALWAYS_INLINE void fast_free(void *block) {
    size_t half = half_of(block);
    /* No block starts at an even number, whose lowest byte might be 0, like the state of no block. */
    if (UNLIKELY(is_beyond(half)) || UNLIKELY(half % 2 == 0)) {
        flat_slow_free(block, CALLER);
        return;
    }
    page_tag tag = tag_of(half / PAGE_HALVES);
    block_stacks *my = flat_my_stacks;
    block_at_hand **top = &my->top[class_of_tag(tag)];
    HIDE_VALUE(top);
    block_at_hand *entry = *top;
    if (UNLIKELY(entry == top[CLASS_COUNT])) { /* always true for class 0, that of pages in no span */
        flat_slow_free(block, CALLER);
        return;
    }
    block_state *state = state_at(tag, half);
    if (UNLIKELY(!is_live_there(state, half))) {
        flat_slow_free(block, CALLER);
        return;
    }
    store_state(state, NO_BLOCK);
    *entry = (block_at_hand){block, state};
    move_top(top, 1);
}

#endif
