/* Metadata and blocks in two memories of the program's own: no operating system is asked for anything.
 * Here both are static arrays; the blocks could as well be a device's buffer that the processor should not touch. */
#include <flatline/pool.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>

#define FRAMES 32
#define FRAME_BYTES 2048

/* Which part of its life the program is in. Only the tests read it: they require that the heap is not called while it
 * is STEADY. */
volatile enum { STARTING, STEADY, ENDING } phase;

/* Sizes that `flat_pool_footprint` confirms below: a wrong guess is an error at start-up, not a corruption later. */
static alignas(64) unsigned char metadata[2048];
static alignas(FRAME_BYTES) unsigned char frames[FRAMES * FRAME_BYTES];

static int fail(const char *what) {
    (void)fprintf(stderr, "pool_two_memories: %s\n", what);
    return 1;
}

int main(void) {
    const flat_class classes[] = {{.block_size = FRAME_BYTES, .block_count = FRAMES}};
    const flat_pool_options options = {.classes = classes, .class_count = 1};

    flat_footprint need;
    if (flat_pool_footprint(&options, &need) != FLAT_OK) return fail("the options are invalid");
    if (need.metadata_bytes > sizeof metadata) return fail("the array for the metadata is too small");
    if (need.block_bytes > sizeof frames) return fail("the array for the frames is too small");

    flat_pool *pool;
    const flat_memory for_metadata = {.start = metadata, .size = sizeof metadata};
    const flat_memory for_blocks = {.start = frames, .size = sizeof frames};
    flat_status status = flat_pool_init(&pool, &options, for_metadata, for_blocks);
    if (status != FLAT_OK) return fail(flat_status_string(status));

    /* Every frame can be handed out, lies in the array, and starts at a multiple of its size. */
    phase = STEADY;
    for (int i = 0; i < FRAMES; i++) {
        unsigned char *frame = flat_pool_alloc(pool, FRAME_BYTES);
        if (frame == NULL) return fail("a frame is missing");
        if (frame < frames || frame > frames + sizeof frames - FRAME_BYTES) return fail("a frame lies elsewhere");
        if ((uintptr_t)frame % FRAME_BYTES != 0) return fail("a frame is misaligned");
    }
    if (flat_pool_alloc(pool, 1) != NULL) return fail("more frames than were declared");
    phase = ENDING;

    flat_pool_destroy(pool); /* the arrays stay ours */
    (void)printf("%d frames of %d bytes, %zu bytes of metadata\n", FRAMES, FRAME_BYTES, need.metadata_bytes);
    return 0;
}
