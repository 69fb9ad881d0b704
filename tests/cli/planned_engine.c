/* A program, compiled as C11 and as C++17, that includes the output of `flatline plan --header planned.h` and makes the
 * engine: in static storage of exactly the planned bytes, and refused with one less. WORKERS is their number. It prints
 * how many grants a lane has, of all classes and workers together. */
#include "planned.h"

#include <stdalign.h>
#include <stdio.h>

alignas(PLANNED_ENGINE_METADATA_ALIGNMENT) static unsigned char metadata[PLANNED_ENGINE_METADATA_BYTES];
alignas(PLANNED_ENGINE_BLOCK_ALIGNMENT) static unsigned char blocks[PLANNED_ENGINE_BLOCK_BYTES];

#define DEMAND(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            (void)fprintf(stderr, "planned_engine.c:%d: does not hold: %s\n", __LINE__, #condition);                   \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

static flat_status make(flat_engine **engine, size_t metadata_bytes, size_t block_bytes) {
    flat_engine_options options = planned_engine_options();
    flat_memory for_metadata = {metadata, 0}, for_blocks = {blocks, 0};
    for (size_t i = 0; options.workers != NULL && i < WORKERS; i++) {
        if (options.workers[i].pinned) options.caller_runs_workers = true; /* this machine may lack the processor */
    }
    for_metadata.size = metadata_bytes;
    for_blocks.size = block_bytes;
    return flat_engine_init(engine, &options, for_metadata, for_blocks);
}

static size_t grants_of(const flat_engine_options *options, flat_submitter *lane, size_t worker) {
    const flat_worker_options *own = options->workers != NULL ? &options->workers[worker] : NULL;
    const flat_class *classes = own != NULL && own->classes != NULL ? own->classes : options->classes;
    size_t count = own != NULL && own->classes != NULL ? own->class_count : options->class_count;
    size_t grants = flat_engine_capacity(lane, worker, 1);
    for (size_t i = 0; i < count; i++) grants += flat_engine_capacity(lane, worker, classes[i].block_size);
    return grants;
}

int main(void) {
    flat_engine *engine;
    flat_submitter *lane;
    flat_footprint need;
    size_t grants = 0;
    const flat_engine_options options = planned_engine_options();
    DEMAND(flat_engine_footprint(&options, &need) == FLAT_OK);
    DEMAND(need.metadata_bytes == sizeof metadata && need.metadata_alignment == PLANNED_ENGINE_METADATA_ALIGNMENT);
    DEMAND(need.block_bytes == sizeof blocks && need.block_alignment == PLANNED_ENGINE_BLOCK_ALIGNMENT);
    DEMAND(options.worker_count == WORKERS);
    DEMAND(make(&engine, sizeof metadata, sizeof blocks - 1) == FLAT_OUT_OF_MEMORY);
    DEMAND(make(&engine, sizeof metadata, sizeof blocks) == FLAT_OK);
    DEMAND(flat_engine_register(engine, &lane) == FLAT_OK);
    for (size_t i = 0; i < WORKERS; i++) grants += grants_of(&options, lane, i);
    flat_engine_destroy(engine);
    (void)printf("%zu\n", grants);
    return 0;
}
