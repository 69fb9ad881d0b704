/* threads: LOAD threads, in legs of 1,000 alloc-free pairs with blocks of one size. There may be more threads than
 * processors.
 *
 *   independent         each thread replaces blocks of its own at random. A backend without remote free has one pool
 *                       for each thread.
 *   larson              as independent; after every leg a thread hands all of its blocks to a neighbour, which frees
 *                       them as it replaces them
 *   producer-consumer   every other thread only allocates, and its neighbour frees all that it gets: every free is
 *                       remote
 *   many-to-one         all threads but the last only allocate. The last frees the blocks of all of them, from one ring
 *                       for each, in the order in which it finds them there. Its leg is one leg of each of the others.
 *                       With two threads this is producer-consumer
 *
 * With CALLS 1 the series are single allocs, frees by the thread that allocated (`local free`) and by another (`remote
 * free`). With CALLS 64 the series are the same, but 64 calls are timed together without a clock reading for each: the
 * blocks are prepared beforehand, and in independent and larson each slot has its turn once in a leg. With CALLS 0 the
 * series is the time of batches of pairs, from the first thread's begin to the last one's end. */
#include "team.h"

enum {
    LEG = 1000,   /* pairs */
    SLOTS = 1000, /* live blocks of a thread */
};

typedef struct slots {
    void *block[SLOTS];
    uint8_t owner[SLOTS]; /* which thread allocated it */
} slots;

static size_t size;     /* bytes */
static size_t together; /* calls of a sample */
static bool hands_over, in_pairs, many_to_one;
static slots *all_slots;      /* one for each thread */
static uint16_t turns[SLOTS]; /* every slot, in random order */

static bool by_ring(void) { return in_pairs || many_to_one; }

/* The threads exchange slots: in each leg a thread uses those that the thread after it used in the leg before. */
static slots *slots_of(const worker *w) { return &all_slots[hands_over ? (w->id + w->leg) % team_count() : w->id]; }

ALWAYS_INLINE void replace_leg(worker *w, bool timed) {
    slots *s = slots_of(w);
    size_t bytes = size;
    hand h = w->hand;
    for (size_t i = 0; i < LEG; i++) {
        size_t at = below(&h, SLOTS);
        if (timed) {
            keep(s->owner[at] == w->id ? &w->local : &w->remote, timed_give(&h, s->block[at], bytes));
            keep(&w->alloc, timed_take(&h, bytes, &s->block[at]));
        } else {
            give(&h, s->block[at], bytes);
            s->block[at] = take(&h, bytes);
        }
        s->owner[at] = (uint8_t)w->id;
    }
    w->hand = h;
}

/* Frees the blocks of the next `count` slots in turn, and allocates new ones. */
ALWAYS_INLINE void replace_together(worker *w, hand *h, slots *s, size_t turn, size_t count, bool timed) {
    void *block[TOGETHER];
    size_t local = 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = turns[(turn + i) % SLOTS];
        block[i] = s->block[at];
        local += s->owner[at] == w->id;
        s->owner[at] = (uint8_t)w->id;
    }
    uint64_t ticks = give_together(h, block, count, size);
    if (timed && local == count) keep_together(&w->local, ticks, count);
    if (timed && local == 0) keep_together(&w->remote, ticks, count);
    ticks = take_together(h, block, count, size);
    if (timed) keep_together(&w->alloc, ticks, count);
    for (size_t i = 0; i < count; i++) s->block[turns[(turn + i) % SLOTS]] = block[i];
}

ALWAYS_INLINE void replace_leg_together(worker *w, bool timed) {
    hand h = w->hand;
    size_t turn = below(&h, SLOTS);
    for (size_t i = 0, count; i < LEG; i += count) {
        count = next_together(i, LEG);
        replace_together(w, &h, slots_of(w), turn + i, count, timed);
    }
    w->hand = h;
}

ALWAYS_INLINE void produce_leg_together(worker *w, bool timed) {
    ring *to = ring_from(w->id);
    hand h = w->hand;
    size_t at = atomic_load_explicit(&to->written, memory_order_relaxed);
    for (size_t i = 0, count; i < LEG; i += count) {
        void *block[TOGETHER];
        count = next_together(i, LEG);
        uint64_t ticks = take_together(&h, block, count, size);
        if (timed) keep_together(&w->alloc, ticks, count);
        for (size_t k = 0; k < count; k++) push(to, &at, block[k]);
    }
    say_written(to, at);
    w->hand = h;
}

ALWAYS_INLINE void consume_leg_together(worker *w, bool timed) {
    ring *from = ring_from(w->id - 1);
    hand h = w->hand;
    size_t at = atomic_load_explicit(&from->read, memory_order_relaxed);
    for (size_t i = 0, count; i < LEG; i += count) {
        void *block[TOGETHER];
        count = next_together(i, LEG);
        for (size_t k = 0; k < count; k++) block[k] = pop(from, &at);
        uint64_t ticks = give_together(&h, block, count, size);
        if (timed) keep_together(&w->remote, ticks, count);
    }
    say_read(from, at);
    w->hand = h;
}

ALWAYS_INLINE void produce_leg(worker *w, bool timed) {
    ring *to = ring_from(w->id);
    hand h = w->hand;
    size_t at = atomic_load_explicit(&to->written, memory_order_relaxed);
    for (size_t i = 0; i < LEG; i++) {
        void *block;
        if (timed) {
            keep(&w->alloc, timed_take(&h, size, &block));
        } else {
            block = take(&h, size);
        }
        push(to, &at, block);
    }
    say_written(to, at);
    w->hand = h;
}

ALWAYS_INLINE void consume(worker *w, hand *h, void *block, bool timed) {
    if (timed) {
        keep(&w->remote, timed_give(h, block, size));
    } else {
        give(h, block, size);
    }
}

ALWAYS_INLINE void consume_leg(worker *w, bool timed) {
    ring *from = ring_from(w->id - 1);
    hand h = w->hand;
    size_t at = atomic_load_explicit(&from->read, memory_order_relaxed);
    for (size_t i = 0; i < LEG; i++) consume(w, &h, pop(from, &at), timed);
    say_read(from, at);
    w->hand = h;
}

/* Frees the blocks that lie in a ring, up to BURST or `most`. Returns their number. */
ALWAYS_INLINE size_t consume_burst(worker *w, ring *from, size_t most, bool timed) {
    hand h = w->hand;
    size_t at = atomic_load_explicit(&from->read, memory_order_relaxed), taken = 0;
    while (taken < BURST && taken < most && is_filled(from, at)) {
        consume(w, &h, pop(from, &at), timed);
        taken++;
    }
    if (taken > 0) say_read(from, at);
    w->hand = h;
    return taken;
}

/* Frees as many blocks as all producers make in a leg, whichever producers made them. So a producer that stands still
 * holds up no other. When all threads have done the same number of legs, every ring is empty. */
ALWAYS_INLINE void consume_all_leg(worker *w, bool timed) {
    size_t producers = team_count() - 1, left = producers * LEG, looks = 0;
    while (left > 0) {
        size_t before = left;
        for (size_t i = 0; i < producers; i++) left -= consume_burst(w, ring_from(i), left, timed);
        if (left == before) wait_once(&looks);
    }
}

static bool produces(const worker *w) { return many_to_one ? w->id + 1 < team_count() : w->id % 2 == 0; }

static void run_leg_together(worker *w, bool timed) {
    if (!by_ring()) {
        replace_leg_together(w, timed);
        if (hands_over) meet();
    } else if (produces(w)) {
        produce_leg_together(w, timed);
    } else {
        consume_leg_together(w, timed);
    }
}

static void run_leg(worker *w, bool timed) {
    if (!by_ring()) {
        replace_leg(w, timed);
        if (hands_over) meet();
    } else if (produces(w)) {
        produce_leg(w, timed);
    } else if (many_to_one) {
        consume_all_leg(w, timed);
    } else {
        consume_leg(w, timed);
    }
}

static void begin(worker *w) {
    if (!bench_backend.remote_free && w->id > 0) {
        if (!bench_prepare(&(bench_class){size, SLOTS}, 1, BENCH_PREFAULTED))
            fail(STATUS_FAILED, "cannot prepare the backend", "");
    }
    for (size_t i = 0; !by_ring() && i < SLOTS; i++, w->hand.random++) {
        all_slots[w->id].block[i] = take(&w->hand, size);
        all_slots[w->id].owner[i] = (uint8_t)w->id;
    }
}

static void end(worker *w) {
    for (size_t i = 0; !by_ring() && i < SLOTS; i++) give(&w->hand, slots_of(w)->block[i], size);
}

static void require_sense(const run *r) {
    if (in_pairs && r->load % 2 != 0)
        fail(STATUS_USAGE, "producers and consumers must be an even number of threads", "");
    if ((hands_over || many_to_one) && r->load < 2) fail(STATUS_USAGE, "two or more threads are needed in ", r->order);
    if ((by_ring() || hands_over) && !bench_backend.remote_free)
        fail(STATUS_USAGE, "this backend cannot free a block of another thread, which is needed in ", r->order);
    if (many_to_one && together > 1) fail(STATUS_USAGE, "only batches or single calls can be timed in ", r->order);
}

static void draw_turns(hand *h) {
    for (uint16_t i = 0; i < SLOTS; i++) {
        size_t at = below(h, (size_t)i + 1);
        turns[i] = turns[at];
        turns[at] = i;
    }
}

static void prepare_blocks(run *r) { prepare_one(r, bench_backend.remote_free ? r->load * (SLOTS + RING) : SLOTS); }

static size_t legs_at_once(const run *r) { return in_pairs ? r->load / 2 : many_to_one ? r->load - 1 : r->load; }

void threads(run *r) {
    size = r->size;
    together = r->calls;
    in_pairs = strcmp(r->order, "producer-consumer") == 0;
    many_to_one = strcmp(r->order, "many-to-one") == 0;
    hands_over = strcmp(r->order, "larson") == 0;
    require_sense(r);
    hand drawn = r->hand;
    draw_turns(&drawn);
    all_slots = own(r->load * sizeof *all_slots);
    run_team(r,
             &(team_work){.operations = LEG,
                          .records = many_to_one ? legs_at_once(r) * LEG : LEG,
                          .at_once = legs_at_once(r),
                          .begin = begin,
                          .leg = together > 1 ? run_leg_together : run_leg,
                          .end = end},
             prepare_blocks);
}
