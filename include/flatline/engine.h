/* The engine: workers that share nothing, one deterministic pool on each, and memory that runs out as an answer.
 *
 * A worker is a thread that runs tasks, one after another, each to its end. It has a pool of its own
 * (<flatline/pool.h>), which no other thread touches. A submitter is a thread that sends tasks. It has a lane to each
 * worker, and a lane has grants: blocks of the worker's pool that the submitter may fill. A grant is used by one task
 * at a time, and comes back when the task is done. So a submitter that holds no grant is refused at once, and it knows
 * that without a look at anything that another thread writes.
 *
 *     submitter                                           worker
 *     flat_engine_grant: an empty block   <--- grants --- has finished with it
 *     fills it
 *     flat_engine_post  ------ a descriptor, 64 bytes --> queues it by urgency, runs it: run(here, payload, size)
 *     flat_engine_poll  <------- completions, if asked -- done, expired or cancelled
 *
 * A payload of up to FLAT_ENGINE_INLINE_BYTES travels in the descriptor and needs no block. It uses one of the lane's
 * inline grants, of which there is a fixed number as of the others.
 *
 * An accepted task is run exactly once, or completed as expired or as cancelled. Nothing else can become of it: its
 * grant reserved all that it needs until then, the place of its completion included. So completing never waits, and
 * tasks that submit tasks cannot block one another.
 *
 * Order. A worker runs the most urgent task that it has, and among equally urgent ones the one that came first. A task
 * that waits is passed over by at most `starvation_limit` more urgent ones in a row; then it comes before those.
 *
 * Time is in nanoseconds since the engine's start (`flat_engine_now`), counted by the processor's counter.
 *
 * Threads: a function that takes a submitter is for the thread that registered it, and for one thread at a time. One
 * that takes a `flat_worker` is for the task that runs on it. One that takes an engine is for any thread, except where
 * its comment says otherwise. Signal handlers may call none. After a fork the child must not use the engine.
 * A task must not throw, must not end its thread, and must not call `flat_engine_drain`, `flat_engine_stop`,
 * `flat_engine_destroy`, `flat_engine_wait` or `flat_engine_submit_until`: these wait, and would wait for the task.
 *
 * Costs. `flat_engine_grant`, `flat_engine_post` and `flat_engine_submit` of an inline payload have no loop and no
 * lock. They call nothing, except that where the worker sleeps they make one system call to wake it. With
 * more workers than processors all of this holds, but how long a task waits is then up to the system. */
#ifndef FLATLINE_ENGINE_H
#define FLATLINE_ENGINE_H

#include <flatline/memory.h>
#include <flatline/pool.h>
#include <flatline/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FLAT_ENGINE_MAX_WORKERS 256
#define FLAT_ENGINE_MAX_LANES 1024   /**< submitters outside of the workers */
#define FLAT_ENGINE_MAX_GRANTS 65535 /**< of one lane, inline ones included */
#define FLAT_ENGINE_URGENCIES 4      /**< levels: 0, the lowest, to 3 */
#define FLAT_ENGINE_TASK_TYPES 16    /**< for estimates of service time */
#define FLAT_ENGINE_TYPE_NAME 32     /**< bytes of a type's name, with the 0 at its end; the rest is cut off */
/** Bytes of a payload in the descriptor; 8 less with a deadline, 8 less with a start. */
#define FLAT_ENGINE_INLINE_BYTES 32
#define FLAT_ENGINE_MAX_DELAY_NS (FLAT_STATIC_CAST(uint64_t, 1) << 56) /**< 2.3 years */
/** As a worker's number: the engine chooses. See `flat_dispatch_policy`. */
#define FLAT_ANY_WORKER SIZE_MAX
#define FLAT_NO_GRANTS SIZE_MAX /**< as a number of grants: none, where 0 is the default */

typedef struct flat_engine flat_engine;
typedef struct flat_submitter flat_submitter;
typedef struct flat_worker flat_worker;

/** What a task runs. `payload` is aligned to 16 at least, and is the task's until it returns. */
typedef void flat_task_function(flat_worker *here, void *payload, size_t size);

/** Names an accepted task among those of its submitter: its worker, its grant, and how often that grant was used
 * before. Never 0. Another submitter's task may have the same. */
typedef uint64_t flat_ticket;

/** How a task ended. */
typedef enum flat_outcome {
    FLAT_TASK_DONE = 0, /**< it ran */
    FLAT_TASK_EXPIRED,  /**< its deadline passed before it was begun: it did not run */
    FLAT_TASK_CANCELLED /**< `flat_engine_cancel` or `flat_engine_stop` came before it was begun: it did not run */
} flat_outcome;

typedef struct flat_task {
    flat_task_function *run;
    /** 0: by size, the descriptor or else the smallest class that holds it. Otherwise 1 + the number of a class of the
     * worker's pool; the payload is in a block of that class. `flat_engine_post` ignores it. */
    unsigned size_class;
    unsigned urgency; /**< 0 .. FLAT_ENGINE_URGENCIES - 1; 3 is run first */
    unsigned type;    /**< 0 .. FLAT_ENGINE_TASK_TYPES - 1: tasks of one type have a common estimate of service time */
    /** true: `flat_engine_poll` tells how it ended. Its grant, with the payload as the task left it, stays in use until
     * that was polled. */
    bool completion;
    /** true: `run` is called also if the task expired or was cancelled, to dispose of the payload. It must then ask
     * `flat_engine_outcome` first. */
    bool always_run;
    uint64_t deadline_ns; /**< 0: none. A task that was not begun by then is completed as expired */
    uint64_t start_ns;    /**< 0: at once. Otherwise the task is not begun before */
    void *context;        /**< comes back in the completion; the engine does not look at it */
    flat_ticket *ticket;  /**< not NULL: gets the ticket of the task if it is accepted */
} flat_task;

/** A payload of `flat_engine_submit_many`. */
typedef struct flat_payload {
    const void *start; /**< may be NULL if `size` is 0 */
    size_t size;       /**< bytes */
} flat_payload;

typedef struct flat_completion {
    flat_ticket ticket;
    void *context;
    flat_outcome outcome;
    void *payload; /**< as the task left it, until the submitter's next grant, submit or poll; NULL: it was inline */
    size_t size;   /**< bytes */
} flat_completion;

/** Limits of a class, or of inline payloads. Zero in a member is its default. */
typedef struct flat_class_limits {
    /** Grants of each outside lane to each worker. Default: half of the class's blocks, divided evenly among all lanes
     * to the worker, rounded down. Of inline grants: 64. FLAT_NO_GRANTS: none. */
    size_t grants;
    size_t worker_grants; /**< the same for each worker's own lane to each worker */
    /** How long each run of a task with such a payload may take, also of one that defers itself or disposes. The engine
     * counts those that take longer. */
    uint64_t service_ns;
} flat_class_limits;

/** A worker that differs from the others. Zero in a member is its default. */
typedef struct flat_worker_options {
    const flat_class *classes; /**< NULL: the engine's */
    size_t class_count;
    const flat_class_limits *class_limits; /**< NULL: the engine's if `classes` is NULL, else all defaults */
    bool pinned;                           /**< true: the worker runs on `processor` and nowhere else */
    unsigned processor;
} flat_worker_options;

/** What a worker does when it has no task. */
typedef enum flat_waiting {
    FLAT_WAITING_DEFAULT = 0, /**< looks for tasks for `spin_ns`, and then sleeps until one is submitted or due */
    FLAT_WAITING_BUSY,        /**< looks for tasks all the time, without a system call; needs a processor of its own */
    FLAT_WAITING_SLEEP        /**< sleeps at once */
} flat_waiting;

/** How a worker is chosen for a task that any may run: of those for which the submitter has a grant of the task's
 * class. A task is refused iff there is none, whatever the policy. A worker tells in one cache line what it has to do;
 * in one choice a submitter reads this of at most four workers. Ties are broken at random. docs/dispatch.md compares
 * the policies, and says where each comes from. */
typedef enum flat_dispatch_policy {
    FLAT_DISPATCH_DEFAULT = 0,        /**< FLAT_DISPATCH_PREDICTIVE */
    FLAT_DISPATCH_RANDOM,             /**< any worker; reads nothing */
    FLAT_DISPATCH_ROUND_ROBIN,        /**< the next one; reads nothing */
    FLAT_DISPATCH_SHORTEST_QUEUE,     /**< the fewest tasks, by what was read of each last */
    FLAT_DISPATCH_TWO_CHOICES,        /**< the fewer tasks of two at random */
    FLAT_DISPATCH_TWO_CHOICES_MEMORY, /**< and of the best that was seen last */
    FLAT_DISPATCH_IDLE_QUEUE,         /**< one that said that it has nothing to do; else any */
    FLAT_DISPATCH_BOUNDED_QUEUE,  /**< the shortest queue of those to which this submitter has sent fewer than two */
    FLAT_DISPATCH_LEAST_OCCUPIED, /**< the fewest grants in flight */
    FLAT_DISPATCH_SHORTEST_DELAY, /**< the least product of tasks and the time that each takes */
    FLAT_DISPATCH_PEAK_EWMA,      /**< of two at random, the less product of own tasks and how long they took */
    FLAT_DISPATCH_C3,             /**< the least response time of own tasks, with the cube of the queue */
    FLAT_DISPATCH_PREQUAL,        /**< few in flight, and of those the least latency, from a pool of answers */
    FLAT_DISPATCH_STALE_LOAD,     /**< at random, so that queues are filled up evenly while what was read ages */
    FLAT_DISPATCH_PREDICTIVE      /**< the least predicted time until the task is done */
} flat_dispatch_policy;

/** A task that runs longer than it may. */
typedef struct flat_overrun {
    size_t worker;
    flat_task_function *run;
    uint64_t running_ns; /**< so far */
    uint64_t limit_ns;
    void *const *stack; /**< return addresses, the innermost first, of the worker's thread; during the call only */
    size_t stack_depth; /**< 0: it did not answer the signal in time */
} flat_overrun;

typedef void flat_overrun_function(void *context, const flat_overrun *overrun);

typedef struct flat_engine_options {
    size_t worker_count;                   /**< 1 .. FLAT_ENGINE_MAX_WORKERS */
    const flat_class *classes;             /**< of each worker's pool; read during the call only, as all that follows */
    size_t class_count;                    /**< 1 .. FLAT_POOL_MAX_CLASSES */
    const flat_class_limits *class_limits; /**< NULL, or `class_count` of them */
    flat_class_limits inline_limits;
    const flat_worker_options *workers; /**< NULL: all alike, not pinned; or `worker_count` of them */
    size_t lane_count;                  /**< submitters outside of the workers, 1 .. FLAT_ENGINE_MAX_LANES; 0: 4 */
    flat_waiting waiting;
    flat_dispatch_policy dispatch; /**< for tasks to FLAT_ANY_WORKER */
    uint64_t dispatch_seed;        /**< of what is chosen at random */
    /** 0: none. Otherwise what the policy gains is measured: time is cut into slices of about so long, and in one of
     * `switchback_one_in` slices, drawn at random, two choices decides for all submitters. See
     * `flat_engine_dispatch_gain`. 1,000,000 to 100,000,000,000. Much longer than a task, or what one policy left
     * behind is taken for the other's: the first quarter of each slice is not counted. 55 KiB for each submitter. */
    uint64_t switchback_slice_ns;
    unsigned switchback_one_in; /**< a power of two, 2 to 65,536; 0: 8 */
    uint64_t spin_ns;           /**< 0: 50,000 */
    /** Bytes of each worker's stack. 0: 262,144. Whole pages, 65,536 at least. With a watchdog each has 32,768 more,
     * on which it tells where it is. */
    size_t stack_size;
    unsigned starvation_limit; /**< 1 .. 32,767; 0: 64 */
    /** true: the engine starts no thread; `flat_engine_run` or `flat_engine_step` is called for each worker. */
    bool caller_runs_workers;
    /** 0: none. Otherwise how long a task may run before it is reported, once, by a thread that looks four times in
     * this time, but at most once a millisecond and at least ten times a second. To get the stack it sends the worker's
     * thread SIGURG, which nothing else of a usual program needs, and which does nothing where it is not handled. The
     * handler stays installed; it passes signals of others on to the handler that was there before. The task's system
     * call goes on as after any signal: some, as nanosleep and poll, end with EINTR. A worker's own thread takes the
     * signal on 32 KiB more stack; with `caller_runs_workers` on the thread's alternate signal stack if it has one, and
     * if it blocks SIGURG, there is no stack to report. A library with a task may not be unloaded meanwhile. */
    uint64_t watchdog_ns;
    flat_overrun_function *overrun; /**< gets the report, on the watchdog's thread; NULL: it goes to standard error */
    void *overrun_context;
    /** How many tasks each worker keeps a record of, the first ones: when they came and how long they took, in 32 bytes
     * each. See `flat_engine_write_record`. 0: none. */
    size_t recorded_tasks;
    /** NULL, or FLAT_ENGINE_TASK_TYPES names of types, each of which may be NULL: for whoever looks at the engine. */
    const char *const *type_names;
    const flat_region_options *region; /**< of `flat_engine_create`. NULL: private, prefaulted */
    char *message; /**< not NULL: gets one line that says what was refused and what to do; "" if nothing was */
    size_t message_size;
} flat_engine_options;

/** The exact footprint of an engine with these options. The metadata includes the stacks of the workers. O(workers *
 * (classes + lanes)).
 * FLAT_INVALID_ARGUMENT iff a pointer is NULL, a member is out of its range, the classes of a worker are invalid (see
 * `flat_pool_footprint`), a class or the inline payloads have no grant for a lane by default or more grants than
 * blocks, an outside lane has none at all or any lane more than FLAT_ENGINE_MAX_GRANTS, or a total exceeds
 * PTRDIFF_MAX / 2 bytes. On failure `*footprint` is unchanged. */
FLAT_HOSTED_API FLAT_NODISCARD flat_status flat_engine_footprint(const flat_engine_options *options,
                                                                 flat_footprint *footprint);

/** Makes an engine in the caller's memory, which must outlive it, and starts the workers. Guard pages and the page that
 * `flatline top` reads need `flat_engine_create`. Fails as `flat_engine_footprint` does, and
 * FLAT_INVALID_ARGUMENT also iff a start is not at a multiple of the footprint's alignment, or the memories overlap or
 * wrap around; FLAT_OUT_OF_MEMORY iff a memory is smaller than the footprint, or the system starts no more threads;
 * FLAT_NOT_PERMITTED iff a worker cannot be pinned as asked. On failure `*engine` is NULL and no thread runs. */
FLAT_HOSTED_API FLAT_NODISCARD flat_status flat_engine_init(flat_engine **engine, const flat_engine_options *options,
                                                            flat_memory metadata, flat_memory blocks);

/** footprint + two regions + init: all memory is there now, and the workers run. The blocks of each worker, and each
 * stack, end at a guard page. The statistics are in a shared page that `flatline top` reads.
 * Fails as `flat_engine_init` and `flat_region_create` do. On failure `*engine` is NULL and nothing stays mapped. */
FLAT_HOSTED_API FLAT_NODISCARD flat_status flat_engine_create(flat_engine **engine, const flat_engine_options *options);

/** Stops the engine (see `flat_engine_stop`), waits for the tasks that run to return, ends the workers, and unmaps what
 * `flat_engine_create` mapped. No thread may use the engine or its submitters from then on. With
 * `caller_runs_workers` each `flat_engine_run` must have returned, and what was not begun is cancelled by the calling
 * thread. NULL has no effect. */
FLAT_HOSTED_API void flat_engine_destroy(flat_engine *engine);

/** Nanoseconds since the engine was made, from the processor's counter: some 10 ns a call. The rate was measured at
 * init, to about one in 25,000. */
FLAT_HOSTED_API uint64_t flat_engine_now(const flat_engine *engine);

/* Submitters. */

/** Takes a lane to every worker for the calling thread. If none is free, reclaims those that are (see
 * `flat_engine_reclaim`). FLAT_INVALID_ARGUMENT iff a pointer is NULL; FLAT_DRAINING iff the engine takes no more
 * tasks; FLAT_UNAVAILABLE iff all lanes are in use. */
FLAT_HOSTED_API FLAT_NODISCARD flat_status flat_engine_register(flat_engine *engine, flat_submitter **submitter);

/** Gives the lanes back. What is in flight is run; its completions are dropped. NULL has no effect. */
FLAT_HOSTED_API void flat_engine_unregister(flat_submitter *submitter);

/** What `flat_engine_reclaim` found. */
typedef struct flat_reclaimed {
    size_t lanes;     /**< that are free again */
    size_t waiting;   /**< lanes whose thread has ended or left, with tasks that are not done: they are not free yet */
    size_t in_flight; /**< those tasks, and cancellations that no worker has seen yet */
    size_t held;      /**< grants of lanes that are free again that were never posted */
    size_t unread;    /**< completions of lanes that are free again that were never polled */
} flat_reclaimed;

/** Frees the lanes whose threads have left, or have ended without doing so, once all their tasks are done. Several
 * threads may call it. O(lanes * (workers + grants)), and up to eight system calls for each lane in use. Where a filter
 * refuses signals to threads and /proc is missing or another namespace's, no thread is known to have ended, and its
 * lanes stay its own. */
FLAT_HOSTED_API flat_reclaimed flat_engine_reclaim(flat_engine *engine);

/** Submits a task with a copy of its payload. Worst case: for an inline payload no loop; else one loop over the
 * payload. FLAT_OK iff it is accepted. Otherwise nothing has changed:
 * FLAT_INVALID_ARGUMENT iff a pointer is NULL (`payload` may be if `size` is 0), there is no such worker, class,
 * urgency or type, `size` exceeds the class or every class of the worker, or the task starts after its deadline or more
 * than FLAT_ENGINE_MAX_DELAY_NS from now; FLAT_DEADLINE_PAST iff the deadline has passed;
 * FLAT_DRAINING iff the engine takes no more tasks; FLAT_RING_FULL iff the payload is inline and the lane has no inline
 * grant left; FLAT_NO_GRANT iff it is not and the lane has no grant of its class left.
 * With FLAT_ANY_WORKER it is submitted to the worker that `flat_engine_dispatch` would choose, except that payloads
 * travel in the descriptor where they can. It is refused for want of a grant iff there is none at any worker. */
FLAT_HOSTED_API FLAT_NODISCARD flat_status flat_engine_submit(flat_submitter *submitter, size_t worker,
                                                              const flat_task *task, const void *payload, size_t size);

/** The same, but where no grant is left, waits until one is, until the engine takes no more tasks, or until `until_ns`.
 * Not from a task: FLAT_INVALID_ARGUMENT then. FLAT_TIMED_OUT iff none came in time. */
FLAT_HOSTED_API FLAT_NODISCARD flat_status flat_engine_submit_until(flat_submitter *submitter, size_t worker,
                                                                    const flat_task *task, const void *payload,
                                                                    size_t size, uint64_t until_ns);

/** Submits one task for each of `count` payloads, in order, until one is refused. Returns the number accepted, and in
 * `*status`, which may be NULL, why the next one was not: FLAT_OK iff all were. A sleeping worker is woken once.
 * `task->ticket` gets that of the last one. */
FLAT_HOSTED_API size_t flat_engine_submit_many(flat_submitter *submitter, size_t worker, const flat_task *task,
                                               const flat_payload *payloads, size_t count, flat_status *status);

/** The worker that the engine's policy chooses for a task with a payload of `size` bytes in a block: one for which the
 * submitter has a grant of the task's class. FLAT_ANY_WORKER iff there is none, no class holds the payload, a pointer
 * is NULL, or the type is none. The choice is for a grant and a post that follow, or a submit of a task with a class.
 *
 * No lock, no allocation, no wait. Loops over the workers; reads, of other threads' memory, the reports of at most four
 * workers, one line more of the chosen one, and the rings in which grants of these, and of one other worker, come back.
 * Before it returns FLAT_ANY_WORKER it has looked for grants that came back from all. With the first call, or the first
 * submit to FLAT_ANY_WORKER, the workers begin to keep reports, which costs them some nanoseconds for each task. */
FLAT_HOSTED_API FLAT_NODISCARD size_t flat_engine_dispatch(flat_submitter *submitter, const flat_task *task,
                                                           size_t size);

/** A block of the worker's pool for a payload of `size` bytes, to be filled and then posted or released. NULL iff the
 * lane has no grant of the smallest class that holds `size`, no class does, or there is no such worker. No loop, no
 * call. */
FLAT_HOSTED_API FLAT_NODISCARD void *flat_engine_grant(flat_submitter *submitter, size_t worker, size_t size);

/** Submits a task whose payload is a granted block, with the size that it was granted for. Fails as
 * `flat_engine_submit`, then the grant is still held; and FLAT_FOREIGN_POINTER iff the block is not a grant that this
 * submitter holds. No loop, no call but to wake a sleeping worker. */
FLAT_HOSTED_API FLAT_NODISCARD flat_status flat_engine_post(flat_submitter *submitter, void *granted,
                                                            const flat_task *task);

/** Gives a grant back without a task. FLAT_FOREIGN_POINTER iff the submitter does not hold it. No loop, no call. */
FLAT_HOSTED_API flat_status flat_engine_release(flat_submitter *submitter, void *granted);

/** Holds the grant of a completion again that was just polled and whose `payload` is not NULL: as if
 * `flat_engine_grant` had returned it, for the same size, and with what is in it. For the last completion that a call
 * of `flat_engine_poll` took, before the submitter's next call. FLAT_FOREIGN_POINTER iff the block is not the one that
 * `flat_engine_grant` would return next for its class: it may be in use again. No loop, no call. */
FLAT_HOSTED_API FLAT_NODISCARD flat_status flat_engine_keep(flat_submitter *submitter, void *payload);

/** How many tasks with a payload of `size` bytes `flat_engine_submit` accepts at `worker` before the first one is done:
 * of tasks without class, deadline and start, and while the submitter holds no grant. Neither fewer nor more. With
 * FLAT_ANY_WORKER at all workers together. 0 iff there is no such worker or no such grant. O(1), or O(workers). */
FLAT_HOSTED_API size_t flat_engine_capacity(const flat_submitter *submitter, size_t worker, size_t size);

/** How many blocks for `size` bytes `flat_engine_grant` gives out at `worker` before one of them comes back. For a size
 * that `flat_engine_submit` has room for in the descriptor it differs from `flat_engine_capacity`. With FLAT_ANY_WORKER
 * at all workers together. 0 iff there is no such worker or no such grant. O(1), or O(workers). */
FLAT_HOSTED_API size_t flat_engine_grants(const flat_submitter *submitter, size_t worker, size_t size);

/** Asks for a task that was not begun to be completed as cancelled. FLAT_OK: it will be, unless it is begun or expires
 * first; its completion tells. FLAT_STALE_TICKET iff the submitter has no such task: it is done, and its grant is back.
 * FLAT_RING_FULL iff the worker has not yet seen the last cancellation of the same grant: try again later.
 * O(grants of the lane). */
FLAT_HOSTED_API FLAT_NODISCARD flat_status flat_engine_cancel(flat_submitter *submitter, flat_ticket ticket);

/** Takes up to `capacity` completions, in the order of each worker, and returns their number. O(workers + capacity). */
FLAT_HOSTED_API size_t flat_engine_poll(flat_submitter *submitter, flat_completion *completions, size_t capacity);

/** Waits until `flat_engine_poll` has a completion, or until `until_ns`. FLAT_TIMED_OUT iff none came; not from a task:
 * FLAT_INVALID_ARGUMENT then. */
FLAT_HOSTED_API FLAT_NODISCARD flat_status flat_engine_wait(flat_submitter *submitter, uint64_t until_ns);

/* Within a task. */

FLAT_HOSTED_API flat_pool *flat_engine_pool(flat_worker *here);           /**< the worker's own */
FLAT_HOSTED_API flat_submitter *flat_engine_submitter(flat_worker *here); /**< its lanes to all workers */
FLAT_HOSTED_API size_t flat_engine_worker(const flat_worker *here);       /**< its number */
FLAT_HOSTED_API flat_engine *flat_engine_of(const flat_worker *here);

/** Whether the task is to run: FLAT_TASK_DONE, except in a task with `always_run` that is not. */
FLAT_HOSTED_API flat_outcome flat_engine_outcome(const flat_worker *here);

/** The task will be run again, not before `delay_ns` from now, with the same payload: it keeps its grant, and it is not
 * done when it returns. With 0 it goes to the end of the queue of its urgency. FLAT_INVALID_ARGUMENT iff `delay_ns`
 * exceeds FLAT_ENGINE_MAX_DELAY_NS, or the task does not run (see `flat_engine_outcome`). O(1).
 *
 * If the worker's pool refused the task a block in this run, policies of dispatch take it to have not run yet. */
FLAT_HOSTED_API FLAT_NODISCARD flat_status flat_engine_defer(flat_worker *here, uint64_t delay_ns);

/* Workers of the caller's (`caller_runs_workers`). */

/** Is worker number `worker` until the engine is destroyed or `flat_engine_end` is called. FLAT_INVALID_ARGUMENT iff
 * there is no such worker, the engine runs its own, or another thread is this one. */
FLAT_HOSTED_API FLAT_NODISCARD flat_status flat_engine_run(flat_engine *engine, size_t worker);

/** Takes what was submitted, runs at most one task, and returns whether it did. False also where `flat_engine_run`
 * would fail. Bounded, except for the task. */
FLAT_HOSTED_API bool flat_engine_step(flat_engine *engine, size_t worker);

/** Ends the engine: tasks that were not begun are completed as cancelled, and every `flat_engine_run` returns. It waits
 * for tasks that are in the middle of a submit. A submitter outside of the workers that is in the middle of one may
 * have its task accepted, and no worker left to complete it: `flat_engine_stop` beforehand waits for those. */
FLAT_HOSTED_API void flat_engine_end(flat_engine *engine);

/* Ending. */

/** From now on submitters outside of the workers are refused (FLAT_DRAINING), and tasks may still submit tasks. Returns
 * FLAT_OK once every accepted task has run, expired or been cancelled, and FLAT_TIMED_OUT iff that takes longer than
 * `within_ns`; `flat_engine_stuck` then names what it waited for. The engine stays as it is until
 * `flat_engine_resume`. */
FLAT_HOSTED_API FLAT_NODISCARD flat_status flat_engine_drain(flat_engine *engine, uint64_t within_ns);

/** From now on every submit is refused (FLAT_DRAINING), and tasks that were not begun are completed as cancelled.
 * FLAT_OK once no task is left, FLAT_TIMED_OUT as above. */
FLAT_HOSTED_API FLAT_NODISCARD flat_status flat_engine_stop(flat_engine *engine, uint64_t within_ns);

/** Ends a drain or a stop: tasks are accepted again. */
FLAT_HOSTED_API void flat_engine_resume(flat_engine *engine);

/** Something that a drain or a stop waits for. */
typedef struct flat_stuck {
    size_t worker;           /**< FLAT_ANY_WORKER: it is a submitter, in the middle of a submit */
    uint32_t thread;         /**< the system's number of the worker's or submitter's thread; 0: none runs the worker */
    flat_task_function *run; /**< the task that runs there; NULL: none */
    uint64_t running_ns;     /**< how long it has been running */
    uint64_t waiting;        /**< tasks that were accepted there and are not done, the running one included */
} flat_stuck;

/** Fills `stuck` with up to `capacity` workers and submitters that are not done, and returns how many there are. */
FLAT_HOSTED_API size_t flat_engine_stuck(const flat_engine *engine, flat_stuck *stuck, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
