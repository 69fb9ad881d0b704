/* The control: calls that only return the same block, for ever. This row shows the cost of the harness. */
#include "../backend.h"

#include <flatline/version.h>

#include <stdalign.h>

const bench_traits bench_backend = {
    .driver = "floor", .is_control = true, .prefaults = true, .any_size = true, .remote_free = true};

static _Thread_local alignas(64) char block[8192]; /* one for each thread: threads that write to the same one would wait
                                                      for each other */

bool bench_prepare(const bench_class *classes, size_t count, bench_pages pages) {
    (void)pages;
    return count > 0 && classes[count - 1].size <= sizeof block;
}

void *bench_alloc(size_t size) {
    (void)size;
    return block;
}

void bench_free(void *freed, size_t size) {
    (void)freed;
    (void)size;
}

bench_function *bench_code(void) { return (bench_function *)bench_alloc; }

const char *bench_version(void) { return FLAT_VERSION_STRING; }
