/* An engine that is offered twice what it can do, for as many seconds as the first argument says. What does not fit is
 * refused and counted. While it runs, look at it with `flatline top`. With a second argument, what Prometheus would
 * scrape is written to that file at the end. */
#define _POSIX_C_SOURCE 200809L
#include <flatline/engine.h>
#include <flatline/engine_statistics.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define WORKERS 2
#define TICK 100000 /* ns: every so often the tasks that are due are submitted */
#define TASKS_PER_TICK 22
#define SLOW_EVERY 40000 /* tasks: one that is too slow */
#define SLOW_NS 30000000
#define WATCHDOG_NS 20000000

enum { QUOTE, RISK, REPORT };
static const char *const type_names[FLAT_ENGINE_TASK_TYPES] = {[QUOTE] = "quote", [RISK] = "risk", [REPORT] = "report"};

/* Which part of its life the program is in. Only the tests read it: they require that the heap is not called while it
 * is STEADY. */
volatile enum { STARTING, STEADY, ENDING } phase;

static flat_engine *engine;
static flat_submitter *submitter;
static atomic_uint overruns;
static char metrics[1 << 20];

/* Works for as long as the payload says. */
static void work_until(flat_worker *here, uint64_t ns) {
    const uint64_t end = flat_engine_now(flat_engine_of(here)) + ns;
    while (flat_engine_now(flat_engine_of(here)) < end) continue;
}

void run_quote(flat_worker *here, void *payload, size_t size) {
    (void)size;
    work_until(here, *(const uint64_t *)payload);
}

void run_risk(flat_worker *here, void *payload, size_t size) {
    (void)size;
    work_until(here, *(const uint64_t *)payload);
}

void run_report(flat_worker *here, void *payload, size_t size) {
    (void)size;
    work_until(here, *(const uint64_t *)payload);
}

static void count_overrun(void *context, const flat_overrun *overrun) {
    (void)overrun;
    atomic_fetch_add((atomic_uint *)context, 1);
}

/* One task of each kind in turn: short and urgent ones with a deadline, longer ones, and some that start later. */
static flat_status submit_number(uint64_t number) {
    uint64_t payload[32] = {5000};
    flat_task task = {.run = run_quote, .type = QUOTE, .urgency = 3};
    size_t size = sizeof *payload;
    if (number % 11 == 10) {
        task = (flat_task){.run = run_report, .type = REPORT, .start_ns = flat_engine_now(engine) + 1000000};
        payload[0] = 60000;
        size = 256;
    } else if (number % 3 == 2) {
        task = (flat_task){.run = run_risk, .type = RISK, .urgency = (unsigned)(number % 2) + 1};
        payload[0] = number % SLOW_EVERY == SLOW_EVERY - 2 ? SLOW_NS : 30000;
        size = 64;
    } else {
        task.deadline_ns = flat_engine_now(engine) + 5000000;
    }
    return flat_engine_submit(submitter, number % WORKERS, &task, payload, size);
}

/* Submits what is due at each tick, whether or not the engine can take it. */
static uint64_t offer(double seconds) {
    uint64_t number = 0, accepted = 0, next = flat_engine_now(engine);
    const uint64_t end = next + (uint64_t)(seconds * 1e9);
    for (; next < end; next += TICK) {
        while (flat_engine_now(engine) < next) {
            const struct timespec rest = {.tv_nsec = TICK / 2};
            (void)nanosleep(&rest, NULL);
        }
        for (int i = 0; i < TASKS_PER_TICK; i++) accepted += submit_number(number++) == FLAT_OK;
    }
    return accepted;
}

static uint64_t count_refused(void) {
    flat_submitter_snapshot seen;
    uint64_t refused = 0;
    for (size_t i = 0; flat_engine_submitter_snapshot(engine, i, &seen) == FLAT_OK; i++) {
        for (int reason = 0; reason < FLAT_REFUSALS; reason++) refused += seen.refused[reason];
    }
    return refused;
}

static uint64_t count_ended(void) {
    flat_worker_snapshot seen;
    uint64_t ended = 0;
    for (size_t i = 0; flat_engine_snapshot(engine, i, &seen) == FLAT_OK; i++) {
        ended += seen.outcomes[FLAT_TASK_DONE] + seen.outcomes[FLAT_TASK_EXPIRED];
    }
    return ended;
}

static int write_metrics(const char *path) {
    const size_t length = flat_engine_metrics(engine, metrics, sizeof metrics);
    FILE *file = length < sizeof metrics ? fopen(path, "w") : NULL;
    if (file == NULL) return 0;
    const int whole = fwrite(metrics, 1, length, file) == length;
    return fclose(file) == 0 && whole;
}

int main(int argc, char **argv) {
    const double seconds = argc > 1 ? atof(argv[1]) : 0.5;
    const flat_class classes[] = {{.block_size = 64, .block_count = 1024}, {.block_size = 256, .block_count = 256}};
    const flat_class_limits limits[] = {{.grants = 200, .service_ns = 100000}, {.grants = 40, .service_ns = 200000}};
    const flat_engine_options options = {.worker_count = WORKERS,
                                         .classes = classes,
                                         .class_count = 2,
                                         .class_limits = limits,
                                         .lane_count = 2,
                                         .watchdog_ns = WATCHDOG_NS,
                                         .overrun = count_overrun,
                                         .overrun_context = &overruns,
                                         .type_names = type_names};
    if (flat_engine_create(&engine, &options) != FLAT_OK) return 1;
    if (flat_engine_register(engine, &submitter) != FLAT_OK) return 1;
    phase = STEADY;
    const uint64_t accepted = offer(seconds);
    const flat_status drained = flat_engine_drain(engine, UINT64_C(10000000000));
    phase = ENDING;

    flat_histogram sojourn = {0};
    const flat_status told = flat_engine_histogram(engine, FLAT_ANY_WORKER, FLAT_DURATION_SOJOURN, &sojourn);
    const uint64_t refused = count_refused(), ended = count_ended();
    (void)printf("%llu accepted, %llu refused, %llu ended, %u overruns; sojourn P50 %.1f us, P99.9 %.1f us\n",
                 (unsigned long long)accepted, (unsigned long long)refused, (unsigned long long)ended,
                 atomic_load(&overruns), (double)flat_histogram_quantile(&sojourn, 0.5) / 1000,
                 (double)flat_histogram_quantile(&sojourn, 0.999) / 1000);
    const int written = argc < 3 || write_metrics(argv[2]);
    flat_engine_unregister(submitter);
    flat_engine_destroy(engine);
    return drained == FLAT_OK && told == FLAT_OK && written && refused > 0 && accepted == ended ? 0 : 1;
}
