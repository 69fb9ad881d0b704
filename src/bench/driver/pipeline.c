/* pipeline: messages that one thread makes and another uses. LOAD threads in pairs, in legs of 1,000 messages of the
 * seven sizes of suite `mixed`.
 *
 *   the even thread   allocates a scratch block and a message, writes every line of both, frees the scratch block
 *                     (local free), and passes the message on
 *   the odd thread    allocates an answer, reads every line of the message into it, frees the message (remote free)
 *                     and the answer (local free)
 *
 * Both draw the sizes from the same seed, so that only the message itself is passed on. With CALLS 1 the series are
 * single allocs, local and remote frees. With CALLS 64 they are the same for 64 messages, one kind of call after the
 * other. With CALLS 0 the series is the time of batches of messages. */
#include "mix.h"
#include "team.h"

enum {
    LEG = 1000,    /* messages */
    SCRATCH = 256, /* bytes; also of an answer */
    STEP = 64,     /* bytes: a cache line */
};

ALWAYS_INLINE void *taken(worker *w, hand *h, size_t size, bool timed) {
    void *block;
    if (timed) {
        keep(&w->alloc, timed_take(h, size, &block));
    } else {
        block = take(h, size);
    }
    return block;
}

ALWAYS_INLINE void given(record *to, hand *h, void *block, size_t size, bool timed) {
    if (timed) {
        keep(to, timed_give(h, block, size));
    } else {
        give(h, block, size);
    }
}

ALWAYS_INLINE void write_lines(void *block, size_t size, uint64_t value) {
    for (size_t at = STEP; at < size; at += STEP) *(volatile uint64_t *)(void *)((char *)block + at) = value + at;
}

/* The sum of the written value over all lines but the first. */
ALWAYS_INLINE uint64_t read_lines(const void *block, size_t size) {
    uint64_t sum = 0;
    for (size_t at = STEP; at < size; at += STEP) {
        sum += *(const volatile uint64_t *)(const void *)((const char *)block + at) - at;
    }
    return sum;
}

ALWAYS_INLINE void parse_leg(worker *w, bool timed) {
    ring *to = ring_from(w->id);
    hand h = w->hand;
    size_t at = atomic_load_explicit(&to->written, memory_order_relaxed);
    for (size_t i = 0; i < LEG; i++) {
        size_t size = mix_sizes[mix_kinds[below(&h, MIX_WEIGHT)]];
        void *scratch = taken(w, &h, SCRATCH, timed);
        write_lines(scratch, SCRATCH, h.random);
        h.random++; /* so that the two blocks are written differently */
        void *made = taken(w, &h, size, timed);
        write_lines(made, size, *(const uint64_t *)made);
        given(&w->local, &h, scratch, SCRATCH, timed);
        push(to, &at, made);
    }
    say_written(to, at);
    w->hand = h;
}

ALWAYS_INLINE void work_leg(worker *w, bool timed) {
    ring *from = ring_from(w->id - 1);
    hand h = w->hand;
    size_t at = atomic_load_explicit(&from->read, memory_order_relaxed);
    for (size_t i = 0; i < LEG; i++) {
        size_t size = mix_sizes[mix_kinds[below(&h, MIX_WEIGHT)]];
        void *made = pop(from, &at);
        void *answer = taken(w, &h, SCRATCH, timed);
        h.random++;
        uint64_t sum = read_lines(made, size);
        h.balance += sum - (size - 1) / STEP * *(const uint64_t *)made;
        write_lines(answer, SCRATCH, sum);
        given(&w->remote, &h, made, size, timed);
        given(&w->local, &h, answer, SCRATCH, timed);
    }
    say_read(from, at);
    w->hand = h;
}

/* A group of `count` messages. Both threads draw their sizes in the same way. */
typedef struct messages {
    size_t count;
    size_t size[TOGETHER];
    void *made[TOGETHER], *other[TOGETHER]; /* scratch blocks, or answers */
} messages;

ALWAYS_INLINE void draw_sizes(messages *of, hand *sizes, size_t count) {
    of->count = count;
    for (size_t i = 0; i < count; i++) of->size[i] = mix_sizes[mix_kinds[below(sizes, MIX_WEIGHT)]];
}

ALWAYS_INLINE void take_others(worker *w, hand *h, messages *of, bool timed) {
    uint64_t ticks = take_together(h, of->other, of->count, SCRATCH);
    if (timed) keep_together(&w->alloc, ticks, of->count);
}

ALWAYS_INLINE void give_others(worker *w, hand *h, const messages *of, bool timed) {
    uint64_t ticks = give_together(h, of->other, of->count, SCRATCH);
    if (timed) keep_together(&w->local, ticks, of->count);
}

ALWAYS_INLINE void make_together(worker *w, hand *h, messages *of, bool timed) {
    uint64_t begin = flat_clock_begin();
    for (size_t i = 0; i < of->count; i++, h->random++) of->made[i] = take(h, of->size[i]);
    uint64_t ticks = flat_clock_end() - begin;
    if (timed) keep_together(&w->alloc, ticks, of->count);
}

ALWAYS_INLINE void use_up_together(worker *w, hand *h, const messages *of, bool timed) {
    for (size_t i = 0; i < of->count; i++) look(h, of->made[i]);
    uint64_t begin = flat_clock_begin();
    for (size_t i = 0; i < of->count; i++) bench_free(of->made[i], of->size[i]);
    uint64_t ticks = flat_clock_end() - begin;
    if (timed) keep_together(&w->remote, ticks, of->count);
}

ALWAYS_INLINE void parse_leg_together(worker *w, bool timed) {
    ring *to = ring_from(w->id);
    hand h = w->hand, sizes = h;
    size_t at = atomic_load_explicit(&to->written, memory_order_relaxed);
    for (size_t i = 0; i < LEG;) {
        messages of;
        draw_sizes(&of, &sizes, next_together(i, LEG));
        take_others(w, &h, &of, timed);
        for (size_t k = 0; k < of.count; k++) write_lines(of.other[k], SCRATCH, of.size[k]);
        make_together(w, &h, &of, timed);
        for (size_t k = 0; k < of.count; k++) write_lines(of.made[k], of.size[k], *(const uint64_t *)of.made[k]);
        give_others(w, &h, &of, timed);
        for (size_t k = 0; k < of.count; k++) push(to, &at, of.made[k]);
        i += of.count;
    }
    say_written(to, at);
    w->hand = (hand){.random = sizes.random, .balance = h.balance};
}

ALWAYS_INLINE void work_leg_together(worker *w, bool timed) {
    ring *from = ring_from(w->id - 1);
    hand h = w->hand, sizes = h;
    size_t at = atomic_load_explicit(&from->read, memory_order_relaxed);
    for (size_t i = 0; i < LEG;) {
        messages of;
        draw_sizes(&of, &sizes, next_together(i, LEG));
        for (size_t k = 0; k < of.count; k++) of.made[k] = pop(from, &at);
        take_others(w, &h, &of, timed);
        for (size_t k = 0; k < of.count; k++) {
            uint64_t sum = read_lines(of.made[k], of.size[k]);
            h.balance += sum - (of.size[k] - 1) / STEP * *(const uint64_t *)of.made[k];
            write_lines(of.other[k], SCRATCH, sum);
        }
        use_up_together(w, &h, &of, timed);
        give_others(w, &h, &of, timed);
        i += of.count;
    }
    say_read(from, at);
    w->hand = (hand){.random = sizes.random, .balance = h.balance};
}

static void run_leg_together(worker *w, bool timed) {
    if (w->id % 2 == 0) {
        parse_leg_together(w, timed);
    } else {
        work_leg_together(w, timed);
    }
}

static void run_leg(worker *w, bool timed) {
    if (w->id % 2 == 0) {
        parse_leg(w, timed);
    } else {
        work_leg(w, timed);
    }
}

static void begin(worker *w) { w->hand.random = seed_of(w->id / 2 * 2); }

static void nothing(worker *w) { (void)w; }

/* All messages in the rings may be of one size, and the threads hold a few more. */
static void prepare_messages(run *r) {
    bench_class classes[MIX_SIZES];
    for (size_t c = 0; c < MIX_SIZES; c++) classes[c] = (bench_class){mix_sizes[c], r->load * (RING + 2 * LEG)};
    prepare(r, classes, MIX_SIZES, BENCH_PREFAULTED);
}

void pipeline(run *r) {
    if (r->load % 2 != 0) fail(STATUS_USAGE, "the pipeline needs an even number of threads", "");
    if (!bench_backend.remote_free) fail(STATUS_USAGE, "this backend cannot free a block of another thread", "");
    own_mix(r);
    run_team(r,
             &(team_work){.operations = LEG,
                          .records = 2 * LEG,
                          .at_once = r->load / 2,
                          .begin = begin,
                          .leg = r->calls > 1 ? run_leg_together : run_leg,
                          .end = nothing},
             prepare_messages);
}
