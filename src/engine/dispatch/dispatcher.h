/* The dispatcher of one submitter: which worker, here called a shard, gets a task that may go to any.
 *
 * A dispatcher knows four things, and a policy can read nothing else:
 *   - the mask: the shards for which its submitter has a grant of the task's class. No other is ever chosen, and one
 *     is chosen iff there is any, whatever the policy.
 *   - reports of shards (load_report.h), each with its age. In one pick it reads those of a few shards.
 *   - what it sent itself, which a report may not contain yet.
 *   - how its own tasks fared that have come back.
 * What it knows of each shard is a view. The same code runs in the engine and in the simulator.
 *
 *     dispatcher_look  -> numbers of shards -> the caller reads their reports -> dispatcher_learn, for each
 *     dispatcher_pick  -> a shard           -> the caller sends              -> dispatcher_sent
 *                                              something comes back          -> dispatcher_returned
 *
 * Threads: one at a time. Nothing here allocates, waits or locks. Times are in ticks. */
#ifndef FLATLINE_ENGINE_DISPATCH_DISPATCHER_H
#define FLATLINE_ENGINE_DISPATCH_DISPATCHER_H

#include "load_report.h"
#include "own_sends.h"
#include "shard_set.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum dispatch_policy {
    DISPATCH_RANDOM,             /* any shard */
    DISPATCH_ROUND_ROBIN,        /* the next one */
    DISPATCH_SHORTEST_QUEUE,     /* the fewest tasks in its view */
    DISPATCH_TWO_CHOICES,        /* the fewer tasks of two at random */
    DISPATCH_TWO_CHOICES_MEMORY, /* and of the best that was seen last */
    DISPATCH_IDLE_QUEUE,         /* one that said that it is idle; else any */
    DISPATCH_BOUNDED_QUEUE,      /* the shortest queue of those to which it has sent fewer than a bound */
    DISPATCH_LEAST_OCCUPIED,     /* the fewest grants in flight */
    DISPATCH_SHORTEST_DELAY,     /* the least product of tasks there and the time that each takes there */
    DISPATCH_PEAK_EWMA,          /* of two at random, the less product of own tasks there and how long they took */
    DISPATCH_C3,                 /* least own response time, with the cube of the queue */
    DISPATCH_PREQUAL,            /* from a pool of probes: cold ones by latency, else the one with least in flight */
    DISPATCH_STALE_LOAD,         /* at random, so that what comes while a report is old fills up the queues evenly */
    DISPATCH_PREDICTIVE,         /* least predicted sojourn; tasks that hold blocks long: the fewest grants in flight */
    DISPATCH_POLICIES
} dispatch_policy;

/* Parts of the predictive policy, each of which can be left out to see what it is worth. */
typedef enum dispatch_part {
    DISPATCH_PART_SERVICE = 1,    /* service estimated by type and shard; without: one estimate for all */
    DISPATCH_PART_RUNNING = 2,    /* the rest of the running task */
    DISPATCH_PART_SENDS = 4,      /* own sends that no report contains yet */
    DISPATCH_PART_EXHAUSTION = 8, /* shards whose blocks are about to run out come last */
    DISPATCH_PART_OCCUPANCY = 16, /* hot and cold, and that types which hold blocks long are spread */
    DISPATCH_PART_AGE = 32,       /* what others send while a report ages */
    DISPATCH_PART_IDLE = 64,      /* shards that say that they are idle */
    DISPATCH_PART_OTHERS = 128,   /* others are taken to send where this dispatcher does */
    DISPATCH_PART_DRAIN = 256,    /* work is done as fast as a queue is on average; without: at full speed */
    DISPATCH_PART_SPREAD = 512,   /* what others send unseen is spread over more shards */
    DISPATCH_ALL_PARTS = 1023
} dispatch_part;

#define DISPATCH_MOST_PROBES 4
#define DISPATCH_PROBE_POOL 16    /* Prequal's pool, as published */
#define DISPATCH_FLIGHT_LEVELS 64 /* of a distribution of grants in flight: four to each doubling */

/* Zero in a member from `choices` on is its default. */
typedef struct dispatcher_options {
    dispatch_policy policy;
    uint32_t shards; /* 1 .. DISPATCH_MOST_SHARDS */
    uint64_t seed;
    uint32_t dispatchers;  /* that send to these shards, this one included; 0: 1 */
    uint32_t choices;      /* shards at random of which reports are read; 1 .. DISPATCH_MOST_PROBES - 1; 0: 2 */
    uint32_t bound;        /* own tasks at a shard, of DISPATCH_BOUNDED_QUEUE; 0: 2 */
    uint32_t decay;        /* ticks in which a peak decays by half; 0: 2^20 */
    uint32_t hot_quantile; /* of grants in flight, of 65,536; shards above are hot; 0: as tuned, or as published */
    uint32_t left_out;     /* dispatch_parts */
} dispatcher_options;

/* What is known of a shard. */
typedef struct shard_view {
    ALIGNED_TO(LINE_PAIR) uint64_t as_of; /* when its report was true */
    uint64_t left;                        /* of the work there, in ticks, as predicted for `left_at` */
    uint64_t left_at;
    uint64_t wait; /* the wait there, as predicted for `wait_at`; UINT64_MAX: it is to be predicted anew */
    uint64_t wait_at;
    uint64_t runs_out_at; /* when a class of its blocks is predicted to run out */
    uint32_t queue;       /* tasks waiting or running, own sends included */
    uint32_t in_flight;   /* grants in flight, own sends included */
    uint32_t held;        /* of these, by tasks that neither wait nor run */
    uint32_t evened;      /* by what the work that it reports is multiplied, in units of 1 / 65,536 */
    uint32_t slowness;    /* how many times as long as at the others tasks take there, of 65,536; 1 if about as long */
    uint32_t own;         /* own tasks that have not come back */
    uint32_t lag;         /* how old its report was when it was read, in ticks */
    uint32_t follow;      /* the share of others' tasks that are taken to go where own sends go, of 65,536 */
    uint32_t service;     /* of a task of any type, as its report says */
    uint32_t usual;       /* the same as at all shards, but for its slowness */
    uint32_t latency;
    uint32_t busy; /* the share of the time that others' tasks take there, but for those that follow, of 65,536 */
    uint32_t others_busy; /* the same with those that follow */
    uint32_t peak;        /* DISPATCH_PEAK_EWMA */
    uint64_t peak_at;
    uint32_t response;   /* DISPATCH_C3: of own tasks */
    uint32_t mean_queue; /* DISPATCH_C3: in units of 1/16 */
    own_sends uncounted; /* own sends that the report does not contain */
} shard_view;

/* A figure for each type of task. */
typedef struct by_type {
    uint32_t of_type[FLAT_ENGINE_TASK_TYPES];
} by_type;

/* An answer of Prequal's. */
typedef struct probe_answer {
    uint64_t at;
    uint32_t shard, in_flight, latency;
    uint32_t uses; /* that it is still good for */
} probe_answer;

typedef struct dispatcher {
    dispatcher_options options; /* no member is 0 for its default */
    uint32_t words;
    uint32_t next;       /* DISPATCH_ROUND_ROBIN */
    uint32_t remembered; /* DISPATCH_TWO_CHOICES_MEMORY; NO_SHARD: none */
    bool reads_picked;   /* DISPATCH_PREDICTIVE: the last services were the picked shard's */
    uint32_t probe_count;
    uint32_t probes[DISPATCH_MOST_PROBES]; /* of the last look */
    chance by_chance;
    shard_view *views;
    by_type *slower; /* by shard: how many times as long as at all of them tasks take there, of 65,536; 0: unknown */
    uint64_t *idle;  /* shards that said that they are idle; others set bits */
    uint64_t looked; /* last */
    uint64_t rated_since;
    uint32_t rated_sends;
    uint32_t send_rate;    /* own, tasks per 2^32 ticks */
    uint32_t arrival_rate; /* of a shard, a mean of reports */
    uint32_t others_rate;  /* the same: the share of a shard's time that others' tasks take */
    uint32_t mean_lag;     /* the same */
    uint32_t service;      /* of a task of any type at any shard */
    by_type mean, usual;   /* of the services that were read: ticks that tasks take, and that they usually take */
    uint32_t held[FLAT_ENGINE_TASK_TYPES]; /* for how long tasks keep their grants after they ran */
    uint32_t flight_total;
    uint16_t flight_counts[DISPATCH_FLIGHT_LEVELS]; /* of reports that were read lately */
    uint32_t answer_count;
    bool removes_worst;      /* Prequal removes the oldest and the worst in turn */
    uint32_t uses_left_over; /* of 65,536 */
    probe_answer answers[DISPATCH_PROBE_POOL];
} dispatcher;

/* Bytes that a dispatcher keeps of its shards; they begin at a multiple of LINE_PAIR. */
size_t flat_dispatcher_bytes(uint32_t shards);

/* Of options that are valid. `memory` has the bytes of `flat_dispatcher_bytes`. */
void flat_dispatcher_init(dispatcher *of, const dispatcher_options *options, void *memory, uint64_t now);

/* Chooses the shards whose reports are to be read now: at most DISPATCH_MOST_PROBES, each once, all of the mask.
 * Returns their number; they are in `probes`. */
uint32_t flat_dispatcher_look(dispatcher *of, const uint64_t *mask, uint32_t type, uint64_t now);

/* Takes in a report that was read, and that was true at `as_of`. */
void flat_dispatcher_learn(dispatcher *of, uint32_t shard, const load_report *report, uint64_t as_of);

/* Whose services are to be read after a pick; NO_SHARD: nobody's. In turn those of the shard that was picked, and of
 * one whose report was read: a shard that has become faster is not picked until that is known. */
uint32_t flat_dispatcher_next_services(dispatcher *of, uint32_t picked);

/* Takes in what tasks take at a shard, of whose reports one was read. */
void flat_dispatcher_learn_services(dispatcher *of, uint32_t shard, const load_services *services);

/* The shard for a task of `type`: of the mask. NO_SHARD iff that is empty. */
uint32_t flat_dispatcher_pick(dispatcher *of, const uint64_t *mask, uint32_t type, uint64_t now);

/* A task was sent to a shard, picked or not. */
void flat_dispatcher_sent(dispatcher *of, uint32_t shard, uint32_t type, uint64_t now);

/* An own task has come back. `sojourn`: from its submit until it had run, 0: it did not run; `held`: for how long it
 * then kept its grant. */
void flat_dispatcher_returned(dispatcher *of, uint32_t shard, uint32_t type, uint64_t sojourn, uint64_t held,
                              uint64_t now);

#ifdef __cplusplus
}
#endif
#endif
