/* containers: the cost of the standard containers over a source of memory, round by round. A round constructs the
 * containers of the workload ORDER, fills them, reads all of it, and destroys them. Where the source frees blocks only
 * together, the round also resets it. A sample is one round, or 32 of them.
 *
 * After each sample, what was read is compared with what must have been written. A source that runs out of memory ends
 * the run. So does one that is not the heap and calls the heap after it was prepared. Besides times, the suite reports
 * the calls of the heap in a round and the bytes that the source held. */
#include "containers.h"
#include "driver.h"

#include <stdio.h>

const bench_texts *bench_work_texts;

enum { LEAST_WARM_UP = 64 /* samples */ };

/* Letters and digits, so that two texts differ after few characters. */
static void append_random(hand *h, char *text, size_t characters) {
    static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    size_t at = strlen(text);
    for (size_t end = at + characters; at < end; at++) text[at] = alphabet[below(h, sizeof alphabet - 1)];
}

static void write_texts(hand *h) {
    bench_texts *all = own(sizeof *all);
    for (size_t i = 0; i < LABELS; i++) {
        append_random(h, all->short_labels[i], 8 + below(h, 8));
        (void)snprintf(all->long_labels[i], TEXT_BYTES, "Temperature_Sensor_%02zu_", i);
        append_random(h, all->long_labels[i], 8 + below(h, 21));
    }
    for (size_t i = 0; i < ENTRIES; i++) {
        (void)snprintf(all->keys[i], TEXT_BYTES, "Device_%03zu_", i);
        append_random(h, all->keys[i], 9 + below(h, 21));
        all->payload_bytes[i] = 8 + below(h, MOST_PAYLOAD - 8);
    }
    append_random(h, all->payload, MOST_PAYLOAD - 1);
    bench_work_texts = all;
}

static void require_sum(uint64_t sum, uint64_t expected) {
    if (sum != expected) fail(STATUS_FAILED, "a round read other data than it had written", "");
}

static void prepare_for(run *r, const bench_workload *work) {
    if (work->count == NULL) {
        prepare_one(r, 1);
        return;
    }
    require_sum(work->count(), work->sum());
    prepare(r, bench_work_needs.sizes, bench_work_needs.size_count, BENCH_PREFAULTED);
}

static uint64_t heap_calls(void) { return bench_heap_calls != NULL ? bench_heap_calls() : 0; }

static void time_rounds(run *r, const bench_workload *work) {
    const uint64_t rounds = r->calls == 1 ? 1 : BLOCK_OF_CALLS, expected = rounds * work->sum();
    const size_t warm_up = r->samples / 8 > LEAST_WARM_UP ? r->samples / 8 : LEAST_WARM_UP;
    uint64_t *ticks = r->series[0].values;
    const uint64_t calls = heap_calls();
    for (size_t i = 0; i < r->samples + warm_up; i++) {
        if (i == warm_up) begin_timed(r);
        uint64_t sum = 0, begin = flat_clock_begin();
        for (uint64_t k = 0; k < rounds; k++) sum += work->round();
        ticks[i < warm_up ? 0 : i - warm_up] = flat_clock_end() - begin;
        require_sum(sum, expected);
    }
    end_timed(r, rounds * r->samples);
    if (heap_calls() != calls)
        fail(STATUS_FAILED, "the backend called the heap after its preparation: give it more memory, ",
             "and an upstream resource that refuses");
}

void bench_refused(void) {
    fail(STATUS_FAILED, "the backend ran out of memory in the workload that it was prepared for", "");
}

void containers(run *r) {
    const bench_workload *work = bench_find_workload(r->order);
    if (work == NULL) fail(STATUS_USAGE, "this backend does not support workload ", r->order);
    add_series(r, "round", r->calls == 1 ? 1 : BLOCK_OF_CALLS);
    write_texts(&r->hand);
    prepare_for(r, work);
    time_rounds(r, work);
    add_figure(r, "heap calls", HEAP_CALLS, 1, bench_backend.is_malloc ? bench_work_needs.requests : 0);
    if (work->count != NULL) add_figure(r, "held", HELD, 1, work->held != NULL ? work->held() : bench_work_needs.peak);
}
