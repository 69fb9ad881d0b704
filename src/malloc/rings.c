#include "rings.h"

#include "spans.h"

/* Whether the heap may have one more ring; if so, the ring is recorded. */
static bool remember(thread_heap *from, uint32_t to) {
    if (from->sends_to_count == SENDS_TO_MOST) return false;
    from->sends_to[from->sends_to_count++] = to;
    return true;
}

static bool claim_ring(home_ring *ring, thread_heap *from, thread_heap *to) {
    uint32_t nobody = 0, number = number_of_heap(from);
    if (__atomic_load_n(&ring->sender, __ATOMIC_RELAXED) != 0 || !remember(from, number_of_heap(to))) return false;
    if (!__atomic_compare_exchange_n(&ring->sender, &nobody, number, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        from->sends_to_count--;
        return false;
    }
    (void)__atomic_fetch_or(&to->rings_used, 1u << (ring - to->rings), __ATOMIC_RELAXED);
    return true;
}

sending flat_begin_sending(thread_heap *from, uint32_t to) {
    sending now = {.from = number_of_heap(from), .to = to};
    thread_heap *other = heap_number(to);
    home_ring *ring = &other->rings[now.from % RINGS];
    if (__atomic_load_n(&ring->sender, __ATOMIC_RELAXED) != now.from && !claim_ring(ring, from, other)) return now;
    now.ring = ring;
    now.at = ring->written;
    now.end = ring->read_before + RING_BLOCKS;
    if (now.end - now.at < KEPT_MAX / 2) {
        ring->read_before = __atomic_load_n(&ring->read, __ATOMIC_ACQUIRE);
        now.end = ring->read_before + RING_BLOCKS;
    }
    return now;
}

/* Sequentially consistent: either the thread that leaves the receiving heap sees what was sent, or the sender sees that
 * it was left. */
void flat_end_sending(const sending *now) {
    if (now->ring != NULL) __atomic_store_n(&now->ring->written, now->at, __ATOMIC_SEQ_CST);
}

void flat_leave_rings(thread_heap *heap) {
    while (heap->sends_to_count != 0) {
        thread_heap *other = heap_number(heap->sends_to[--heap->sends_to_count]);
        __atomic_store_n(&other->rings[number_of_heap(heap) % RINGS].sender, 0, __ATOMIC_RELEASE);
    }
}

/* Blocks on a ring, up to the last one that is to be taken. */
typedef struct taking {
    void *const *blocks;
    uint32_t at, end;
} taking;

/* Takes the first blocks that are of one class, at most all, into the thread cache as far as there is room. Most often
 * these are all that one thread sent at once, and the top of the stack need not go through memory for each. */
static void take_one_class(thread_heap *heap, taking *now) {
    void *block = now->blocks[now->at % RING_BLOCKS];
    size_t half = half_of(block);
    page_tag tag = tag_of(half / PAGE_HALVES);
    size_t class = class_of_tag(tag);
    block_at_hand *top = heap->stacks.top[class], *end = heap->stacks.end[class];
    do {
        if (top != end)
            *top++ = (block_at_hand){block, state_at(tag, half)};
        else
            flat_give_to_span(heap, class, block);
        if (++now->at == now->end) break;
        block = now->blocks[now->at % RING_BLOCKS];
        half = half_of(block);
    } while (tag_of(half / PAGE_HALVES) == tag);
    heap->stacks.top[class] = top;
}

/* For a heap whose thread is running: its cache may change at any time, and only that thread changes it. */
static void take_to_spans(thread_heap *heap, taking *now) {
    for (; now->at != now->end; now->at++) {
        void *block = now->blocks[now->at % RING_BLOCKS];
        flat_give_to_span(heap, class_of_tag(tag_of(half_of(block) / PAGE_HALVES)), block);
    }
}

static uint32_t take_from(thread_heap *heap, home_ring *ring, uint32_t most) {
    uint32_t read = ring->read, count = least(__atomic_load_n(&ring->written, __ATOMIC_SEQ_CST) - read, most);
    taking now = {ring->blocks, read, read + count};
    if (heap != flat_my_heap && use_of(heap) == HEAP_OWNED) take_to_spans(heap, &now);
    while (now.at != now.end) take_one_class(heap, &now);
    if (count != 0) __atomic_store_n(&ring->read, now.end, __ATOMIC_RELEASE);
    return count;
}

uint32_t flat_take_from_rings(thread_heap *heap, uint32_t most) {
    uint32_t taken = 0;
    for (uint32_t used = __atomic_load_n(&heap->rings_used, __ATOMIC_RELAXED); used != 0; used &= used - 1) {
        taken += take_from(heap, &heap->rings[__builtin_ctz(used)], most - taken);
    }
    return taken;
}
