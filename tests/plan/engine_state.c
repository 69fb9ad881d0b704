#include "engine_state.h"

#include "engine/engine.h"
#include "os/backing.h"

flat_memory engine_metadata_region(const flat_engine *engine) {
    return (flat_memory){engine->backing->metadata.start, engine->backing->metadata.size};
}

flat_memory engine_block_region(const flat_engine *engine) {
    return (flat_memory){engine->backing->blocks.start, engine->backing->blocks.size};
}

uint64_t engine_runs_over_limit(const flat_engine *engine, size_t worker, size_t class_number) {
    return __atomic_load_n(&engine->workers[worker].statistics->classes[class_number].over_service, __ATOMIC_RELAXED);
}
