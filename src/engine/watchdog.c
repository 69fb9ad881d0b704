/* The watchdog: a thread that looks at what each worker shows, and reports a task that runs for too long. It takes no
 * lock that a worker takes, and a worker does nothing for it until it is asked for its stack. */
#include "engine.h"

#include "../os/address_text.h"
#include "../os/stack_capture.h"

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#define LOOKS_PER_LIMIT 4
#define LEAST_LOOK_NS 1000000u /* more often would take a visible part of a processor */
#define MOST_LOOK_NS 100000000u
#define ANSWER_NS 100000000u
#define REPORT_BYTES 4096 /* what a pipe that is writable takes without a wait */
#define NAME_BYTES 256
#define SHOWN_DEPTH 24

typedef struct report_text {
    char text[REPORT_BYTES];
    size_t length;
} report_text;

static void end_report(report_text *report, int added) {
    size_t left = sizeof report->text - report->length;
    if (added > 0) report->length += (size_t)added < left ? (size_t)added : left - 1;
}

#define ADD_TO_REPORT(report, ...)                                                                                     \
    end_report((report),                                                                                               \
               snprintf(&(report)->text[(report)->length], sizeof(report)->text - (report)->length, __VA_ARGS__))

/* As one write, and none if standard error would not take it at once: a reader of it that stands still must not stop
 * the watchdog. */
static void write_report(const report_text *report) {
    struct pollfd to = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&to, 1, 0) != 1 || (to.revents & POLLOUT) == 0) return;
    ssize_t written = write(STDERR_FILENO, report->text, report->length);
    (void)written; /* there is nobody to tell */
}

/* What is reported where no function of the program's gets it. */
static void report_in_words(const flat_overrun *overrun, uint32_t thread) {
    report_text report = {.length = 0};
    char name[NAME_BYTES];
    flat_address_text((const void *)(uintptr_t)overrun->run, name, sizeof name);
    ADD_TO_REPORT(&report, "flatline: worker %zu (thread %u) has been running a task for %llu us, limit %llu us: %s\n",
                  overrun->worker, thread, (unsigned long long)overrun->running_ns / 1000,
                  (unsigned long long)overrun->limit_ns / 1000, name);
    for (size_t i = 0; i < overrun->stack_depth && i < SHOWN_DEPTH; i++) {
        /* A return address is behind its call, which may be the last instruction of its function. */
        flat_address_text((const char *)overrun->stack[i] - (i != 0), name, sizeof name);
        ADD_TO_REPORT(&report, "    #%-2zu %s\n", i, name);
    }
    if (overrun->stack_depth == 0) ADD_TO_REPORT(&report, "    no stack: the thread did not answer SIGURG\n");
    write_report(&report);
}

/* Reports the task that `worker` has been running since `since`. */
static void report_task(const flat_engine *engine, flat_worker *worker, uint64_t run, uint64_t since, uint64_t now) {
    void *stack[CAPTURE_DEPTH];
    uint32_t thread = (uint32_t)seen(&worker->statistics->thread);
    size_t depth = thread != 0 ? flat_capture_stack(thread, ANSWER_NS, stack) : 0;
    /* Meanwhile the task may have ended: then the stack is another's. */
    if (seen(&worker->statistics->running_since) != since || seen(&worker->statistics->running) != run) depth = 0;
    flat_overrun overrun = {.worker = worker->number,
                            .run = (flat_task_function *)(uintptr_t)run,
                            .running_ns = ns_of_ticks(&engine->rate, now - since),
                            .limit_ns = engine->watchdog_ns,
                            .stack = stack,
                            .stack_depth = depth};
    count_up(&worker->statistics->overruns, 1);
    if (engine->overrun != NULL) {
        engine->overrun(engine->overrun_context, &overrun);
    } else {
        report_in_words(&overrun, thread);
    }
}

/* Each run of a task has its own begin, by which it is told apart. */
static void look_at_worker(const flat_engine *engine, flat_worker *worker) {
    worker_statistics *statistics = worker->statistics;
    uint64_t run = seen_last(&statistics->running);
    uint64_t since = seen(&statistics->running_since), now = read_ticks();
    if (run == 0 || since == statistics->reported || now < since || now - since <= engine->watchdog_ticks) return;
    show(&statistics->reported, since);
    report_task(engine, worker, run, since, now);
}

static uint64_t time_between_looks(const flat_engine *engine) {
    uint64_t ns = engine->watchdog_ns / LOOKS_PER_LIMIT;
    return ns < LEAST_LOOK_NS ? LEAST_LOOK_NS : ns > MOST_LOOK_NS ? MOST_LOOK_NS : ns;
}

/* Looks until the engine is destroyed. */
void flat_engine_watch(flat_engine *engine) {
    uint64_t between = time_between_looks(engine);
    while (__atomic_load_n(&engine->watchdog_ends, __ATOMIC_ACQUIRE) == 0) {
        for (uint32_t i = 0; i < engine->worker_count; i++) look_at_worker(engine, &engine->workers[i]);
        flat_sleep_while(&engine->watchdog_ends, 0, between);
    }
}
