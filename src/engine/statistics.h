/* What an engine shows of itself while it runs: pages in a fixed layout, which `flatline top` maps from another
 * process.
 *
 *   [ header | worker 0 | worker 1 | ... | submitter 0 | submitter 1 | ... ]
 *
 * Every word is written by one thread, with a plain store, at the moment when it changes; nothing is collected later.
 * So looking costs the engine nothing, and works while it is overloaded. Words that belong together may be of slightly
 * different moments. Times and durations are in ticks: the header has the rate. Submitters are the outside lanes, then
 * the workers' own. */
#ifndef FLATLINE_ENGINE_STATISTICS_H
#define FLATLINE_ENGINE_STATISTICS_H

#include "histogram.h"
#include "ticks.h"

#include <flatline/engine.h>

#define STATISTICS_MAGIC UINT64_C(0x31656e6974616c66)  /* "flatine1" in memory; another layout gets another number */
#define STATISTICS_CLASSES (FLAT_POOL_MAX_CLASSES + 1) /* the last one in use is the inline payloads' */

/* Why a submit was refused. */
typedef enum refusal_reason {
    REFUSED_NO_GRANT,
    REFUSED_RING_FULL,
    REFUSED_DEADLINE_PAST,
    REFUSED_DRAINING,
    REFUSED_INVALID,
    REFUSAL_REASONS
} refusal_reason;

typedef struct class_statistics {
    uint64_t block_size; /* bytes; 0: inline payloads */
    uint64_t block_count;
    uint64_t granted;       /* blocks that are grants, whoever holds them */
    uint64_t free;          /* blocks of the rest that were free at the last count */
    uint64_t in_flight;     /* grants taken from submitters and not yet given back */
    uint64_t done;          /* tasks */
    uint64_t service_ticks; /* the stated limit; 0: none */
    uint64_t over_service;  /* runs that took longer: of tasks, also if they deferred themselves or disposed */
    uint64_t longest_service, longest_sojourn; /* of a run; of a task that was done */
} class_statistics;

typedef struct worker_statistics {
    _Alignas(128) uint64_t looked; /* when it last looked for tasks, or began one */
    uint64_t running;              /* the function that runs; 0: none */
    uint64_t running_since;
    uint64_t begun;       /* tasks, each time that one was begun */
    uint64_t taken;       /* tasks that came in */
    uint64_t outcomes[3]; /* by flat_outcome */
    uint64_t deferred;
    uint64_t queued[FLAT_ENGINE_URGENCIES];
    uint64_t timed;    /* tasks that wait for their start */
    uint64_t slept;    /* times */
    uint64_t overruns; /* reported by the watchdog, which writes this word */
    uint64_t thread;   /* its number in the system; 0: it does not run */
    uint64_t class_count;
    uint64_t service_estimate[FLAT_ENGINE_TASK_TYPES]; /* ticks, in units of 1/16: each task moves it by 1/16 */
    class_statistics classes[STATISTICS_CLASSES];
    duration_histogram waiting, service, sojourn;
} worker_statistics;

typedef struct submitter_statistics {
    _Alignas(128) uint64_t thread; /* of the owner; 0: nobody's */
    uint64_t accepted;
    uint64_t refused[REFUSAL_REASONS];
} submitter_statistics;

typedef struct engine_statistics {
    _Alignas(128) uint64_t magic;
    uint64_t bytes; /* of all of this */
    uint64_t worker_count, lane_count;
    uint64_t workers_at, submitters_at; /* bytes from here */
    uint64_t process;
    uint64_t state; /* engine_state */
    tick_rate rate;
} engine_statistics;

/* The next count of a word that has one writer. */
static inline void count_up(uint64_t *word, uint64_t by) { __atomic_store_n(word, *word + by, __ATOMIC_RELAXED); }

static inline void show(uint64_t *word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELAXED); }

static inline void show_longest(uint64_t *word, uint64_t value) {
    if (value > *word) show(word, value);
}

#endif
