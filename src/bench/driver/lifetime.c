/* The cost of starting, the memory that stays resident, and whether calls become slower with time. */
#include "driver.h"

#include <stdlib.h>

/* startup: the backend is created and LOAD blocks are allocated for the first time, each with its first write. In order
 * `cold` only the pages that the backend itself needs are resident. In order `prefaulted` all are. A pool prefaults
 * when it is created. A malloc cannot be told to, so every block is allocated and freed once, and that counts as its
 * creation. One sample: a process starts once. */
void startup(run *r) {
    bool cold = strcmp(r->order, "cold") == 0;
    if (r->samples != 1) fail(STATUS_USAGE, "startup takes one sample in a process: ask for 1", "");
    r->live = own(r->load * sizeof *r->live);
    uint64_t begin = flat_clock_begin();
    prepare(r, &(bench_class){r->size, r->load}, 1, cold ? BENCH_LAZY : BENCH_PREFAULTED);
    if (!cold && !bench_backend.prefaults) {
        fill(r, r->load);
        empty(r, r->load);
    }
    uint64_t created = flat_clock_end();
    begin_timed(r);
    uint64_t first = flat_clock_begin();
    fill(r, r->load);
    uint64_t filled = flat_clock_end();
    end_timed(r, 0);
    empty(r, r->load);
    uint32_t blocks = (uint32_t)r->load;
    add_figure(r, "total", TICKS, blocks, created - begin + filled - first);
    add_figure(r, "create", TICKS, blocks, created - begin)->unranked = true;
    add_figure(r, "fill", TICKS, blocks, filled - first);
}

/* memory: resident bytes for each of LOAD live blocks, every byte of which is written. Then the same for the quarter
 * that remains after the others were freed in random order. Every byte is compared before its block is freed. */
static unsigned char pattern(const void *block) { return (unsigned char)(((uintptr_t)block >> 4) * 0x9e3779b9u >> 24); }

enum { FIRST = sizeof(uint64_t) }; /* bytes that take() writes */

static void take_and_write(run *r, size_t at) {
    r->live[at] = take(&r->hand, r->size);
    r->hand.random++; /* as fill() does */
    memset((char *)r->live[at] + FIRST, pattern(r->live[at]), r->size - FIRST);
}

static void check_and_give(run *r, size_t at) {
    const unsigned char *block = r->live[at];
    for (size_t i = FIRST; i < r->size; i++) {
        if (block[i] != pattern(block)) fail(STATUS_FAILED, "a block did not keep what was written to it", "");
    }
    give(&r->hand, r->live[at], r->size);
}

static void free_some(run *r, size_t from, size_t to) {
    for (size_t count = from; count > to; count--) {
        size_t at = below(&r->hand, count);
        check_and_give(r, at);
        r->live[at] = r->live[count - 1];
    }
}

/* Growth since `from`; 0 where there is none, as with the control alone. */
static uint64_t resident_since(size_t from) {
    size_t now = resident_bytes();
    return now > from ? now - from : 0;
}

void memory(run *r) {
    size_t few = r->load / 4 > 0 ? r->load / 4 : 1;
    if (r->samples != 1) fail(STATUS_USAGE, "memory takes one sample in a process: ask for 1", "");
    r->live = own(r->load * sizeof *r->live);
    size_t from = resident_bytes();
    prepare_one(r, r->load);
    begin_timed(r);
    for (size_t i = 0; i < r->load; i++) take_and_write(r, i);
    uint64_t all = resident_since(from);
    free_some(r, r->load, few);
    uint64_t rest = resident_since(from);
    end_timed(r, 0);
    free_some(r, few, 0);
    add_figure(r, "resident", BYTES, (uint32_t)r->load, all);
    add_figure(r, "quarter", BYTES, (uint32_t)few, rest);
    if (bench_backend.metadata_bytes != NULL)
        add_figure(r, "metadata", BYTES, (uint32_t)r->load, bench_backend.metadata_bytes())->unranked = true;
}

/* drift: churn with single calls timed, in windows of LOAD calls. For each window the exact P50, P99 and longest call
 * are kept. Calls below USUAL ticks are counted by their ticks; longer calls are recorded one by one. */
enum { DRIFT_LIVE = 200000, USUAL = 16384 };

typedef struct window {
    uint32_t *usual; /* usual[t]: how many calls took t ticks */
    uint64_t *longer;
    size_t longer_count;
} window;

ALWAYS_INLINE void count_call(window *w, uint64_t ticks) {
    if (__builtin_expect(ticks < USUAL, 1)) {
        w->usual[ticks]++;
    } else {
        w->longer[w->longer_count++] = ticks;
    }
}

static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The smallest reading that at least `place` calls do not exceed. `longer` is sorted; 1 <= place <= calls. */
static uint64_t reading_at(const window *w, size_t place) {
    size_t passed = 0;
    for (size_t ticks = 0; ticks < USUAL; ticks++) {
        passed += w->usual[ticks];
        if (passed >= place) return ticks;
    }
    return w->longer[place - passed - 1];
}

static void run_window(run *r, window *w) {
    hand h = r->hand;
    memset(w->usual, 0, USUAL * sizeof *w->usual);
    w->longer_count = 0;
    for (size_t i = 0; i < r->load / 2; i++) {
        size_t at = below(&h, DRIFT_LIVE);
        count_call(w, timed_give(&h, r->live[at], r->size));
        count_call(w, timed_take(&h, r->size, &r->live[at]));
    }
    qsort(w->longer, w->longer_count, sizeof *w->longer, ascending);
    r->hand = h;
}

void drift(run *r) {
    if (r->load % 2 != 0) fail(STATUS_USAGE, "a window of drift must be an even number of calls", "");
    uint64_t *p50 = add_series(r, "P50", 1)->values;
    uint64_t *p99 = add_series(r, "P99", 1)->values;
    series *longest = add_series(r, "max", 1);
    longest->unranked = true; /* the machine decides which window an interruption falls into */
    window w = {own(USUAL * sizeof *w.usual), own(r->load * sizeof *w.longer), 0};
    r->live = own(DRIFT_LIVE * sizeof *r->live);
    prepare_one(r, DRIFT_LIVE);
    fill(r, DRIFT_LIVE);
    begin_timed(r);
    for (size_t i = 0; i < r->samples; i++) {
        run_window(r, &w);
        p50[i] = reading_at(&w, (r->load + 1) / 2);
        p99[i] = reading_at(&w, (r->load * 99 + 99) / 100);
        longest->values[i] = reading_at(&w, r->load);
    }
    end_timed(r, 0);
    empty(r, DRIFT_LIVE);
}
