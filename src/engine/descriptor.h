/* A task as it travels from a submitter to a worker: one cache line. */
#ifndef FLATLINE_ENGINE_DESCRIPTOR_H
#define FLATLINE_ENGINE_DESCRIPTOR_H

#include "../core/cache_line.h"

#include <flatline/engine.h>

#define URGENCY_MASK 3u
#define WANTS_COMPLETION 4u
#define ALWAYS_RUN 8u
#define HAS_DEADLINE 16u
#define HAS_START 32u
#define IS_CANCELLATION 64u
#define IS_CANCELLED IS_CANCELLATION /* of a task, at the worker alone: `run` is to be called so that it disposes */
#define IS_DEFERRED 128u             /* at the worker alone: it ran before */

typedef struct task_descriptor {
    _Alignas(CACHE_LINE) flat_task_function *run;
    uint64_t submitted; /* ticks; of a cancellation: the generation of the grant that is meant */
    uint32_t size;      /* bytes of the payload */
    uint16_t grant;     /* number of the lane's grant that it uses */
    uint8_t size_class; /* of the worker's pool; the number of classes: the payload is here */
    uint8_t flags;
    uint32_t lap; /* how often the ring had gone round when this was written, and written last; 0: never */
    uint16_t type;
    uint16_t is_accounted; /* 1: its submitter chooses workers, and wants to know how the task fared */
    uint64_t room[4];      /* the payload, from the front; the deadline and then the start, in ticks, from the back */
} task_descriptor;

_Static_assert(sizeof(task_descriptor) == CACHE_LINE, "one line moves from core to core");
_Static_assert(sizeof((task_descriptor *)0)->room == FLAT_ENGINE_INLINE_BYTES, "as engine.h says");

static inline uint64_t *deadline_of(task_descriptor *task) { return &task->room[3]; }
static inline uint64_t *start_of(task_descriptor *task) {
    return &task->room[(task->flags & HAS_DEADLINE) != 0 ? 2 : 3];
}

#endif
