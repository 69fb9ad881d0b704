/* What a submitter knows of workers, and what a worker tells, behind plain functions: see parts.h. */
#ifndef FLATLINE_TESTS_ENGINE_ANY_WORKER_PARTS_H
#define FLATLINE_TESTS_ENGINE_ANY_WORKER_PARTS_H

#include <flatline/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct told_load {
    bool tells; /* somebody chooses workers */
    uint64_t published, work;
    uint32_t waiting, in_flight, usual, ended;
    uint32_t exhaustion; /* UINT32_MAX: never */
    uint32_t service_of_type[FLAT_ENGINE_TASK_TYPES];
} told_load;

told_load part_told_load(const flat_engine *engine, size_t worker);

/* Whether a worker has begun to tell. Any thread may ask. */
bool part_has_told(const flat_engine *engine, size_t worker);

/* Tasks at a worker that the submitter knows of and that have not come back. */
uint32_t part_own_tasks(const flat_submitter *of, size_t worker);

/* For how long tasks of a type keep their grants, in ticks. */
uint32_t part_held(const flat_submitter *of, unsigned type);

/* The last sojourn of an own task at the worker, or a mean of several: in ticks. */
uint32_t part_response(const flat_submitter *of, size_t worker);

bool part_said_idle(const flat_submitter *of, size_t worker);

/* Takes back all grants that came back. */
void part_take_back(flat_submitter *of);

uint64_t part_ticks_of_ns(const flat_engine *engine, uint64_t ns);
uint32_t part_held_code(uint64_t ticks);
uint64_t part_ticks_of_held(uint32_t code);

#ifdef __cplusplus
}
#endif
#endif
