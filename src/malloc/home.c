#include "home.h"

#include "left.h"
#include "returned.h"
#include "rings.h"
#include "spans.h"

/* For a heap without an owner to which something was sent. */
static void take_back_there(thread_heap *heap, thread_heap *other) {
    if (!flat_try_heap_without_owner(other)) return;
    (void)flat_take_from_rings(other, TAKEN_FROM_RINGS);
    flat_take_back(other, RETURNED_PAGES);
    if (UNLIKELY(other->freed_twice != NULL)) heap->freed_twice = other->freed_twice; /* reported after unlocking */
    other->freed_twice = NULL;
    flat_left_heap_leave(other);
}

/* Whether to write to a block before it returns to its owner. AMD's processors prefetch lines for stores that wait, but
 * not a line that is in the cache and that another processor reads as well. They ask for that line only when its store
 * is next, and stall meanwhile. The first line of a block is such a line if one thread wrote it, another read and freed
 * it, and the first one writes it again. If the freeing thread wrote last, the line is prefetched like any other: see
 * docs/experiments/remote-frees.md. */
static inline bool writes_first(void) {
#if defined(__x86_64__)
    return __builtin_cpu_is("amd");
#else
    return false;
#endif
}

/* Writes the value that is there. If two threads have cached the block, and one of them hands it out at this very
 * moment, its new holder most likely has written nothing yet. */
static inline void write_to(void *block) {
    volatile char *first = block;
    *first = *first;
}

/* Puts entries on the ring: the first one, which belongs to the receiver, and those behind it that do as well, as far
 * as there is room. Returns their number. The state of sending is copied, so that it stays in registers: the write to a
 * block might change any memory. */
static size_t send_by_ring(thread_heap *heap, sending *to, const block_at_hand *first, size_t count) {
    sending now = *to;
    bool writes = writes_first();
    size_t i = 0;
    while (has_room(&now)) {
        if (UNLIKELY(has_block(first[i].state))) { /* somebody holds it */
            heap->freed_twice = first[i].block;
        } else {
            if (writes) write_to(first[i].block);
            put_on_ring(&now, first[i].block);
        }
        if (++i == count || owner_of(&first[i]) != now.to) break;
    }
    *to = now;
    return i;
}

static void send_by_mark(thread_heap *heap, const block_at_hand *entry) {
    bool held = has_block(entry->state); /* by somebody */
    if (!held && writes_first()) write_to(entry->block);
    if (UNLIKELY(held || !flat_send_home(entry))) heap->freed_twice = entry->block;
}

/* Sends the first entry, which belongs to heap `to`, and those behind it that do as well: on a ring as far as there is
 * room, else by marks. Returns their number. */
static size_t send_home(thread_heap *heap, uint32_t to, const block_at_hand *first, size_t count) {
    sending now = flat_begin_sending(heap, to);
    size_t i = send_by_ring(heap, &now, first, count);
    while (i == 0 || (i < count && owner_of(&first[i]) == to)) send_by_mark(heap, &first[i++]);
    flat_end_sending(&now);
    thread_heap *other = heap_number(to);
    if (UNLIKELY(use_of(other) != HEAP_OWNED)) take_back_there(heap, other);
    return i;
}

size_t flat_give_home(thread_heap *heap, size_t class, const block_at_hand *first, gifts most) {
    uint32_t mine = number_of_heap(heap);
    size_t i = 0, own = 0;
    while (i < most.in_all) {
        uint32_t owner = owner_of(&first[i]);
        if (owner != mine) {
            i += send_home(heap, owner, first + i, most.in_all - i);
            continue;
        }
        size_t given =
            flat_give_own(heap, class, first + i, least((uint32_t)(most.own - own), (uint32_t)(most.in_all - i)));
        if (given == 0) break;
        own += given;
        i += given;
    }
    return i;
}
