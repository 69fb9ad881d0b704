/* arrivals: requests that arrive on a schedule, whether or not the last one is done. A request frees four blocks of the
 * mix of sizes and allocates four others, which it writes.
 *
 *   poisson...   due at random times, LOAD in a second on average
 *   fixed...     due at equal steps, LOAD in a second
 *   closed       one after another, in samples of LOAD requests: the capacity of the backend
 *
 * `sojourn` is the time from when a request was due to its end. If one request stalls, those that were due meanwhile
 * show how long they waited. `service` is the time of the same requests from their begin. That is what a harness sees
 * that sends the next request only when the last has returned: it charges the stall to a single request. */
#include "mix.h"

#include <math.h>

enum { BLOCKS = 4, WARM_UP = 100000 /* requests */, WARM_SAMPLES = 2 };

ALWAYS_INLINE void serve(run *r, hand *h) {
    for (int i = 0; i < BLOCKS; i++) replace_mix(r, h);
}

/* The time at which each request is due, in ticks after the first one. */
static uint64_t *schedule(run *r) {
    uint64_t *due = own(r->samples * sizeof *due);
    double step = r->clock.ticks_per_ns * 1e9 / (double)r->load, at = 0;
    bool even = strncmp(r->order, "fixed", strlen("fixed")) == 0;
    for (size_t i = 0; i < r->samples; i++) {
        due[i] = (uint64_t)at;
        at += even ? step : -log(((double)(next_random(&r->hand) >> 11) + 0.5) * 0x1p-53) * step;
    }
    return due;
}

static void serve_as_due(run *r, const uint64_t *due) {
    hand h = r->hand;
    uint64_t *sojourn = r->series[0].values, *service = r->series[1].values;
    uint64_t start = flat_clock_begin();
    for (size_t i = 0; i < r->samples; i++) {
        uint64_t begin, when = start + due[i];
        do {
            begin = flat_clock_begin();
        } while (begin < when);
        serve(r, &h);
        uint64_t end = flat_clock_end();
        sojourn[i] = end - when;
        service[i] = end - begin;
    }
    r->hand = h;
}

/* The clock is read for each request, as above, so that the schedule is a share of this capacity. */
static void serve_at_once(run *r) {
    hand h = r->hand;
    uint64_t *request = r->series[0].values;
    for (size_t i = 0; i < r->samples + WARM_SAMPLES; i++) {
        uint64_t begin = flat_clock_begin(), end = begin;
        for (size_t k = 0; k < r->load; k++) {
            (void)flat_clock_begin();
            serve(r, &h);
            end = flat_clock_end();
        }
        request[i < WARM_SAMPLES ? 0 : i - WARM_SAMPLES] = end - begin;
    }
    r->hand = h;
}

void arrivals(run *r) {
    bool closed = strcmp(r->order, "closed") == 0;
    uint64_t *due = NULL;
    if (closed) {
        add_series(r, "request", (uint32_t)r->load);
    } else {
        add_series_of(r, "sojourn", DELAY, 1, r->samples);
        add_series(r, "service", 1)->unranked = true;
        due = schedule(r);
    }
    own_mix(r);
    prepare_mix(r);
    for (size_t i = 0; i < WARM_UP; i++) serve(r, &r->hand);
    begin_timed(r);
    if (closed) {
        serve_at_once(r);
    } else {
        serve_as_due(r, due);
    }
    end_timed(r, 0);
    empty_mix(r);
}
