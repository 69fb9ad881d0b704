/* An audio program: a thread with a deadline fills a buffer each period and passes it on; a helper without one takes
 * the filled buffers, looks for their peaks, and gives them back. The thread with the deadline allocates and frees, and
 * neither waits for the helper nor calls the heap: where the helper is late for so long that all is in use, it drops a
 * buffer and counts that. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <flatline/percore.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define FRAMES 128
#define PERIOD (FRAMES * 1000000000LL / 48000) /* ns: 2.7 ms at 48 kHz */
#define CALLS 375                              /* one second */
#define SLOTS 32                               /* filled buffers on their way to the helper */

/* Which part of its life the program is in. Only the tests read it: they require that the heap is not called while it
 * is STEADY. */
volatile enum { STARTING, STEADY, ENDING } phase;

typedef struct buffer {
    int number;
    float samples[FRAMES];
} buffer;

static struct {
    _Alignas(128) _Atomic unsigned written;
    _Alignas(128) _Atomic unsigned read;
    buffer *slots[SLOTS];
} filled;

static flat_percore *set;
static pthread_barrier_t line; /* where the threads and main wait for each other: to start, and to end */
static _Atomic bool over;      /* no buffer comes any more */

/* What the thread with the deadline counts, and the helper. */
static struct {
    int dropped, wrong;
    long long worst; /* ns of one callback */
} own;
static struct {
    int analysed, wrong;
} helpers;

static long long now(void) {
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000000000LL + at.tv_nsec;
}

static void sleep_until(long long moment) {
    const struct timespec at = {.tv_sec = moment / 1000000000, .tv_nsec = moment % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) continue;
}

/* False, at once, iff the helper has not taken the last SLOTS buffers yet. */
static bool pass_on(buffer *next) {
    unsigned at = atomic_load_explicit(&filled.written, memory_order_relaxed);
    if (at - atomic_load_explicit(&filled.read, memory_order_acquire) == SLOTS) return false;
    filled.slots[at % SLOTS] = next;
    atomic_store_explicit(&filled.written, at + 1, memory_order_release);
    return true;
}

/* NULL iff there is none. */
static buffer *take_filled(void) {
    unsigned at = atomic_load_explicit(&filled.read, memory_order_relaxed);
    if (atomic_load_explicit(&filled.written, memory_order_acquire) == at) return NULL;
    buffer *next = filled.slots[at % SLOTS];
    atomic_store_explicit(&filled.read, at + 1, memory_order_release);
    return next;
}

/* One period's sound: here, a ramp up to the number of the call. */
static void callback(flat_pool *shard, int call) {
    float *envelope = flat_percore_alloc(shard, FRAMES * sizeof *envelope); /* for this call only */
    buffer *next = flat_percore_alloc(shard, sizeof *next);                 /* for the helper */
    if (envelope != NULL && next != NULL) {
        for (int i = 0; i < FRAMES; i++) envelope[i] = (float)(i + 1) / FRAMES;
        for (int i = 0; i < FRAMES; i++) next->samples[i] = envelope[i] * (float)call;
        next->number = call;
    }
    own.wrong += flat_percore_free_as(shard, envelope) != FLAT_OK; /* NULL is FLAT_OK */
    if (envelope != NULL && next != NULL && pass_on(next)) return;
    own.wrong += flat_percore_free_as(shard, next) != FLAT_OK;
    own.dropped++;
}

static void *with_deadline(void *nothing) {
    flat_pool *shard = flat_percore_adopt(set); /* NULL iff every shard has an owner */
    if (shard == NULL) exit(1);
    (void)pthread_barrier_wait(&line);
    long long due = now();
    for (int call = 0; call < CALLS; call++, due += PERIOD) {
        sleep_until(due);
        const long long begun = now();
        callback(shard, call);
        const long long took = now() - begun;
        if (took > own.worst) own.worst = took;
    }
    atomic_store_explicit(&over, true, memory_order_release);
    flat_percore_leave(shard); /* with all that is in it; the helper may still give buffers back */
    (void)pthread_barrier_wait(&line);
    (void)pthread_barrier_wait(&line); /* a thread that ends gives its own memory back, which is not STEADY */
    return nothing;
}

/* Here it could as well write to a file, wait for a lock or be suspended. */
static void analyse(buffer *next) {
    float peak = 0;
    for (int i = 0; i < FRAMES; i++) peak = next->samples[i] > peak ? next->samples[i] : peak;
    helpers.wrong += peak != (float)next->number;
    helpers.analysed++;
}

static void *helper(void *nothing) {
    (void)pthread_barrier_wait(&line);
    for (;;) {
        const bool last = atomic_load_explicit(&over, memory_order_acquire); /* asked before the look into the ring */
        buffer *next = take_filled();
        if (next != NULL) {
            analyse(next);
            helpers.wrong += flat_percore_free(set, next) != FLAT_OK; /* whoever allocated it */
        } else if (last) {
            break;
        } else {
            sleep_until(now() + PERIOD / 2);
        }
    }
    (void)pthread_barrier_wait(&line);
    (void)pthread_barrier_wait(&line);
    return nothing;
}

int main(void) {
    /* What is live at once: in the ring, one in the helper's hands, two in a callback's; and what a helper that is
     * stopped in the middle of a free holds back. */
    const size_t most = SLOTS + 3, count = most + flat_percore_parked_bound(most, 1);
    const flat_class classes[] = {{.block_size = 640, .block_count = count}}; /* five times 128 */
    const flat_percore_options options = {.classes = classes, .class_count = 1, .shard_count = 1};
    if (flat_percore_create(&set, &options, NULL) != FLAT_OK) return 1;

    pthread_t real_time, other;
    if (pthread_barrier_init(&line, NULL, 3) != 0) return 1;
    if (pthread_create(&real_time, NULL, with_deadline, NULL) != 0) return 1;
    if (pthread_create(&other, NULL, helper, NULL) != 0) return 1;
    phase = STEADY;
    (void)pthread_barrier_wait(&line);
    (void)pthread_barrier_wait(&line);
    phase = ENDING;
    (void)pthread_barrier_wait(&line);
    (void)pthread_join(real_time, NULL);
    (void)pthread_join(other, NULL);

    flat_pool *shard = flat_percore_shard(set, 0);
    (void)flat_percore_flush(shard);
    const bool back = flat_pool_visit(shard, NULL, NULL) == 0 && flat_percore_check(shard) == FLAT_OK;
    (void)printf("%d callbacks, the worst %.1f us of a period of %.1f us; %d buffers analysed, %d dropped, %d wrong\n",
                 CALLS, (double)own.worst / 1000, (double)PERIOD / 1000, helpers.analysed, own.dropped,
                 own.wrong + helpers.wrong);
    flat_percore_destroy(set);
    return back && own.wrong + helpers.wrong == 0 && helpers.analysed + own.dropped == CALLS ? 0 : 1;
}
