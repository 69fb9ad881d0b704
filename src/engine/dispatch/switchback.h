/* Whether one policy is better than another in the traffic that there is.
 *
 * A small share of the tasks that another policy decides would not tell: it profits from what the policy of the others
 * does, and suffers from it. So time is cut into slices, in each of which one policy decides for all dispatchers
 * (Bojinov, Simchi-Levi, Zhao, "Design and analysis of switchback experiments", Management Science 69, 2023). One
 * slice of each block, drawn at random, belongs to the fallback:
 *
 *     slice     0   1   2   3   4   5   6   7
 *             [ F | P ][ P | F ][ P | F ][ F | P ]     P: the policy, F: the fallback; blocks of two
 *               ..  ..   ..  ..   ..  ..   ..  ..      sent in the wash-out, while queues are those of the slice before
 *
 * A task counts in the slice in which it was sent, however late it comes back, and not at all if that was in the
 * wash-out. Tasks of one slice depend on each other, so an interval from single tasks would be far too narrow: it comes
 * from the differences between rows, each of which has the tasks of as many blocks in a row. When all rows are in use
 * each two of them become one.
 *
 * Who has a slice depends on its number and the seed alone: dispatchers and workers need not talk of it. Estimators of
 * the same options can be added, since their slices and rows are the same.
 *
 * Threads: one counts. Others may copy at any time, with `flat_switchback_read`. Nothing here allocates, waits or
 * locks. What is called for each task has integers only. Times are in ticks. */
#ifndef FLATLINE_ENGINE_DISPATCH_SWITCHBACK_H
#define FLATLINE_ENGINE_DISPATCH_SWITCHBACK_H

#include "chance.h"

#include "../histogram.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SWITCHBACK_ROWS 24           /* even */
#define SWITCHBACK_LEAST_ROWS 10     /* of which an interval is made */
#define SWITCHBACK_LEAST_TASKS 50000 /* of each arm in these rows */
#define SWITCHBACK_DOUBLINGS 18      /* from the shortest sojourn that is told apart to the longest */
#define SWITCHBACK_LEVELS (SWITCHBACK_DOUBLINGS * HISTOGRAM_STEPS)
#define SWITCHBACK_ONE_IN 1000 /* tasks takes longer than the quantile that is estimated: P99.9 */

typedef enum switchback_arm { SWITCHBACK_POLICY, SWITCHBACK_FALLBACK, SWITCHBACK_ARMS } switchback_arm;

typedef struct switchback_options {
    uint64_t seed;
    uint64_t begin;         /* of the first slice; what is sent before is not counted */
    uint64_t washout;       /* ticks of each slice: fewer than it has. Longer than most sojourns of either policy */
    uint64_t closing;       /* ticks after the end of a row until the interval takes it in */
    uint32_t slice_bits;    /* a slice has 2^slice_bits ticks; 1 to 40 */
    uint32_t share_bits;    /* one slice in 2^share_bits is the fallback's; 1 to 16 */
    uint32_t most_bits;     /* a row has at most 2^most_bits blocks, and then the older half of the rows is forgotten;
                               to 32, and so that fewer than 2^32 tasks come meanwhile */
    uint32_t shortest_bits; /* sojourns below 2^shortest_bits are all alike; to 30. Those that are
                               2^SWITCHBACK_DOUBLINGS times as long, too */
} switchback_options;

typedef struct switchback_row {
    uint64_t tasks[SWITCHBACK_ARMS];
    uint32_t levels[SWITCHBACK_ARMS][SWITCHBACK_LEVELS]; /* tasks by sojourn: the levels are buckets of histogram.h */
} switchback_row;

/* It has 55,752 bytes. When all rows are in use one call of flat_switchback_count moves them, by up to 86,000 accesses
 * of memory: once while the time of the experiment doubles, and once for each half of the rows when these are as long
 * as they may be. Other calls take fewer than 200 instructions.
 *
 * A block b has the slices from b << share_bits on. Row r has the blocks from first + (r << row_bits) on. */
typedef struct switchback {
    switchback_options options;
    uint64_t first;
    uint32_t row_bits;
    uint32_t changes; /* odd: rows are being moved */
    uint64_t late;    /* tasks that came back so late that an interval may have been made without them. They count too,
                         unless their row was forgotten */
    switchback_row rows[SWITCHBACK_ROWS];
} switchback;

/* Intervals are such that they hold the truth in 95 of 100 cases. */
typedef struct switchback_estimate {
    bool known; /* there are the least rows and tasks, and no bound is beyond what is told apart. Else nothing below
                   `tasks` is */
    uint32_t rows;
    uint64_t slices[SWITCHBACK_ARMS], tasks[SWITCHBACK_ARMS]; /* that were counted in these rows */
    double quantile[SWITCHBACK_ARMS], low[SWITCHBACK_ARMS], high[SWITCHBACK_ARMS];
    double gain, gain_low, gain_high; /* 1 - quantile of the policy / quantile of the fallback */
} switchback_estimate;

static inline uint64_t switchback_slice(const switchback_options *options, uint64_t at) {
    return at > options->begin ? (at - options->begin) >> options->slice_bits : 0;
}

/* Which policy decides at a time. The place of the fallback's slice in a block is the block's
 * number in SplitMix64's sequence. */
static inline switchback_arm switchback_arm_at(const switchback_options *options, uint64_t at) {
    uint64_t slice = switchback_slice(options, at), mask = (UINT64_C(1) << options->share_bits) - 1;
    chance by = {options->seed + (slice >> options->share_bits) * UINT64_C(0x9e3779b97f4a7c15)};
    return ((chance_bits(&by) ^ slice) & mask) == 0 ? SWITCHBACK_FALLBACK : SWITCHBACK_POLICY;
}

/* Of options that are as stated above. */
void flat_switchback_init(switchback *of, const switchback_options *options);

/* A task came back at `now` that had been sent at `sent_at` and had run. */
void flat_switchback_count(switchback *of, uint64_t sent_at, uint64_t sojourn, uint64_t now);

/* Makes room for what is sent until `now`: some ten thousand words are moved, but in fewer and fewer slices. Whoever
 * calls this before each send may count by the next one, which then finds a row. */
void flat_switchback_make_room(switchback *of, uint64_t now);

/* The same as `flat_switchback_count`, without a loop; not for a task for which there is no row. */
static inline void switchback_count_with_room(switchback *of, uint64_t sent_at, uint64_t sojourn, uint64_t now) {
    const switchback_options *options = &of->options;
    if (sent_at < options->begin) return;
    uint64_t slice = switchback_slice(options, sent_at), block = slice >> options->share_bits;
    uint64_t slice_begin = options->begin + (slice << options->slice_bits);
    if (sent_at - slice_begin < options->washout) return;
    uint64_t closed = slice_begin + (UINT64_C(1) << options->slice_bits) + options->closing;
    if (now > closed) __atomic_store_n(&of->late, of->late + 1, __ATOMIC_RELAXED);
    uint64_t number = (block - of->first) >> of->row_bits;
    if (block < of->first || number >= SWITCHBACK_ROWS) return;
    switchback_row *row = &of->rows[number];
    switchback_arm arm = switchback_arm_at(options, sent_at);
    __atomic_store_n(&row->tasks[arm], row->tasks[arm] + 1, __ATOMIC_RELAXED);
    if (sojourn >> options->shortest_bits == 0) return;
    uint32_t level = histogram_bucket(sojourn) - histogram_bucket(UINT64_C(1) << options->shortest_bits);
    uint32_t *count = &row->levels[arm][level < SWITCHBACK_LEVELS ? level : SWITCHBACK_LEVELS - 1];
    __atomic_store_n(count, *count + 1, __ATOMIC_RELAXED);
}

/* Copies an estimator in which another thread counts. False iff that thread was moving rows each time. */
bool flat_switchback_read(switchback *copy, const switchback *from);

/* Adds what another estimator of the same options has counted. */
void flat_switchback_add(switchback *of, const switchback *other);

/* By the rows that had ended `closing` ago and have tasks of both arms. */
void flat_switchback_estimate(const switchback *of, uint64_t now, switchback_estimate *estimate);

#ifdef __cplusplus
}
#endif
#endif
