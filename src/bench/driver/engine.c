/* engine: tasks that one thread submits and another runs. Each thread has a processor of its own. A task reads all of
 * its payload, of SIZE bytes.
 *
 *   busy, sleeping              `run`: from right before a submit to the begin of the task, one task at a time
 *   busy-answer, sleeping-answer `answer`: from right before a submit until the submitter knows that the task is done
 *   saturated                   `task`: batches of tasks that are submitted as fast as they are accepted
 *   the others                  see engine_arrivals.c
 *
 * Where the consumer sleeps, the pause before a submit is long enough for it to fall asleep, else short. The clock is
 * read on both processors; before anything is timed it is checked that their counters agree. */
#define _GNU_SOURCE
#include "engine.h"

#include <sched.h>
#include <stdio.h>
#include <unistd.h>

enum {
    CAPACITY_OF_QUEUE = 64,   /* tasks */
    BATCH_OF_TASKS = 100000,  /* of `saturated` */
    SHORTEST_PAUSE = 1000,    /* ns */
    SPREAD_OF_PAUSES = 2000,  /* ns */
    SHORTEST_SLEEP = 100000,  /* ns */
    SPREAD_OF_SLEEPS = 100000 /* ns */
};

const bench_traits bench_backend = {.driver = BENCH_DRIVER};

tally consumer_tally;

void queue_failed(const char *what) { fail(STATUS_FAILED, what, ""); }

/* The interface of allocators, as far as the other parts of the driver need it. */
static queue_plan planned;

bool bench_prepare(const bench_class *classes, size_t count, bench_pages pages) {
    (void)classes;
    (void)count;
    (void)pages;
    return queue_begin(&planned);
}

void await_all(const run *r, const sender *by) {
    const uint64_t patience = (uint64_t)(5e9 * r->clock.ticks_per_ns);
    for (uint64_t since = flat_clock_begin(), executed; (executed = executed_so_far()) != by->number;) {
        if (executed > by->number) fail(STATUS_FAILED, "a task ran twice", "");
        if (flat_clock_begin() - since > patience) fail(STATUS_FAILED, "a task was accepted and did not run", "");
        rest_briefly();
    }
}

/* When each task began. */
static uint64_t *begins;
static uint64_t most_begins;

static void note_begin(struct flat_worker *here, void *payload, size_t size) {
    (void)here;
    uint64_t now = flat_clock_begin(), number = read_payload(payload, size);
    if (number < most_begins) begins[number] = now; /* else it is damaged, which the balance tells */
    executed_one();
}

static void read_only(struct flat_worker *here, void *payload, size_t size) {
    (void)here;
    (void)read_payload(payload, size);
    executed_one();
}

static uint64_t ticks_of(const run *r, uint64_t ns) { return (uint64_t)((double)ns * r->clock.ticks_per_ns); }

static void wait_for_pause(const run *r, hand *h) {
    uint64_t pause =
        planned.sleeping ? SHORTEST_SLEEP + below(h, SPREAD_OF_SLEEPS) : SHORTEST_PAUSE + below(h, SPREAD_OF_PAUSES);
    for (uint64_t until = flat_clock_begin() + ticks_of(r, pause); flat_clock_begin() < until;) rest_briefly();
}

/* Submits a task by itself, and returns when the clock was read right before. */
ALWAYS_INLINE uint64_t submit_one(sender *by, queue_task *task) {
    uint64_t begin = flat_clock_begin();
    if (UNLIKELY(!queue_submit(task, by->payload))) fail(STATUS_FAILED, "a single task was refused", "");
    return begin;
}

static void sample_runs(run *r, sender *by) {
    const size_t warm = r->samples / 4, all = warm + r->samples;
    uint64_t *values = r->series[0].values;
    hand h = r->hand;
    for (size_t i = 0; i < all; i++) {
        if (i == warm) begin_timed(r);
        write_next(by);
        wait_for_pause(r, &h);
        uint64_t begin = submit_one(by, note_begin);
        count_sent(by);
        if (i >= warm) values[i - warm] = begin;
        await_all(r, by);
    }
    end_timed(r, r->samples);
    for (size_t i = 0; i < r->samples; i++) values[i] = begins[warm + i] - values[i];
    r->hand = h;
}

static void sample_answers(run *r, sender *by) {
    const size_t warm = r->samples / 4, all = warm + r->samples;
    uint64_t *values = r->series[0].values;
    hand h = r->hand;
    for (size_t i = 0; i < all; i++) {
        if (i == warm) begin_timed(r);
        write_next(by);
        wait_for_pause(r, &h);
        uint64_t begin = submit_one(by, read_only);
        queue_await();
        uint64_t end = flat_clock_end();
        count_sent(by);
        if (i >= warm) values[i - warm] = end - begin;
        if (UNLIKELY(executed_so_far() < by->number)) fail(STATUS_FAILED, "a task that did not run was completed", "");
    }
    end_timed(r, r->samples);
    r->hand = h;
}

static void sample_batches(run *r, sender *by) {
    enum { WARM_BATCHES = 1 };
    uint64_t *values = r->series[0].values;
    for (size_t i = 0; i < r->samples + WARM_BATCHES; i++) {
        if (i == WARM_BATCHES) begin_timed(r);
        uint64_t begin = flat_clock_begin();
        for (size_t k = 0; k < BATCH_OF_TASKS; k++) {
            write_next(by);
            while (!queue_submit(read_only, by->payload)) rest_briefly();
            count_sent(by);
        }
        await_all(r, by);
        values[i < WARM_BATCHES ? 0 : i - WARM_BATCHES] = flat_clock_end() - begin;
    }
    end_timed(r, BATCH_OF_TASKS * r->samples);
}

static bool is_planned_size(size_t size) {
#define IS_SIZE(bytes) || size == (bytes)
    return false QUEUE_SIZES(IS_SIZE);
#undef IS_SIZE
}

/* Allows every processor to this thread, and returns another one than `first`. A library that counts the processors
 * when it starts must find both. */
static int processor_of_consumer(const run *r) {
    cpu_set_t allowed;
    memset(&allowed, 0xff, sizeof allowed); /* the kernel keeps only those that this process may use */
    if (sched_setaffinity(0, sizeof allowed, &allowed) != 0 || sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        fail(STATUS_FAILED, "cannot read which processors this process may use", "");
    size_t first = r->processor < 0 ? 0 : (size_t)r->processor;
    for (size_t i = 1; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET((first + i) % CPU_SETSIZE, &allowed)) return (int)((first + i) % CPU_SETSIZE);
    }
    fail(STATUS_FAILED, "too few processors: the submitter and the worker each need their own in suite ", r->suite);
}

static void stay_on_own(const run *r) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(r->processor < 0 ? 0 : (size_t)r->processor, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) fail(STATUS_FAILED, "cannot run on the requested processor", "");
}

static void send_all(run *r, sender *by) {
    if (send_arrivals(r, by)) return;
    if (strcmp(r->order, "saturated") == 0) {
        sample_batches(r, by);
    } else if (planned.completions) {
        sample_answers(r, by);
    } else {
        sample_runs(r, by);
    }
}

static void add_engine_series(run *r) {
    if (plan_arrivals(r, &planned)) return;
    if (strcmp(r->order, "saturated") == 0) {
        add_series(r, "task", BATCH_OF_TASKS);
    } else if (planned.completions) {
        add_series(r, "answer", 1);
    } else {
        most_begins = r->samples + r->samples / 4;
        begins = own(most_begins * sizeof *begins);
        add_series_of(r, "run", DELAY, 1, r->samples); /* the counters of two processors have no common step */
    }
}

void engine(run *r) {
    static sender by;
    if (!is_planned_size(r->size)) fail(STATUS_USAGE, "no queue is compiled for this size of payloads", "");
    int processor = processor_of_consumer(r);
    planned = (queue_plan){.size = r->size,
                           .capacity = CAPACITY_OF_QUEUE,
                           .sleeping = strncmp(r->order, "sleeping", strlen("sleeping")) == 0,
                           .completions = strstr(r->order, "-answer") != NULL,
                           .processor = processor};
    by.size = r->size;
    add_engine_series(r);
    stay_on_own(r);
    uint64_t apart = counters_apart(processor);
    (void)processor_of_consumer(r); /* allows all of them again */
    prepare(r, NULL, 0, BENCH_PREFAULTED);
    stay_on_own(r);
    send_all(r, &by);
    await_all(r, &by);
    queue_end();
    add_figure(r, "counters apart", COUNT, 1, apart);
    r->hand.balance = by.balance - consumer_tally.balance;
}
