/* engine, tasks that arrive on a schedule, whether or not the last one is done. A task reads its payload, and then
 * keeps its processor for WORK_NS, at whatever speed that runs.
 *
 *   closed       batches of LOAD tasks, submitted as fast as they are accepted: the capacity, `request`
 *   poisson-...  due at random times, LOAD in a second on average. A task that is refused is submitted again until it
 *                is accepted, and stays due when it was
 *   overload     due at equal steps, twice as many as the capacity, which is measured for a second just before. A task
 *                that is refused is counted and forgotten. OVERLOAD_CAPACITY of them may be accepted and not done.
 *                LOAD: the queue's bound on a sojourn, in ns (0: none is stated)
 *   overload-... the same for a minute, with a capacity that is measured for five seconds
 *
 * `sojourn` is the time from when a task was due to its end. If one stalls, those that were due meanwhile show how long
 * they waited. Under overload one of several tasks is kept, chosen by its number, so that a process has SAMPLES of them
 * or fewer; the longest, and those above the bound, are of all tasks, and are counted from the submit.
 *
 * Tagged tasks are those that overlap a time in which the machine did something else. It is noticed in three ways: a
 * task ran longer than OVERLOAD_SERVICE_NS, although each has the same to do; a thread did not get on for NOTICED_NS in
 * code of this file; or it did not get on for that time in code of the queue, and the system says that it had no
 * processor for at least half of it. What the system does not say, as most of a hypervisor's and of the kernel's own
 * interruptions, is a gap: NOTICED_NS or more in code of the queue, between two tasks of which the second one waited,
 * or within a submit. It is counted apart, since the queue itself may be its cause. Nothing is left out for any of
 * that. */
#define _GNU_SOURCE
#include "engine.h"
#include "run_delay.h"

#include <math.h>

enum {
    WORK_NS = 2000,
    NOTICED_NS = 10000,
    ARRIVALS_CAPACITY = 1024, /* tasks that are accepted and not done, where the load is below the capacity */
    STAMPS = 4096,            /* more than can be accepted and not done: a power of two */
    MARKS = 1 << 20,          /* the most of a thread */
    LATES = 1 << 22,          /* the most that are kept */
    WARM_UP_TASKS = 20000,
    WARM_BATCHES = 2,
    LOOK_EVERY_NS = 10000000, /* at what the system says of the thread, at least */
    CHECKED_OF_REFUSALS = 16, /* of so many submits one is checked */
    SECONDS = 5,
    LONG_SECONDS = 60,
    PROBE_SECONDS = 1, /* in which the capacity is measured */
    LONG_PROBE_SECONDS = 5,
};

typedef struct span {
    uint64_t from, to; /* ticks */
} span;

typedef struct spans {
    span *all;
    size_t count, room, more; /* `more` did not fit */
} spans;

static void add_span(spans *to, uint64_t from, uint64_t until) {
    if (to->count == to->room) {
        to->more++;
    } else {
        to->all[to->count++] = (span){from, until};
    }
}

static spans spans_for(size_t room) { return (spans){.all = own(room * sizeof(span)), .room = room}; }

/* When a task was due and submitted. The submitter writes it before the submit. */
typedef struct stamp {
    uint64_t due, submitted;
} stamp;

static struct {
    double ticks_per_ns;
    uint64_t work, noticed, service, bound, look_every; /* ticks */
    uint64_t from, every; /* the number of the first task that may be kept; of how many one is kept */
    stamp *stamps;
} arriving;

/* What a thread notices of the machine. */
typedef struct observer {
    spans marks, gaps;
    own_run_delay delay;
    bool knows_delay;   /* the system reports it */
    uint64_t looked_at; /* ticks */
} observer;

/* The consumer's. */
static struct {
    _Alignas(OWN_LINES) uint64_t last_end;
    uint64_t longest; /* from submit to end */
    uint64_t tasks, broken;
    spans kept, late;
    observer noticed;
    _Alignas(OWN_LINES) char behind[OWN_LINES];
} served;

/* The submitter's. */
static struct {
    uint64_t now; /* when it was last known to get on */
    observer noticed;
} sending;

/* Only the thread that is observed can call it. */
static void begin_to_observe(observer *by) {
    by->knows_delay = count_own_run_delay(&by->delay);
    by->looked_at = flat_clock_begin();
}

/* Ticks for which the system says that the thread had no processor since the last look. */
static double delay_since_look(observer *by, uint64_t now) {
    by->looked_at = now;
    return by->knows_delay ? (double)own_run_delay_since(&by->delay) * arriving.ticks_per_ns : 0;
}

/* Keeps short delays, which nothing else notices, from adding up to what would explain a long one. */
static void look_now_and_then(observer *by, uint64_t now) {
    if (UNLIKELY(now - by->looked_at > arriving.look_every)) (void)delay_since_look(by, now);
}

/* A time that just ended, in which this thread did not get on in code of this file. */
static void mark(observer *by, uint64_t from, uint64_t to) {
    add_span(&by->marks, from, to);
    (void)delay_since_look(by, to); /* it explains nothing that comes later */
}

/* The same in code of the queue. */
static void mark_gap(observer *by, uint64_t from, uint64_t to) {
    bool was_preempted = delay_since_look(by, to) * 2 >= (double)(to - from);
    add_span(was_preempted ? &by->marks : &by->gaps, from, to);
}

static void note_end(const stamp *of, uint64_t number, uint64_t begin, uint64_t end) {
    if (served.tasks++ == 0) {
        begin_to_observe(&served.noticed);
        served.last_end = begin;
    }
    uint64_t sojourn = end - of->submitted,
             idle_from = served.last_end > of->submitted ? served.last_end : of->submitted;
    if (UNLIKELY(end - begin > arriving.service)) {
        served.broken++;
        mark(&served.noticed, begin, end);
    }
    if (UNLIKELY(begin > idle_from + arriving.noticed)) mark_gap(&served.noticed, idle_from, begin);
    look_now_and_then(&served.noticed, end);
    served.last_end = end;
    if (number < arriving.from) return;
    if (scattered(number) % arriving.every == 0) add_span(&served.kept, of->due, end);
    if (sojourn > served.longest) served.longest = sojourn;
    if (arriving.bound != 0 && sojourn > arriving.bound) add_span(&served.late, of->submitted, end);
}

static void serve_task(struct flat_worker *here, void *payload, size_t size) {
    (void)here;
    uint64_t begin = flat_clock_begin(), number = read_payload(payload, size);
    uint64_t read = flat_clock_begin(), end;
    do {
        end = flat_clock_end();
    } while (end - read < arriving.work);
    note_end(&arriving.stamps[number % STAMPS], number, begin, end);
    executed_one();
}

static bool is_overload(const run *r) { return strncmp(r->order, "overload", strlen("overload")) == 0; }
static bool is_closed(const run *r) { return strcmp(r->order, "closed") == 0; }
static bool is_random(const run *r) { return strncmp(r->order, "poisson", strlen("poisson")) == 0; }

bool plan_arrivals(run *r, queue_plan *plan) {
    if (!is_overload(r) && !is_closed(r) && !is_random(r)) return false;
    if (!is_overload(r) && r->load == 0) fail(STATUS_USAGE, "the load must not be 0 in this order of suite ", r->suite);
    plan->capacity = is_overload(r) ? OVERLOAD_CAPACITY : ARRIVALS_CAPACITY;
    plan->service_ns = OVERLOAD_SERVICE_NS;
    arriving.ticks_per_ns = r->clock.ticks_per_ns;
    arriving.noticed = (uint64_t)(NOTICED_NS * r->clock.ticks_per_ns);
    arriving.service = (uint64_t)(OVERLOAD_SERVICE_NS * r->clock.ticks_per_ns);
    arriving.look_every = (uint64_t)(LOOK_EVERY_NS * r->clock.ticks_per_ns);
    arriving.stamps = own(STAMPS * sizeof *arriving.stamps);
    arriving.every = 1;
    served.kept = spans_for(r->samples);
    served.late = spans_for(LATES);
    served.noticed.marks = spans_for(MARKS);
    served.noticed.gaps = spans_for(MARKS);
    sending.noticed.marks = spans_for(MARKS);
    sending.noticed.gaps = spans_for(MARKS);
    arriving.work = (uint64_t)(WORK_NS * r->clock.ticks_per_ns);
    begin_to_observe(&sending.noticed);
    return true;
}

/* Submits the next task, which is due at `due`. False: refused. */
static bool send_due(sender *by, uint64_t due) {
    write_next(by);
    arriving.stamps[by->number % STAMPS] = (stamp){due, flat_clock_begin()};
    if (!queue_submit(serve_task, by->payload)) return false;
    count_sent(by);
    return true;
}

/* Returns at `due`. If the thread did not get on meanwhile, or since the last call, marks that time. */
static void wait_until(uint64_t due) {
    uint64_t now = flat_clock_begin(), before = sending.now;
    if (UNLIKELY(now - before > arriving.noticed)) mark_gap(&sending.noticed, before, now);
    look_now_and_then(&sending.noticed, now);
    while (now < due) {
        before = now;
        now = flat_clock_begin();
        if (UNLIKELY(now - before > arriving.noticed)) mark(&sending.noticed, before, now);
    }
    sending.now = now;
}

/* Submits `count` tasks as fast as they are accepted, and returns how many ticks they took. */
static uint64_t send_at_once(const run *r, sender *by, size_t count) {
    uint64_t begin = flat_clock_begin();
    for (size_t i = 0; i < count; i++) {
        while (!send_due(by, flat_clock_begin())) rest_briefly();
    }
    await_all(r, by);
    return flat_clock_end() - begin;
}

static void sample_closed(run *r, sender *by) {
    uint64_t *values = add_series(r, "request", (uint32_t)r->load)->values;
    arriving.from = UINT64_MAX;
    for (size_t i = 0; i < r->samples + WARM_BATCHES; i++) {
        if (i == WARM_BATCHES) begin_timed(r);
        values[i < WARM_BATCHES ? 0 : i - WARM_BATCHES] = send_at_once(r, by, r->load);
    }
    end_timed(r, r->samples * r->load);
}

/* Whether a span overlaps one of those marked, which are in the order of time. */
static bool overlaps(const spans *marks, span of) {
    size_t low = 0, high = marks->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (marks->all[middle].to <= of.from) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < marks->count && marks->all[low].from < of.to;
}

typedef struct tags {
    uint64_t all, in_gaps; /* `in_gaps`: those of them that a gap overlaps */
} tags;

static void count_tags(tags *to, span of) {
    const observer *consumer = &served.noticed, *submitter = &sending.noticed;
    bool in_gap = overlaps(&consumer->gaps, of) || overlaps(&submitter->gaps, of);
    to->all += in_gap || overlaps(&consumer->marks, of) || overlaps(&submitter->marks, of);
    to->in_gaps += in_gap;
}

static size_t left_out(const observer *by) { return by->marks.more + by->gaps.more; }

static void add_sojourns(run *r) {
    tags tagged = {0, 0};
    uint64_t *values = add_series_of(r, "sojourn", DELAY, 1, served.kept.count)->values;
    for (size_t i = 0; i < served.kept.count; i++) {
        span of = served.kept.all[i];
        values[i] = of.to - of.from;
        count_tags(&tagged, of);
    }
    add_figure(r, "tagged", COUNT, 1, tagged.all);
    add_figure(r, "tagged by gaps", COUNT, 1, tagged.in_gaps);
    add_figure(r, "tasks over their service limit", COUNT, 1, served.broken);
    if (left_out(&served.noticed) + left_out(&sending.noticed) + served.late.more != 0)
        fail(STATUS_FAILED, "the machine was too noisy to keep count", "");
}

static uint64_t random_step(hand *h, double mean) {
    return (uint64_t)(-log(((double)(next_random(h) >> 11) + 0.5) * 0x1p-53) * mean);
}

static void send_scheduled(run *r, sender *by) {
    const double mean = r->clock.ticks_per_ns * 1e9 / (double)r->load;
    uint64_t *due = own(r->samples * sizeof *due), refused = 0, start;
    for (size_t i = 0; i < r->samples; i++) due[i] = (i == 0 ? 0 : due[i - 1]) + random_step(&r->hand, mean);
    arriving.from = UINT64_MAX;
    (void)send_at_once(r, by, WARM_UP_TASKS);
    arriving.from = by->number;
    begin_timed(r);
    start = sending.now = flat_clock_begin();
    for (size_t i = 0; i < r->samples; i++) {
        wait_until(start + due[i]);
        for (; !send_due(by, start + due[i]); refused++) rest_briefly();
    }
    await_all(r, by);
    end_timed(r, r->samples);
    if (served.kept.count != r->samples || served.kept.more != 0)
        fail(STATUS_FAILED, "the kept tasks are not those that were due", "");
    add_sojourns(r);
    add_figure(r, "refused", COUNT, 1, refused);
}

/* What an overload does, in addition to the sojourns. */
typedef struct overload {
    uint64_t offered, refused, early;    /* tasks; `early`: refused although fewer than the capacity were not done */
    uint64_t ticks, executed;            /* while it lasts */
    size_t resident_soon, resident_last; /* bytes, after a second and at the end */
} overload;

/* Whether fewer tasks than the capacity were accepted and not done. A task is counted as executed at its end, and its
 * place is given back after that: so one is left out. */
static bool has_room(const sender *by, uint64_t executed) { return by->number - executed + 1 < OVERLOAD_CAPACITY; }

static void offer(run *r, sender *by, double step, uint64_t lasting, overload *result) {
    const uint64_t second = (uint64_t)(1e9 * r->clock.ticks_per_ns), executed = executed_so_far();
    uint64_t start = sending.now = flat_clock_begin(), due = start, seen = 0;
    for (; due - start < lasting; due = start + (uint64_t)((double)++result->offered * step)) {
        if (result->resident_soon == 0 && due - start > second) result->resident_soon = resident_bytes();
        wait_until(due);
        bool checked = result->offered % CHECKED_OF_REFUSALS == 0;
        if (checked) seen = executed_so_far();
        if (send_due(by, due)) continue;
        result->refused++;
        result->early += checked && has_room(by, seen);
    }
    result->ticks = flat_clock_begin() - start;
    result->executed = executed_so_far() - executed;
    result->resident_last = resident_bytes();
}

static void add_overload(run *r, const overload *of, double capacity) {
    const double second = 1e9 * r->clock.ticks_per_ns;
    tags tagged = {0, 0};
    for (size_t i = 0; i < served.late.count; i++) count_tags(&tagged, served.late.all[i]);
    add_figure(r, "capacity a second", COUNT, 1, (uint64_t)capacity);
    add_figure(r, "done a second", COUNT, 1, (uint64_t)((double)of->executed * second / (double)of->ticks));
    add_figure(r, "offered", COUNT, 1, of->offered);
    add_figure(r, "refused", COUNT, 1, of->refused);
    add_figure(r, "refused early", COUNT, 1, of->early * CHECKED_OF_REFUSALS);
    add_figure(r, "bytes grown", COUNT, 1,
               of->resident_last > of->resident_soon ? of->resident_last - of->resident_soon : 0);
    add_figure(r, "longest ns", COUNT, 1, (uint64_t)((double)served.longest / r->clock.ticks_per_ns));
    add_figure(r, "bound ns", COUNT, 1, r->load);
    add_figure(r, "above the bound", COUNT, 1, served.late.count - tagged.all);
    add_figure(r, "above the bound, tagged", COUNT, 1, tagged.all);
}

static void send_overload(run *r, sender *by) {
    const double second = 1e9 * r->clock.ticks_per_ns;
    const bool lasts = strcmp(r->order, "overload-minute") == 0;
    const uint64_t seconds = lasts ? LONG_SECONDS : SECONDS, probed = lasts ? LONG_PROBE_SECONDS : PROBE_SECONDS;
    overload result = {0};
    arriving.from = UINT64_MAX;
    uint64_t each = send_at_once(r, by, WARM_UP_TASKS) / WARM_UP_TASKS;
    size_t probes = (size_t)((double)probed * second / (double)each);
    double capacity = (double)probes * second / (double)send_at_once(r, by, probes);
    (void)resident_bytes(); /* what it needs is resident from now on */
    arriving.bound = (uint64_t)((double)r->load * r->clock.ticks_per_ns);
    arriving.every = (uint64_t)(capacity * (double)seconds / (double)r->samples) + 1;
    arriving.from = by->number;
    begin_timed(r);
    offer(r, by, second / (2 * capacity), (uint64_t)((double)seconds * second), &result);
    await_all(r, by);
    end_timed(r, result.offered);
    add_sojourns(r);
    add_overload(r, &result, capacity);
}

bool send_arrivals(run *r, sender *by) {
    if (is_closed(r)) {
        sample_closed(r, by);
    } else if (is_random(r)) {
        send_scheduled(r, by);
    } else if (is_overload(r)) {
        send_overload(r, by);
    } else {
        return false;
    }
    return true;
}
