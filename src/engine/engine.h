/* An engine in memory, shared by the files that make it, submit to it, run it and end it.
 *
 *   metadata:  [ flat_engine | worker of each page | workers | submitters | lanes
 *              | of each worker: its pool's metadata, links, records, inboxes
 *              | of each lane: descriptors | what comes back | the submitter's own ]
 *              [ statistics, whole pages ] [ guard | stack ] [ guard | stack ] ...
 *   blocks:    [ of worker 0 ][ guard ][ of worker 1 ] ...                        each on pages of its own
 *
 * Who writes. Memory that one thread writes is LINE_PAIR away from memory that another one writes. A worker reads the
 * descriptors, which the submitter writes, and writes what comes back, which the submitter reads; all else on a task's
 * way is each side's own. A worker's pool is its own alone: a submitter computes the address of a granted block from
 * numbers that never change. */
#ifndef FLATLINE_ENGINE_ENGINE_H
#define FLATLINE_ENGINE_ENGINE_H

#include "descriptor.h"
#include "dispatch/dispatcher.h"
#include "dispatch/switchback.h"
#include "ready.h"
#include "statistics.h"
#include "steps.h"
#include "ticks.h"
#include "wheel.h"

#include "../core/pool_state.h"
#include "../os/thread.h"

#include <flatline/engine.h>
#include <flatline/region.h>

#define NO_GRANT_LEFT UINT16_MAX
#define ENGINE_PAGE 4096
#define RATING_SHIFT 10 /* a rate is moved after so many units of the wheel, as a power of two: about every ms */

/* How long to sleep at most if the other side had no fence: a look that came too early is then made up for. */
#define UNFENCED_SLEEP_NS 1000000u

/* Whether submits are accepted: outside ones while ENGINE_OPEN, those of tasks until ENGINE_STOPPED. From then on tasks
 * are cancelled that were not begun, and in the end workers leave. */
typedef enum engine_state { ENGINE_OPEN, ENGINE_DRAINING, ENGINE_STOPPED, ENGINE_ENDING } engine_state;

/* Of a submitter's lanes. Only the thread that made it so uses a lane that is LANE_OWNED or LANE_RECLAIMING, and nobody
 * one that is free or left. The state and the thread that took them last are one word: a thread may end after each of
 * its steps, and whoever finds its lanes sees that. A word may come back while another thread looks at it only where
 * nobody uses the lanes: a thread that has ended takes none. */
typedef enum lane_state { LANE_FREE, LANE_OWNED, LANE_LEFT, LANE_RECLAIMING } lane_state;
#define LANE_STATE_BITS 2
#define LANE_STATE_MASK ((1u << LANE_STATE_BITS) - 1)
_Static_assert(LANE_STATE_BITS + THREAD_IDENTITY_BITS == 64, "a word has room for both");

static inline lane_state state_of_lane(uint64_t word) { return (lane_state)(word & LANE_STATE_MASK); }
static inline thread_identity thread_of_lane(uint64_t word) { return word >> LANE_STATE_BITS; }
static inline uint64_t in_state(uint64_t word, lane_state state) { return (word & ~(uint64_t)LANE_STATE_MASK) | state; }
static inline uint64_t taken_by(thread_identity thread, lane_state state) { return thread << LANE_STATE_BITS | state; }

typedef enum grant_state { GRANT_LEFT, GRANT_HELD, GRANT_POSTED } grant_state;

/* A grant, as its submitter knows it. */
typedef struct lane_grant {
    void *context;       /* of the completion */
    uint64_t cancelled;  /* descriptors posted up to and with its last cancellation; 0: none */
    uint32_t generation; /* how often it has come back */
    uint32_t cancelled_generation;
    uint32_t size; /* bytes asked for */
    uint16_t next; /* in the stack of its class */
    uint8_t state; /* grant_state */
    uint8_t size_class;
} lane_grant;

/* Who decides in the fallback's slices of a switchback. What it knows of workers is behind it. */
typedef struct fallback_choice {
    _Alignas(LINE_PAIR) dispatcher chooser;
} fallback_choice;

/* What a submitter needs to choose workers. It begins to with its first task to FLAT_ANY_WORKER, and from then on keeps
 * account of all its tasks. */
typedef struct worker_choice {
    _Alignas(LINE_PAIR) dispatcher chooser;
    fallback_choice *fallback; /* NULL: there is no switchback */
    switchback *measured;      /* the same */
    void *views;               /* what `chooser` knows of workers */
    uint32_t next_without;     /* the worker to look at next among those that it has no grant for */
    uint32_t chosen; /* the worker to which a task that was chosen for it is about to be sent; NO_SHARD: none */
    _Alignas(
        LINE_PAIR) uint64_t idle[FLAT_ENGINE_MAX_WORKERS / 64]; /* workers that said that they have nothing to do */
} worker_choice;

/* A task that its submitter has accounted for: when it was sent, in ticks, above whether its worker was chosen, above
 * its type. 0: none. */
typedef uint64_t sent_task;
#define SENT_TYPE_BITS 4
#define SENT_TYPE_MASK ((1u << SENT_TYPE_BITS) - 1)
#define SENT_AT_SHIFT (SENT_TYPE_BITS + 1)
_Static_assert(FLAT_ENGINE_TASK_TYPES == 1 << SENT_TYPE_BITS, "a type fits");

/* A class of the worker's pool, or the inline payloads, as a submitter sees it. Its grants are neighbouring blocks:
 * grant number first + i is the block at start + i * size. */
typedef struct lane_class {
    _Alignas(CACHE_LINE) char *start;
    size_t inverse, size; /* as in pool_class */
    uint32_t *returned;   /* a ring of `count` places, in which grants come back */
    uint32_t twos;
    uint16_t first, count;
    uint16_t top;    /* of the stack of grants that are left; NO_GRANT_LEFT */
    uint16_t left;   /* how many these are */
    uint16_t at;     /* the next place of `returned` */
    uint32_t parity; /* of the entry that will be new there */
} lane_class;

/* The submitter's side of a lane to one worker: it alone writes this. */
typedef struct lane {
    _Alignas(LINE_PAIR) task_descriptor *descriptors;
    uint32_t at, length, lap; /* of the ring of descriptors: the next place, and the lap that it will get */
    uint32_t class_count;     /* classes[class_count] is the inline payloads' */
    uint64_t posted;          /* descriptors since init: tasks and cancellations; a drain reads it */
    uint64_t woken;           /* the last sleep that this side woke the worker from */
    lane_class *classes;
    lane_grant *grants;
    struct flat_worker *worker;
    uint64_t *accepted;    /* tasks; in the statistics */
    flat_pool *pool;       /* the worker's: what never changes of it is read */
    uint64_t *completions; /* a ring of `grant_count` places */
    uint32_t worker_number;
    uint32_t grant_count;
    uint32_t completion_at, completion_parity;
    worker_choice *choice; /* NULL: the submitter has not chosen workers yet */
    sent_task *sent;       /* of each grant */
} lane;
_Static_assert(sizeof(lane) == LINE_PAIR, "a submit uses two lines of it");

/* A ring in which the grants of one class come back, on the worker's side. */
typedef struct return_ring {
    uint32_t *places;
    uint16_t at, length;
    uint32_t parity;
} return_ring;

/* The worker's side of a lane: it alone writes this. */
typedef struct inbox {
    _Alignas(CACHE_LINE) task_descriptor *descriptors;
    uint32_t at, length, lap;
    uint32_t first_record;
    return_ring *returns; /* of each class, and of the inline payloads */
    uint64_t *completions;
    uint32_t completion_at, completion_parity;
    uint32_t grant_count;
    uint64_t taken;    /* descriptors since init: at == taken % length, lap == taken / length + 1 */
    uint64_t finished; /* descriptors whose tasks are done, or that cancelled: finished <= taken <= posted */
    uint64_t woken;    /* the last sleep that this side woke the submitter from */
    flat_submitter *submitter;
    uint64_t *idle; /* the submitter's word in which the worker says that it has nothing to do */
} inbox;

/* What a worker looks at to see whether a lane has something: the lap of the next descriptor. */
typedef struct awaited_lap {
    const uint32_t *lap;
    uint32_t expected; /* == the inbox's lap */
} awaited_lap;

/* A task that its worker has taken in. A grant has one record, and a record is used by one task at a time. */
typedef struct task_record {
    task_descriptor task;
    uint64_t due;              /* in the wheel: units */
    void *block;               /* of the grant; NULL: the payload is in the descriptor */
    uint32_t generation;       /* as in lane_grant, while the task is in flight */
    uint32_t inbox;            /* the number of its lane */
    bool is_waiting, is_timed; /* in a list of the ready tasks, or in the wheel */
    load_of_task load;
    /* If the worker follows runs, in ticks. */
    uint64_t first_ended; /* when its first run ended in which it was refused no block */
    uint64_t ran;         /* all its runs */
} task_record;

/* A task that was done, for `flatline simulate --record`. Times are in ticks. */
typedef struct recorded_task {
    uint64_t submitted;
    uint64_t service; /* all its runs */
    uint64_t held;    /* from the end of its first run to the end of its last one */
    uint32_t submitter;
    uint32_t type;
} recorded_task;

struct flat_submitter {
    _Alignas(LINE_PAIR) flat_engine *engine;
    lane *lanes; /* to each worker */
    submitter_statistics *statistics;
    worker_choice *choice;
    flat_worker *of_worker; /* NULL: outside of the workers */
    uint32_t worker_count;
    uint32_t refused_from; /* the engine_state from which on it is refused */
    uint32_t number;
    uint32_t entered;                      /* odd: inside of a submit; a drain reads it */
    uint64_t sleeps;                       /* the number of its thread's last sleep */
    _Alignas(LINE_PAIR) uint64_t sleeping; /* see steps.h: its thread sleeps until something comes back */
    uint64_t state;                        /* of its lanes: lane_state and thread */
};

struct flat_worker {
    _Alignas(LINE_PAIR) flat_engine *engine;
    flat_pool *pool;
    awaited_lap *awaited; /* of each submitter */
    inbox *inboxes;       /* the same */
    task_record *records;
    worker_statistics *statistics;
    flat_submitter *submitter;
    ready_tasks ready;
    timing_wheel wheel;
    list_link *links;
    uint64_t last;        /* ticks: when the last task ended */
    uint64_t deferred_to; /* ticks: what the running task asked for */
    bool is_deferred;
    bool follows_runs;                     /* it tells its load, or keeps a record */
    uint8_t outcome;                       /* of the task that `run` was called for */
    uint32_t counted_class, counted_block; /* where the count of free blocks is */
    uint64_t counted_free;
    uint64_t kept;                    /* ticks: when the accounts were last kept */
    uint64_t rated_came, rated_ended; /* tasks until the rates were last moved */
    uint32_t number;
    uint32_t inbox_count;
    uint64_t sleeps;                       /* the number of its last sleep */
    _Alignas(LINE_PAIR) uint64_t sleeping; /* see steps.h: it sleeps until something comes in; submitters read it */
    uint64_t attended;                     /* 1: a thread is this worker */
    hosted_thread thread;
    /* What it tells those who choose workers, once one does. */
    bool tells_load;
    recorded_task *record;
    uint64_t record_length;        /* 0: there is none */
    uint64_t recorded, unrecorded; /* tasks in it, and done after it was full */
    uint64_t refused;              /* requests for blocks of its own pool, until the end of the last run */
    uint64_t *told; /* where it says that it has nothing to do: to the submitter whose task it ran last; NULL: said */
    load_keeper keeper;
    _Alignas(LINE_PAIR) load_report report; /* others read these two */
    load_services services;
};

struct flat_engine {
    _Alignas(LINE_PAIR) uint32_t state; /* engine_state */
    bool fenced;                        /* see steps.h */
    bool yields;                        /* there are more workers than processors */
    bool runs_workers;
    uint32_t chooses; /* 1: somebody chooses workers */
    dispatch_policy policy;
    uint64_t dispatch_seed;
    uint32_t worker_count, submitter_count, lane_count;
    uint32_t unit_shift; /* of the wheels: a unit is 1 << unit_shift ticks */
    flat_worker *workers;
    flat_submitter *submitters; /* the outside ones first */
    const uint8_t *worker_of_page;
    uintptr_t blocks;
    size_t block_bytes;
    tick_rate rate;
    flat_waiting waiting;
    uint64_t spin_ticks;
    uint64_t most_delay; /* ticks */
    engine_statistics *statistics;
    struct backing *backing;              /* what `flat_engine_create` mapped; NULL: the memory is the caller's */
    int shown;                            /* the file of the statistics; negative: there is none */
    uint64_t watchdog_ns, watchdog_ticks; /* 0: none */
    flat_overrun_function *overrun;
    void *overrun_context;
    hosted_thread watchdog;
    uint32_t watchdog_ends; /* 1: it is to end */
};

/* An entry of a ring in which something comes back: the parity of the lap, which tells a new one from that of the lap
 * before; the number of the grant; and how the task fared, for those who choose workers. A completion has the outcome
 * above these. */
#define ENTRY_PARITY 1u
#define ENTRY_GRANT_SHIFT 1
#define ENTRY_GRANT_MASK 0xffffu
#define ENTRY_FARED_SHIFT 17
#define ENTRY_OUTCOME_SHIFT 32

static inline uint32_t grant_of_entry(uint32_t entry) { return entry >> ENTRY_GRANT_SHIFT & ENTRY_GRANT_MASK; }

/* A ticket: the generation of the grant, its number, and the worker's number plus one. */
#define TICKET_GRANT_SHIFT 32
#define TICKET_WORKER_SHIFT 48

static inline flat_ticket ticket_of(uint32_t worker, uint32_t grant, uint32_t generation) {
    return (uint64_t)(worker + 1) << TICKET_WORKER_SHIFT | (uint64_t)grant << TICKET_GRANT_SHIFT | generation;
}

static inline uint64_t units_of_ticks(const flat_engine *engine, uint64_t ticks) { return ticks >> engine->unit_shift; }

/* The first unit that begins at or after `ticks`. */
static inline uint64_t units_after_ticks(const flat_engine *engine, uint64_t ticks) {
    return (ticks + ((uint64_t)1 << engine->unit_shift) - 1) >> engine->unit_shift;
}

/* A fence on both sides, by the one that does so seldom. False: the system refuses by now, and the other may have had
 * none. */
static inline bool fence_both(const flat_engine *engine) {
    if (!engine->fenced) return flat_fence_all();
    step_full_fence();
    return true;
}

/* The part of a word `sleeping` that the system looks at: it is another one as soon as somebody begins to wake. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the lower half comes first");
static inline uint32_t *part_to_sleep_on(uint64_t *sleeping) { return (uint32_t *)(void *)sleeping; }

/* Whether a task is posted in a granted block, or submitted, in the descriptor if it has room. */
typedef enum task_way { TASK_POSTED, TASK_SUBMITTED } task_way;

/* A worker for a task that may run on any; NO_SHARD: none has a grant left. And the last one whose classes hold the
 * payload; NO_SHARD: none does. */
typedef struct worker_found {
    uint32_t number, fitting;
} worker_found;

/* What the files call of each other. Each is described where it is defined. */
void flat_engine_wake(uint64_t *sleeping, uint64_t *woken);
void flat_engine_copy(void *to, const void *from, size_t size);
flat_status flat_engine_post_accounted(flat_submitter *submitter, lane *to, uint32_t grant, const flat_task *task);
flat_status flat_engine_submit_any(flat_submitter *submitter, lane *to, const flat_task *task, flat_payload payload);
worker_found flat_engine_choose_worker(flat_submitter *submitter, const flat_task *task, size_t size, task_way way);
void flat_engine_account_sent(lane *to, uint32_t grant, uint32_t type, uint64_t now);
void flat_engine_account_returned(lane *from, uint32_t entry);
void flat_engine_begin_to_tell(flat_worker *worker);
flat_status flat_engine_submit_or_refuse(flat_submitter *submitter, size_t worker, const flat_task *task,
                                         flat_payload payload);
void flat_engine_clear_lane(lane *of, uint32_t submitter);
bool flat_engine_collect(flat_submitter *submitter);
task_record *flat_engine_choose(flat_worker *worker);
uint32_t flat_engine_fared(flat_worker *worker, const task_record *record, const task_descriptor *task,
                           flat_outcome outcome);
void flat_engine_finish(flat_worker *worker, task_record *record, const task_descriptor *task, flat_outcome outcome,
                        uint32_t fared);
bool flat_engine_work(flat_worker *worker);
void flat_engine_attend(flat_worker *worker);
void flat_engine_empty(flat_worker *worker);
void flat_engine_watch(flat_engine *engine);

#endif
