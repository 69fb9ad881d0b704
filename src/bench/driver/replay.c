/* Performs recorded operations on a backend and times each. A program of its own for each backend:
 *
 *   bench-replay-BACKEND OPERATIONS TIMES
 *
 * OPERATIONS: a file as in replay_file.h. TIMES: a file that gets the times. Prints one line: ticks in a ns, the cost
 * of reading the clock in ns, and the version of the library that served.
 *
 * The recorded order is kept across threads: they take turns, and a thread that has no turn sleeps. Each is created at
 * its first operation and ends after its last one. A backend whose blocks only one thread may use gets all operations
 * from one thread. A block that is taken is written once on each of its pages, as the program would; this is timed
 * apart from the call. */
#define _GNU_SOURCE
#include "../replay_file.h"
#include "driver.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096, USUAL_ALIGNMENT_BITS = 4 };

typedef struct performer {
    pthread_t thread;
    sem_t turn;
    bool created;
} performer;

static struct {
    const replay_head *head;
    const replay_class *classes;
    const uint64_t *last; /* of each thread */
    const replay_operation *operations;
    replay_times *times;
    void **blocks;
    performer *performers;
    uint64_t next; /* operation; belongs to the thread whose turn it is */
    sem_t done;
} all;

/* The whole file, or `bytes` of a new one. */
static void *mapped(const char *file, size_t bytes, bool is_new) {
    struct stat now;
    int descriptor = open(file, is_new ? O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC : O_RDONLY | O_CLOEXEC, 0600);
    if (descriptor < 0 || (is_new && ftruncate(descriptor, (off_t)bytes) != 0) || fstat(descriptor, &now) != 0)
        fail(STATUS_FAILED, "cannot open ", file);
    if ((size_t)now.st_size < bytes) fail(STATUS_FAILED, "is too short: ", file);
    void *start = mmap(NULL, (size_t)now.st_size, is_new ? PROT_READ | PROT_WRITE : PROT_READ,
                       (is_new ? MAP_SHARED : MAP_PRIVATE) | MAP_POPULATE, descriptor, 0);
    if (start == MAP_FAILED) fail(STATUS_FAILED, "cannot map ", file);
    (void)close(descriptor);
    return start;
}

static void read_operations(const char *file, const char *times) {
    const replay_head *head = mapped(file, sizeof *head, false);
    if (head->mark != REPLAY_MARK || head->operations == 0 || head->threads == 0)
        fail(STATUS_USAGE, "holds no operations: ", file);
    all.head = head;
    all.classes = (const replay_class *)(head + 1);
    all.last = (const uint64_t *)(all.classes + head->classes);
    all.operations = (const replay_operation *)(all.last + head->threads);
    all.times = mapped(times, head->operations * sizeof *all.times, true);
    memset(all.times, 0, head->operations * sizeof *all.times);
    all.blocks = own((head->slots + (size_t)1) * sizeof *all.blocks);
    all.performers = own(head->threads * sizeof *all.performers);
}

static uint32_t ticks_since(uint64_t begin, uint64_t end) {
    return end - begin < UINT32_MAX ? (uint32_t)(end - begin) : UINT32_MAX;
}

_Noreturn static void refuse(uint64_t number) {
    char text[32];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)number + 1);
    fail(STATUS_FAILED, "the backend refused operation ", text);
}

static void *aligned(uint64_t alignment, size_t size) {
    void *block = NULL;
    return posix_memalign(&block, alignment, size) == 0 ? block : NULL;
}

static void write_pages(volatile char *block, size_t size) {
    for (size_t i = 0; i < size; i += PAGE) block[i] = 1;
    block[size - 1] = 1;
}

static void take_block(uint64_t number, const replay_operation *operation) {
    const size_t size = operation->size;
    uint64_t begin, end;
    void *block;
    if (UNLIKELY(bench_backend.is_malloc && operation->alignment_bits > USUAL_ALIGNMENT_BITS)) {
        begin = flat_clock_begin();
        block = aligned(UINT64_C(1) << operation->alignment_bits, size);
        end = flat_clock_end();
    } else {
        begin = flat_clock_begin();
        block = bench_alloc(size);
        end = flat_clock_end();
    }
    if (UNLIKELY(block == NULL)) refuse(number);
    all.times[number].call = ticks_since(begin, end);
    begin = flat_clock_begin();
    write_pages(block, size);
    end = flat_clock_end();
    all.times[number].first_writes = ticks_since(begin, end);
    all.blocks[operation->slot] = block;
}

static void give_block(uint64_t number, const replay_operation *operation) {
    void *block = all.blocks[operation->slot];
    uint64_t begin = flat_clock_begin();
    bench_free(block, operation->size);
    all.times[number].call = ticks_since(begin, flat_clock_end());
}

static void perform(uint64_t number) {
    const replay_operation *operation = &all.operations[number];
    if (operation->takes != 0)
        take_block(number, operation);
    else
        give_block(number, operation);
}

static void *perform_turns(void *of);

static void hand_to(uint32_t thread) {
    performer *to = &all.performers[thread];
    if (!to->created) {
        to->created = true;
        if (sem_init(&to->turn, 0, 0) != 0 || pthread_create(&to->thread, NULL, perform_turns, to) != 0 ||
            pthread_detach(to->thread) != 0)
            fail(STATUS_FAILED, "a thread of the recording cannot be created", "");
    }
    if (sem_post(&to->turn) != 0) fail(STATUS_FAILED, "a thread cannot be woken", "");
}

static void wait_for(sem_t *what) {
    while (sem_wait(what) != 0) {
    } /* a signal interrupted it */
}

static void *perform_turns(void *of) {
    performer *self = of;
    const uint32_t thread = (uint32_t)(self - all.performers);
    if (bench_backend.begin_thread != NULL && !bench_backend.begin_thread())
        fail(STATUS_FAILED, "the backend has no place for one more thread", "");
    bool has_more = true;
    while (has_more) {
        wait_for(&self->turn);
        uint64_t next = all.next;
        for (; next < all.head->operations && all.operations[next].thread == thread; next++) perform(next);
        all.next = next;
        has_more = next <= all.last[thread];
        if (next < all.head->operations)
            hand_to(all.operations[next].thread);
        else if (sem_post(&all.done) != 0)
            fail(STATUS_FAILED, "the end cannot be told", "");
    }
    return NULL;
}

static void prepare_backend(size_t threads) {
    bench_class *classes = own((all.head->classes + (size_t)1) * sizeof *classes);
    for (size_t i = 0; i < all.head->classes; i++)
        classes[i] = (bench_class){all.classes[i].size, all.classes[i].count};
    if (threads > 1 && bench_backend.use_threads != NULL) bench_backend.use_threads(threads);
    if (!bench_prepare(classes, all.head->classes, BENCH_PREFAULTED))
        fail(STATUS_FAILED, "cannot prepare the backend", "");
}

int main(int argc, char **argv) {
    if (argc != 3)
        fail(STATUS_USAGE,
             "`flatline replay` runs this program: ", "see the head of driver/replay.c for the arguments");
    read_operations(argv[1], argv[2]);
    const flat_clock clock = flat_clock_calibrate();
    const size_t threads = bench_backend.remote_free ? all.head->threads : 1;
    prepare_backend(threads);
    if (threads == 1) {
        for (uint64_t i = 0; i < all.head->operations; i++) perform(i);
    } else {
        if (sem_init(&all.done, 0, 0) != 0) fail(STATUS_FAILED, "the end cannot be waited for", "");
        hand_to(all.operations[0].thread);
        wait_for(&all.done);
    }
    (void)printf("%.9f %.3f %s\n", clock.ticks_per_ns, clock.cost_ns, bench_version());
    return fflush(stdout) == 0 ? 0 : STATUS_FAILED;
}
