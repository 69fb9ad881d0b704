/* An engine while it is measured or made, for the files that do so: options.c judges what was asked for and plans each
 * worker, layout.c walks over all parts, and setup.c starts and ends what was made. */
#ifndef FLATLINE_ENGINE_CONSTRUCTION_H
#define FLATLINE_ENGINE_CONSTRUCTION_H

#include "footprint.h"

#include "engine.h"

#include "../core/memory.h"
#include "../os/region_refusal.h"
#include "../os/stack_capture.h"

#define DEFAULT_STACK_BYTES 262144u
#define DEFAULT_ONE_IN 8

#define REFUSE(options, status, ...)                                                                                   \
    flat_refuse(&(flat_region_options){.message = (options)->message, .message_size = (options)->message_size},        \
                (status), __VA_ARGS__)

/* A memory that is cut up from its start on. While nothing is made, `start` is 0. */
typedef struct cut_memory {
    uintptr_t start;
    uint64_t used;
} cut_memory;

typedef struct construction {
    const flat_engine_options *options;
    uint32_t workers, lanes;
    cut_memory metadata, blocks;
    flat_engine *engine; /* NULL: measure only */
    uintptr_t statistics, stacks;
    engine_parts parts;
} construction;

static inline uint32_t submitters_in(const construction *of) { return of->lanes + of->workers; }

static inline size_t asked_stack_bytes(const flat_engine_options *options) {
    return options->stack_size != 0 ? options->stack_size : DEFAULT_STACK_BYTES;
}

/* With what a watchdog's signal takes of it. */
static inline size_t stack_bytes(const flat_engine_options *options) {
    return asked_stack_bytes(options) + (options->watchdog_ns != 0 ? CAPTURE_STACK_BYTES : 0);
}

static inline uint32_t stacks_in(const flat_engine_options *options) {
    if (options->caller_runs_workers) return options->watchdog_ns != 0 ? 1 : 0;
    return (uint32_t)options->worker_count + (options->watchdog_ns != 0 ? 1 : 0);
}

static inline construction begin_construction(const flat_engine_options *options) {
    return (construction){.options = options,
                          .workers = (uint32_t)options->worker_count,
                          .lanes = options->lane_count != 0 ? (uint32_t)options->lane_count : DEFAULT_LANES};
}

/* FLAT_OK iff all members that are not of one worker are in their ranges. */
flat_status flat_engine_judge_options(const flat_engine_options *options);

/* What worker number `worker` will have. */
flat_status flat_engine_plan(const construction *of, uint32_t worker, worker_plan *plan);

/* Measures into `*of`, which keeps the sizes, and judges the options. */
flat_status flat_engine_size(construction *of, const flat_engine_options *options, flat_footprint *footprint);

/* Walks over all parts, and makes them iff `of` has memories. */
flat_status flat_engine_walk(construction *of);

#endif
