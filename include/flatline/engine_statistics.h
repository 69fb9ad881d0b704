/* Seeing an engine while it runs: what each worker does, how much waits, how long tasks take, and what was refused.
 *
 * Workers and submitters write down what they do at the moment when it happens, each on memory of its own. Looking
 * reads that memory. It takes no lock, stops no thread, and works while the engine is overloaded or a worker is stuck.
 * Counts never decrease. Words that belong together may be of slightly different moments.
 *
 * Threads: any thread may call these, until `flat_engine_destroy`. They use no heap. */
#ifndef FLATLINE_ENGINE_STATISTICS_H
#define FLATLINE_ENGINE_STATISTICS_H

#include <flatline/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Histograms of durations. */

#define FLAT_HISTOGRAM_BUCKETS 720

/** Durations, counted in buckets: 16 for each doubling, so that the ends of a bucket differ by at most 1/16. Longer
 * ones than 2^48 units are counted in the last bucket. All zeros is an empty histogram of nanoseconds. */
typedef struct flat_histogram {
    uint64_t counts[FLAT_HISTOGRAM_BUCKETS];
    uint64_t unit_ns; /**< of the buckets, in units of 2^-32 ns; 0: 1 ns. An engine's are ticks of the counter */
} flat_histogram;

/** Counts one duration. One thread at a time. O(1). */
FLAT_HOSTED_API void flat_histogram_add(flat_histogram *histogram, uint64_t ns);

/** Adds all that `from` holds. If the units differ, it moves to the buckets of `into` that hold its buckets' upper
 * ends; an empty `into` takes the unit of `from`. O(buckets). */
FLAT_HOSTED_API void flat_histogram_merge(flat_histogram *into, const flat_histogram *from);

/** Takes away what `earlier` held, a copy of the same histogram from before: what was added since remains. Counts that
 * are less than before become 0. O(buckets). */
FLAT_HOSTED_API void flat_histogram_subtract(flat_histogram *from, const flat_histogram *earlier);

/** How many durations it holds. O(buckets). */
FLAT_HOSTED_API uint64_t flat_histogram_count(const flat_histogram *histogram);

/** The upper end, in nanoseconds, of the bucket that holds the quantile: at least `fraction` of all durations are at
 * most as long. It exceeds the duration itself by at most 1/16. `fraction` 0: the shortest; 1: the longest, and so for
 * all above. 0 iff the histogram is empty or `fraction` is no number. O(buckets). */
FLAT_HOSTED_API uint64_t flat_histogram_quantile(const flat_histogram *histogram, double fraction);

/* Workers. */

/** A class of a worker's pool. */
typedef struct flat_class_snapshot {
    size_t block_size;  /**< bytes; 0: inline payloads, which are the last class */
    size_t block_count; /**< of the pool; 0 for inline payloads */
    size_t granted;     /**< grants that all lanes to the worker have together */
    size_t free;        /**< blocks that are no grants and were free at the worker's last count, some ms ago at most
                             while it runs short tasks */
    size_t in_flight;   /**< grants whose tasks the worker has taken in and that are not done */
    uint64_t done;      /**< tasks */
    uint64_t service_limit_ns; /**< 0: none stated */
    uint64_t over_service;     /**< runs that took longer than that */
    uint64_t longest_service_ns, longest_sojourn_ns;
} flat_class_snapshot;

typedef struct flat_worker_snapshot {
    uint64_t at_ns;    /**< `flat_engine_now` of the snapshot */
    uint64_t alive_ns; /**< `flat_engine_now` of the worker's last sign of life: it looked for tasks, or began one */
    uint32_t thread;   /**< the system's number; 0: no thread runs the worker */
    bool asleep;
    flat_task_function *run;                /**< the task that runs; NULL: none */
    uint64_t running_ns;                    /**< how long it has been running */
    uint64_t queued[FLAT_ENGINE_URGENCIES]; /**< tasks that wait at the worker, by urgency */
    uint64_t timed;                         /**< tasks that wait for their start */
    uint64_t untaken;                       /**< tasks in the lanes, which the worker has not taken in yet */
    uint64_t accepted;                      /**< tasks */
    uint64_t outcomes[3];                   /**< tasks that ended, by flat_outcome */
    uint64_t begun;                         /**< runs, also of tasks that defer themselves or dispose */
    uint64_t deferred;                      /**< runs after which the task waited again */
    uint64_t slept;                         /**< times */
    uint64_t overruns;                      /**< tasks that the watchdog reported */
    /** Tasks per second that came in and that ended, over the last milliseconds before the running task was begun. Kept
     * by the worker: see `flat_engine_snapshot`. */
    double arrivals_per_s, drains_per_s;
    uint64_t service_estimate_ns[FLAT_ENGINE_TASK_TYPES]; /**< moving average of about 16 runs; 0: none yet */
    size_t class_count;                                   /**< of `classes`, the inline payloads' included */
    flat_class_snapshot classes[FLAT_POOL_MAX_CLASSES + 1];
} flat_worker_snapshot;

/** Looks at a worker. Worst case: a copy of some words for each class, and one word of each submitter. The rates are
 * moved by the worker, at most once a millisecond; of a worker that has slept for longer than they cover they are 0.
 * FLAT_INVALID_ARGUMENT iff a pointer is NULL or there is no such worker; `*snapshot` is then unchanged. */
FLAT_HOSTED_API FLAT_NODISCARD flat_status flat_engine_snapshot(const flat_engine *engine, size_t worker,
                                                                flat_worker_snapshot *snapshot);

/** What is measured of each task that was done. */
typedef enum flat_duration {
    FLAT_DURATION_WAITING, /**< from submit to begin; of one with a start that includes the time until then */
    FLAT_DURATION_SERVICE, /**< from begin to end; of one that deferred itself, of its last run */
    FLAT_DURATION_SOJOURN, /**< from submit to end */
    FLAT_DURATIONS
} flat_duration;

/** Merges the durations of all tasks that a worker has done into `*into`; FLAT_ANY_WORKER: those of every worker.
 * O(workers * buckets). FLAT_INVALID_ARGUMENT iff a pointer is NULL, or there is no such worker or duration. */
FLAT_HOSTED_API FLAT_NODISCARD flat_status flat_engine_histogram(const flat_engine *engine, size_t worker,
                                                                 flat_duration duration, flat_histogram *into);

/* Submitters. */

/** Why a submit was refused. */
typedef enum flat_refusal {
    FLAT_REFUSAL_NO_GRANT,      /**< FLAT_NO_GRANT, and grants that were asked for */
    FLAT_REFUSAL_RING_FULL,     /**< FLAT_RING_FULL */
    FLAT_REFUSAL_DEADLINE_PAST, /**< FLAT_DEADLINE_PAST */
    FLAT_REFUSAL_DRAINING,      /**< FLAT_DRAINING */
    FLAT_REFUSAL_INVALID,       /**< any other status */
    FLAT_REFUSALS
} flat_refusal;

/** Counts of a submitter's lanes, whoever had them. */
typedef struct flat_submitter_snapshot {
    size_t worker;   /**< whose tasks submit by it; FLAT_ANY_WORKER: outside of the workers */
    uint32_t thread; /**< the system's number of its owner; 0: nobody has it, or it is a worker's */
    uint64_t accepted;
    uint64_t refused[FLAT_REFUSALS];
} flat_submitter_snapshot;

/** Looks at a submitter: the outside ones are numbered from 0 on, and then come the workers' own. O(workers).
 * FLAT_INVALID_ARGUMENT iff a pointer is NULL or there is no such number; `*snapshot` is then unchanged. */
FLAT_HOSTED_API FLAT_NODISCARD flat_status flat_engine_submitter_snapshot(const flat_engine *engine, size_t number,
                                                                          flat_submitter_snapshot *snapshot);

/* What the policy of dispatch gains. */

typedef struct flat_dispatch_gain {
    bool known;                       /**< false: too few tasks yet; only the next two have a meaning */
    uint64_t tasks, fallback_tasks;   /**< that were counted, in slices of the policy and in those of two choices */
    uint64_t p999_ns;                 /**< of how long tasks took from their submit until they had run */
    uint64_t fallback_p999_ns;        /**< in slices of two choices */
    double gain, gain_low, gain_high; /**< 1 - p999_ns / fallback_p999_ns: 0.2 is a fifth less, -0.1 a tenth more; and
                                           its 95 % interval */
} flat_dispatch_gain;

/** What the engine's policy gains over two choices, by its switchback (`switchback_slice_ns` in the options). Any
 * thread; uses 120 KiB of stack. FLAT_INVALID_ARGUMENT iff a pointer is NULL or there is no switchback. O(submitters),
 * some 20 us for each. */
FLAT_HOSTED_API FLAT_NODISCARD flat_status flat_engine_dispatch_gain(const flat_engine *engine,
                                                                     flat_dispatch_gain *gain);

/* Prometheus. */

/** Writes all of this in the text format of Prometheus 0.0.4 (`Content-Type: text/plain; version=0.0.4`), as far as it
 * fits, and ends it with a 0 byte if `capacity` is not 0. Returns the bytes of the whole text, without the 0 byte, as
 * snprintf does. If that is not less than `capacity`, call it again with more room; numbers may have grown by then.
 * `buffer` may be NULL if `capacity` is 0. Durations are in seconds. A bucket of a histogram counts the durations that
 * are certainly at most its `le`: one that is up to 1/16 shorter may count for the next. Sums of durations are exact
 * to 1/32. Returns 0 iff `engine` is NULL. O(workers * (buckets + classes) + submitters * workers). */
FLAT_HOSTED_API size_t flat_engine_metrics(const flat_engine *engine, char *buffer, size_t capacity);

/** Writes the record of the first tasks of each worker (`recorded_tasks` in the options) to an open file, for
 * `flatline simulate --record`: a line "# flatline-record/1 workers=N submitters=N missed=N", one with the names of the
 * columns, and one for each task that was done, of all its runs: when it was submitted, how long it ran, how long it
 * kept its grant after its first run, in ns, its type, its submitter's number and its worker's. `missed`: tasks that
 * were done after a record was full. In no order. Any thread, also while workers run; it calls the system and may wait
 * for it. FLAT_INVALID_ARGUMENT iff the engine is NULL or keeps no record; FLAT_UNAVAILABLE iff the system did not take
 * all of it, and `errno` says why. */
FLAT_HOSTED_API FLAT_NODISCARD flat_status flat_engine_write_record(const flat_engine *engine, int file);

#ifdef __cplusplus
}
#endif
#endif
