/* Tasks that may run on any of four workers: the engine chooses. With an argument, the record of the tasks is written
 * to that file, for `flatline simulate --record`. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <flatline/engine.h>
#include <flatline/engine_statistics.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TASKS 2000

enum { QUOTE, REPORT };

/* Which part of its life the program is in. Only the tests read it: they require that the heap is not called while it
 * is STEADY. */
volatile enum { STARTING, STEADY, ENDING } phase;

static atomic_uint done;

static void work_for(flat_worker *here, void *payload, size_t size) {
    uint64_t ns;
    if (size < sizeof ns) return;
    memcpy(&ns, payload, sizeof ns);
    const uint64_t end = flat_engine_now(flat_engine_of(here)) + ns;
    while (flat_engine_now(flat_engine_of(here)) < end) continue;
    atomic_fetch_add(&done, 1);
}

/* In a granted block of the worker that the engine chooses. False: no worker has a grant left. */
static bool send_report(flat_submitter *submitter) {
    const uint64_t ns = 20000;
    const flat_task task = {.run = work_for, .type = REPORT};
    const size_t size = 200;
    const size_t worker = flat_engine_dispatch(submitter, &task, size);
    void *block = flat_engine_grant(submitter, worker, size); /* NULL: no worker has a grant left */
    if (block == NULL) return false;
    memcpy(block, &ns, sizeof ns);
    return flat_engine_post(submitter, block, &task) == FLAT_OK;
}

static bool send_quote(flat_submitter *submitter) {
    const uint64_t ns = 2000;
    const flat_task task = {.run = work_for, .type = QUOTE};
    return flat_engine_submit(submitter, FLAT_ANY_WORKER, &task, &ns, sizeof ns) == FLAT_OK;
}

static bool write_record(const flat_engine *engine, const char *path) {
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0) return false;
    const flat_status told = flat_engine_write_record(engine, file);
    return (close(file) == 0 || errno == EINTR) && told == FLAT_OK;
}

int main(int count, char **arguments) {
    const flat_class classes[] = {{64, 128}, {256, 128}};
    char message[256];
    const flat_engine_options options = {.worker_count = 4,
                                         .classes = classes,
                                         .class_count = 2,
                                         .dispatch = FLAT_DISPATCH_PREDICTIVE,
                                         .recorded_tasks = 1000000,
                                         .switchback_slice_ns = 100000000,
                                         .switchback_one_in = 8,
                                         .message = message,
                                         .message_size = sizeof message};
    flat_engine *engine;
    flat_submitter *submitter;
    if (flat_engine_create(&engine, &options) != FLAT_OK) {
        fprintf(stderr, "%s\n", message);
        return 1;
    }
    if (flat_engine_register(engine, &submitter) != FLAT_OK) return 1;
    unsigned sent = 0, refused = 0;
    phase = STEADY;
    while (sent < TASKS) {
        const bool accepted = sent % 8 == 7 ? send_report(submitter) : send_quote(submitter);
        sent += accepted;
        refused += !accepted;
    }
    phase = ENDING;
    const uint64_t minute = 60000000000;
    if (flat_engine_drain(engine, minute) != FLAT_OK || atomic_load(&done) != TASKS) return 1;
    flat_dispatch_gain gain;
    const flat_status told = flat_engine_dispatch_gain(engine, &gain);
    if (told != FLAT_OK) return 1;
    printf("%u tasks on four workers, %u refusals; the gain over two choices is %s\n", sent, refused,
           gain.known ? "known" : "not known yet: too few tasks");
    if (count > 1 && !write_record(engine, arguments[1])) return 1;
    flat_engine_destroy(engine);
    return 0;
}
