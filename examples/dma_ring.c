/* A DMA ring between two processes: frames lie in memory that both have mapped, each at an address of its own, and
 * travel as offsets. One process owns the pool of frames and fills them; the other, in the place of a device, reads
 * each frame, stamps it and hands it back. Nothing is copied, and neither process ever calls the heap. */
#include <flatline/pool.h>
#include <flatline/region.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FRAMES 16
#define FRAME_BYTES 2048
#define SLOTS (2 * FRAMES) /* more than there are frames: no ring is ever full */
#define TURNS 20000

typedef struct frame {
    unsigned number;
    unsigned stamp; /* written by the device: number + 1 */
    unsigned char payload[FRAME_BYTES - 2 * sizeof(unsigned)];
} frame;

/* Offsets on their way from one process to the other: one of them writes, the other reads. */
typedef struct ring {
    _Alignas(64) _Atomic unsigned written;
    _Alignas(64) _Atomic unsigned read;
    size_t offsets[SLOTS];
} ring;

typedef struct rings {
    ring filled, done;
} rings;

static void put(ring *to, size_t offset) {
    unsigned at = atomic_load_explicit(&to->written, memory_order_relaxed);
    to->offsets[at % SLOTS] = offset;
    atomic_store_explicit(&to->written, at + 1, memory_order_release);
}

static size_t take(ring *from) {
    unsigned at = atomic_load_explicit(&from->read, memory_order_relaxed);
    while (atomic_load_explicit(&from->written, memory_order_acquire) == at) (void)sched_yield();
    size_t offset = from->offsets[at % SLOTS];
    atomic_store_explicit(&from->read, at + 1, memory_order_release);
    return offset;
}

static int fail(const char *what) {
    (void)fprintf(stderr, "dma_ring: %s\n", what);
    return 1;
}

/* The device's process. It knows the two descriptors, and no address of the other process's. */
static int device(int for_rings, int for_frames, const void *elsewhere) {
    flat_region control, frames;
    (void)alarm(60); /* should the other process die */
    if (flat_region_map(&control, for_rings, 0, 0, NULL) != FLAT_OK) return fail("the rings cannot be mapped");
    if (flat_region_map(&frames, for_frames, 0, 0, NULL) != FLAT_OK) return fail("the frames cannot be mapped");
    if (frames.start == elsewhere) return fail("two mappings at one address");
    rings *shared = control.start;
    for (unsigned turn = 0; turn < TURNS; turn++) {
        size_t offset = take(&shared->filled);
        frame *next = flat_region_address(&frames, offset); /* NULL iff the offset lies outside */
        if (next == NULL || offset % FRAME_BYTES != 0) return fail("an offset that is no frame's");
        if (next->number != turn) return fail("a frame is missing");
        if (next->payload[turn % sizeof next->payload] != (unsigned char)turn) return fail("a payload is wrong");
        next->stamp = next->number + 1;
        put(&shared->done, offset);
    }
    flat_region_destroy(&frames);
    flat_region_destroy(&control);
    return 0;
}

/* Waits for the device to be done with a frame, and gives it back to the pool. */
static int reclaim(flat_pool *pool, const flat_region *frames, rings *shared) {
    frame *done = flat_region_address(frames, take(&shared->done));
    if (done == NULL || done->stamp != done->number + 1) return fail("the device did not stamp a frame");
    return flat_pool_free(pool, done) == FLAT_OK ? 0 : fail("the device handed a frame back twice");
}

static int produce(flat_pool *pool, rings *shared) {
    const flat_region *frames = flat_pool_region(pool);
    for (unsigned turn = 0; turn < TURNS; turn++) {
        frame *next;
        while ((next = flat_pool_alloc(pool, sizeof *next)) == NULL) { /* every frame is with the device */
            if (reclaim(pool, frames, shared) != 0) return 1;
        }
        next->number = turn;
        memset(next->payload, (unsigned char)turn, sizeof next->payload);
        put(&shared->filled, flat_region_offset(frames, next));
    }
    while (flat_pool_visit(pool, NULL, NULL) > 0) {
        if (reclaim(pool, frames, shared) != 0) return 1;
    }
    return 0;
}

int main(void) {
    static char line[128];
    (void)setvbuf(stdout, line, _IOLBF, sizeof line); /* else the first printf would call the heap */
    (void)alarm(60);                                  /* should the other process die */

    /* The frames' memory is shared, the pool's bookkeeping is not: the pool belongs to this process. */
    const flat_region_options options = {.shared = true};
    const flat_class classes[] = {{.block_size = sizeof(frame), .block_count = FRAMES}};
    const flat_pool_options of_frames = {.classes = classes, .class_count = 1};
    flat_pool *pool;
    flat_region control;
    if (flat_pool_create(&pool, &of_frames, &options) != FLAT_OK) return fail("no memory for the frames");
    if (flat_region_create(&control, sizeof(rings), 64, &options) != FLAT_OK) return fail("no memory for the rings");

    const flat_region *frames = flat_pool_region(pool);
    pid_t child = fork();
    if (child < 0) return fail("no second process");
    if (child == 0) _exit(device(control.descriptor, frames->descriptor, frames->start));

    int failed = produce(pool, control.start);
    int status;
    if (waitpid(child, &status, 0) != child || status != 0) failed = fail("the device failed");
    if (failed == 0) (void)printf("%d frames of %d bytes in %d blocks\n", TURNS, FRAME_BYTES, FRAMES);
    flat_region_destroy(&control);
    flat_pool_destroy(pool);
    return failed;
}
