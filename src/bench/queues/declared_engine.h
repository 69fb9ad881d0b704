/* The engine that suite engine measures, as it is declared: the driver makes it, and the program asks the plan for its
 * bound. One worker and one lane. */
#ifndef FLATLINE_BENCH_QUEUES_DECLARED_ENGINE_H
#define FLATLINE_BENCH_QUEUES_DECLARED_ENGINE_H

#include <flatline/engine.h>

#include "../queue.h"

#include <string.h>

/* It must not be moved: `options` points into it. */
typedef struct declared_engine {
    flat_class blocks;
    flat_class_limits limits;
    flat_worker_options worker;
    flat_engine_options options;
} declared_engine;

/* All payloads travel in blocks, or all of them in the descriptors. The worker's own lane has a single grant, since a
 * lane must have one. */
static inline void declare_engine(declared_engine *engine, const queue_plan *plan, bool in_blocks) {
    const flat_class_limits unused = {FLAT_NO_GRANTS, FLAT_NO_GRANTS, 0};
    const flat_class_limits used = {plan->capacity, 1, plan->service_ns};
    const size_t line = 64; /* no cache line holds two payloads */
    memset(engine, 0, sizeof *engine);
    engine->blocks.block_size = plan->size > line ? plan->size : line;
    engine->blocks.block_count = plan->capacity + 1;
    engine->limits = in_blocks ? used : unused;
    engine->worker.pinned = true;
    engine->worker.processor = (unsigned)plan->processor;
    engine->options.worker_count = 1;
    engine->options.classes = &engine->blocks;
    engine->options.class_count = 1;
    engine->options.class_limits = &engine->limits;
    engine->options.inline_limits = in_blocks ? unused : used;
    engine->options.workers = &engine->worker;
    engine->options.lane_count = 1;
    engine->options.waiting = plan->sleeping ? FLAT_WAITING_SLEEP : FLAT_WAITING_BUSY;
    engine->options.spin_ns = 1; /* a submitter that waits sleeps at once */
}

#endif
