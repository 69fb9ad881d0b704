/* The record of an engine's first tasks, as text: see flat_engine_write_record. */
#include "engine.h"

#include <errno.h>
#include <flatline/engine_statistics.h>
#include <stdio.h>
#include <unistd.h>

#define LONGEST_LINE 128
#define LINES_AT_ONCE 32

/* Lines on their way to a file. */
typedef struct record_text {
    int file;
    bool failed;
    size_t length;
    char text[LINES_AT_ONCE * LONGEST_LINE];
} record_text;

static void flush_record(record_text *of) {
    size_t done = 0;
    while (!of->failed && done < of->length) {
        ssize_t written = write(of->file, of->text + done, of->length - done);
        if (written > 0) done += (size_t)written;
        of->failed = written == 0 || (written < 0 && errno != EINTR);
    }
    of->length = 0;
}

static void add_head(record_text *to, const flat_engine *engine) {
    uint64_t missed = 0;
    for (uint32_t i = 0; i < engine->worker_count; i++) missed += seen(&engine->workers[i].unrecorded);
    to->length = (size_t)snprintf(to->text, LONGEST_LINE, "# flatline-record/1 workers=%u submitters=%u missed=%llu\n",
                                  engine->worker_count, engine->submitter_count, (unsigned long long)missed);
    to->length += (size_t)snprintf(to->text + to->length, LONGEST_LINE,
                                   "submitted_ns,service_ns,held_ns,type,submitter,worker\n");
}

static void add_task(record_text *to, const tick_rate *rate, const recorded_task *task, uint32_t worker) {
    if (to->length + LONGEST_LINE > sizeof to->text) flush_record(to);
    to->length += (size_t)snprintf(
        to->text + to->length, LONGEST_LINE, "%llu,%llu,%llu,%u,%u,%u\n",
        (unsigned long long)time_of_ticks(rate, task->submitted), (unsigned long long)ns_of_ticks(rate, task->service),
        (unsigned long long)ns_of_ticks(rate, task->held), task->type, task->submitter, worker);
}

flat_status flat_engine_write_record(const flat_engine *engine, int file) {
    if (engine == NULL || engine->workers[0].record_length == 0) return FLAT_INVALID_ARGUMENT;
    record_text text = {.file = file};
    add_head(&text, engine);
    for (uint32_t i = 0; i < engine->worker_count; i++) {
        const flat_worker *worker = &engine->workers[i];
        uint64_t count = seen_last(&worker->recorded);
        for (uint64_t at = 0; at < count; at++) add_task(&text, &engine->rate, &worker->record[at], i);
    }
    flush_record(&text);
    return text.failed ? FLAT_UNAVAILABLE : FLAT_OK;
}
