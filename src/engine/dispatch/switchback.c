#include "switchback.h"

#include "../../core/compiler.h"

#include <flatline/bounded.h>
#include <stddef.h>

void flat_switchback_init(switchback *of, const switchback_options *options) {
    *of = (switchback){.options = *options};
}

/* Counting. A reader that finds `changes` the same even number before and after saw rows that stood still. */

static inline void begin_change(switchback *of) { __atomic_store_n(&of->changes, of->changes + 1, __ATOMIC_RELAXED); }

static inline void end_change(switchback *of) { __atomic_store_n(&of->changes, of->changes + 1, __ATOMIC_RELEASE); }

/* Releases the odd number of changes with each word. */
static inline void put_word(uint64_t *to, uint64_t value) { __atomic_store_n(to, value, __ATOMIC_RELEASE); }

static inline void put_count(uint32_t *to, uint32_t value) { __atomic_store_n(to, value, __ATOMIC_RELEASE); }

/* A row becomes the sum of two others; NULL: of one that has no tasks. */
NOINLINE static void put_sum(switchback_row *row, const switchback_row *one, const switchback_row *other) {
    for (uint32_t arm = 0; arm < SWITCHBACK_ARMS; arm++) {
        FLAT_LOOP_AT_MOST(SWITCHBACK_ARMS);
        put_word(&row->tasks[arm], (one != NULL ? one->tasks[arm] : 0) + (other != NULL ? other->tasks[arm] : 0));
        for (uint32_t level = 0; level < SWITCHBACK_LEVELS; level++) {
            FLAT_LOOP_AT_MOST(SWITCHBACK_ARMS * SWITCHBACK_LEVELS);
            put_count(&row->levels[arm][level],
                      (one != NULL ? one->levels[arm][level] : 0) + (other != NULL ? other->levels[arm][level] : 0));
        }
    }
}

/* Each 2^bits rows become one, and then the first `forgotten` of these go. */
NOINLINE static void move_rows(switchback *of, uint32_t bits, uint64_t forgotten) {
    uint64_t kept = 0;
    begin_change(of);
    for (uint64_t row = 0; row < SWITCHBACK_ROWS; row++) {
        FLAT_LOOP_AT_MOST(SWITCHBACK_ROWS);
        if (row >> bits < forgotten) continue;
        switchback_row *to = &of->rows[(row >> bits) - forgotten];
        bool is_first = row >> bits << bits == row;
        put_sum(to, is_first ? NULL : to, &of->rows[row]);
        kept += is_first;
    }
    for (; kept < SWITCHBACK_ROWS; kept++) {
        FLAT_LOOP_AT_MOST(SWITCHBACK_ROWS);
        put_sum(&of->rows[kept], NULL, NULL);
    }
    __atomic_store_n(&of->row_bits, of->row_bits + bits, __ATOMIC_RELEASE);
    put_word(&of->first, of->first + (forgotten << of->row_bits));
    end_change(of);
}

/* Until there is a row for the block. Rows are the same whichever blocks were counted before. */
static inline void make_room(switchback *of, uint64_t block) {
    uint64_t row = (block - of->first) >> of->row_bits, half = SWITCHBACK_ROWS / 2;
    if (row < SWITCHBACK_ROWS) return;
    uint32_t bits = 0;
    while (row >= SWITCHBACK_ROWS && of->row_bits + bits < of->options.most_bits) {
        FLAT_LOOP_AT_MOST(32);
        row /= 2;
        bits++;
    }
    move_rows(of, bits, row >= SWITCHBACK_ROWS ? (row / half - 1) * half : 0);
}

void flat_switchback_make_room(switchback *of, uint64_t now) {
    uint64_t block = switchback_slice(&of->options, now) >> of->options.share_bits;
    if (block >= of->first && (block - of->first) >> of->row_bits >= SWITCHBACK_ROWS) make_room(of, block);
}

void flat_switchback_count(switchback *of, uint64_t sent_at, uint64_t sojourn, uint64_t now) {
    const switchback_options *options = &of->options;
    if (sent_at < options->begin) return;
    uint64_t in_slice = (sent_at - options->begin) & ((UINT64_C(1) << options->slice_bits) - 1);
    if (in_slice >= options->washout) flat_switchback_make_room(of, sent_at);
    switchback_count_with_room(of, sent_at, sojourn, now);
}

#define TRIES 4

NOINLINE static void read_row(switchback_row *copy, const switchback_row *from) {
    for (uint32_t arm = 0; arm < SWITCHBACK_ARMS; arm++) {
        FLAT_LOOP_AT_MOST(SWITCHBACK_ARMS);
        copy->tasks[arm] = __atomic_load_n(&from->tasks[arm], __ATOMIC_ACQUIRE);
        for (uint32_t level = 0; level < SWITCHBACK_LEVELS; level++) {
            FLAT_LOOP_AT_MOST(SWITCHBACK_ARMS * SWITCHBACK_LEVELS);
            copy->levels[arm][level] = __atomic_load_n(&from->levels[arm][level], __ATOMIC_ACQUIRE);
        }
    }
}

bool flat_switchback_read(switchback *copy, const switchback *from) {
    copy->options = from->options;
    for (uint32_t i = 0; i < TRIES; i++) {
        FLAT_LOOP_AT_MOST(TRIES);
        copy->changes = __atomic_load_n(&from->changes, __ATOMIC_ACQUIRE);
        copy->first = __atomic_load_n(&from->first, __ATOMIC_ACQUIRE);
        copy->row_bits = __atomic_load_n(&from->row_bits, __ATOMIC_ACQUIRE);
        copy->late = __atomic_load_n(&from->late, __ATOMIC_ACQUIRE);
        for (uint32_t row = 0; row < SWITCHBACK_ROWS; row++) {
            FLAT_LOOP_AT_MOST(TRIES * SWITCHBACK_ROWS);
            read_row(&copy->rows[row], &from->rows[row]);
        }
        bool stood_still = copy->changes % 2 == 0 && __atomic_load_n(&from->changes, __ATOMIC_RELAXED) == copy->changes;
        if (stood_still) return true;
    }
    return false;
}

void flat_switchback_add(switchback *of, const switchback *other) {
    uint64_t last = other->first + (((uint64_t)SWITCHBACK_ROWS << other->row_bits) - 1);
    if (last >= of->first) make_room(of, last);
    __atomic_store_n(&of->late, of->late + other->late, __ATOMIC_RELAXED);
    for (uint32_t row = 0; row < SWITCHBACK_ROWS; row++) {
        FLAT_LOOP_AT_MOST(SWITCHBACK_ROWS);
        uint64_t block = other->first + ((uint64_t)row << other->row_bits);
        if (block < of->first) continue;
        switchback_row *to = &of->rows[(block - of->first) >> of->row_bits];
        put_sum(to, to, &other->rows[row]);
    }
}

/* Estimating. */

/* Student's 0.975 quantile, by degrees of freedom from SWITCHBACK_LEAST_ROWS - 1 on. */
static const double student[] = {2.262157, 2.228139, 2.200985, 2.178813, 2.160369, 2.144787, 2.131450, 2.119905,
                                 2.109816, 2.100922, 2.093024, 2.085963, 2.079614, 2.073873, 2.068658};

/* Of a value that is not negative, by Newton's method: each step halves a first guess that is too large by far. */
NOINLINE static double square_root(double value) {
    double root = value > 1 ? value : 1;
    for (uint32_t i = 0; i < 128; i++) {
        FLAT_LOOP_AT_MOST(128);
        double next = (root + value / root) / 2;
        if (next >= root) break;
        root = next;
    }
    return root;
}

/* The natural logarithm of a value from 1 to 2^64: halves down to 1.5, then the series of the inverse hyperbolic
 * tangent, whose next term is below 10^-13. */
NOINLINE static double logarithm(double value) {
    double halves = 0;
    while (value > 1.5) {
        FLAT_LOOP_AT_MOST(64);
        value /= 2;
        halves++;
    }
    double ratio = (value - 1) / (value + 1), square = ratio * ratio, sum = 0;
    for (uint32_t odd = 17; odd > 1; odd -= 2) {
        FLAT_LOOP_AT_MOST(8);
        sum = (sum + 1.0 / odd) * square;
    }
    return halves * 0.69314718055994531 + 2 * ratio * (1 + sum);
}

/* e^value, for a value from 0 to 64; a larger one counts as 64. The series of the 128th part, and then squares. */
NOINLINE static double exponential(double value) {
    double part = (value < 64 ? value : 64) / 128, power = 1;
    for (uint32_t term = 12; term > 0; term--) {
        FLAT_LOOP_AT_MOST(12);
        power = 1 + power * part / term;
    }
    for (uint32_t i = 0; i < 7; i++) {
        FLAT_LOOP_AT_MOST(7);
        power *= power;
    }
    return power;
}

/* The tasks of an arm, by sojourn: those that took at least as long as each level begins. */
typedef struct arm_tail {
    double tasks;
    double from[SWITCHBACK_LEVELS + 1];
} arm_tail;

typedef struct arm_quantile {
    double value, below, above;      /* the distances to its bounds: of logarithms */
    double surplus[SWITCHBACK_ROWS]; /* tasks of a row that took longer, less its share of them */
} arm_quantile;

/* The rows that are to be used, as bits. */
NOINLINE static uint32_t usable_rows(const switchback *of, uint64_t now) {
    const switchback_options *options = &of->options;
    uint64_t since = now > options->begin ? now - options->begin : 0;
    uint64_t closed = since > options->closing ? since - options->closing : 0;
    uint64_t blocks = closed >> options->slice_bits >> options->share_bits;
    uint32_t usable = 0;
    for (uint32_t row = 0; row < SWITCHBACK_ROWS; row++) {
        FLAT_LOOP_AT_MOST(SWITCHBACK_ROWS);
        bool has_ended = of->first + ((uint64_t)(row + 1) << of->row_bits) <= blocks;
        bool has_both = of->rows[row].tasks[SWITCHBACK_POLICY] != 0 && of->rows[row].tasks[SWITCHBACK_FALLBACK] != 0;
        if (has_ended && has_both) usable |= 1u << row;
    }
    return usable;
}

NOINLINE static void add_rows(const switchback *of, uint32_t usable, switchback_arm arm, arm_tail *tail) {
    *tail = (arm_tail){0};
    for (uint32_t row = 0; row < SWITCHBACK_ROWS; row++) {
        FLAT_LOOP_AT_MOST(SWITCHBACK_ROWS);
        if ((usable >> row & 1) == 0) continue;
        tail->tasks += (double)of->rows[row].tasks[arm];
        for (uint32_t level = 0; level < SWITCHBACK_LEVELS; level++) {
            FLAT_LOOP_AT_MOST(SWITCHBACK_ROWS * SWITCHBACK_LEVELS);
            tail->from[level] += of->rows[row].levels[arm][level];
        }
    }
    for (uint32_t level = SWITCHBACK_LEVELS; level > 0; level--) {
        FLAT_LOOP_AT_MOST(SWITCHBACK_LEVELS);
        tail->from[level - 1] += tail->from[level];
    }
}

/* The level in which there is a sojourn that `count` tasks exceed, where there is one. */
NOINLINE static uint32_t level_exceeded_by(const arm_tail *tail, double count) {
    uint32_t level = 0;
    while (level + 1 < SWITCHBACK_LEVELS && tail->from[level + 1] >= count) {
        FLAT_LOOP_AT_MOST(SWITCHBACK_LEVELS);
        level++;
    }
    return level;
}

/* False iff there is none: it would be shorter or longer than all that are told apart. Within a level the logarithm of
 * the tasks that are longer falls in proportion, as it does for exponential sojourns. */
NOINLINE static bool sojourn_exceeded_by(const switchback *of, const arm_tail *tail, double count, double *sojourn) {
    uint32_t level = level_exceeded_by(tail, count);
    double from = tail->from[level], to = tail->from[level + 1];
    if (from < count || count <= 0 || level + 1 == SWITCHBACK_LEVELS) return false;
    uint32_t bucket = histogram_bucket(UINT64_C(1) << of->options.shortest_bits) + level;
    double begin = bucket == 0 ? 0 : (double)histogram_upper_end(bucket - 1) + 1;
    double end = (double)histogram_upper_end(bucket) + 1;
    double part = to > 0 ? logarithm(from / count) / logarithm(from / to) : (from - count) / from;
    *sojourn = begin + (end - begin) * part;
    return true;
}

/* By how many tasks each row exceeds its share of the longest ones. Of the level that has the quantile, the same part
 * counts in each row. */
NOINLINE static void count_surplus(const switchback *of, uint32_t usable, switchback_arm arm, const arm_tail *tail,
                                   arm_quantile *quantile) {
    double count = tail->tasks / SWITCHBACK_ONE_IN;
    uint32_t level = level_exceeded_by(tail, count);
    double part = (count - tail->from[level + 1]) / (tail->from[level] - tail->from[level + 1]);
    for (uint32_t row = 0; row < SWITCHBACK_ROWS; row++) {
        FLAT_LOOP_AT_MOST(SWITCHBACK_ROWS);
        quantile->surplus[row] = 0;
        if ((usable >> row & 1) == 0) continue;
        const uint32_t *levels = of->rows[row].levels[arm];
        double longer = part * levels[level];
        for (uint32_t above = level + 1; above < SWITCHBACK_LEVELS; above++) {
            FLAT_LOOP_AT_MOST(SWITCHBACK_ROWS * SWITCHBACK_LEVELS);
            longer += levels[above];
        }
        quantile->surplus[row] = longer - (double)of->rows[row].tasks[arm] / SWITCHBACK_ONE_IN;
    }
}

NOINLINE static double sum_of_products(const double *one, const double *other) {
    double sum = 0;
    for (uint32_t row = 0; row < SWITCHBACK_ROWS; row++) {
        FLAT_LOOP_AT_MOST(SWITCHBACK_ROWS);
        sum += one[row] * other[row];
    }
    return sum;
}

/* The interval of a quantile has the sojourns that it could be as far as the number of longer tasks tells (Woodruff,
 * "Confidence intervals for medians and other position measures", JASA 47, 1952), which varies as it does from row to
 * row. If it varies by more than half of itself, sojourns beyond that are extrapolated: few tasks are so long, and in a
 * comparison most of this cancels out. False iff a bound is beyond what is told apart. */
NOINLINE static bool find_quantile(const switchback *of, uint32_t usable, uint32_t rows, switchback_arm arm,
                                   arm_quantile *quantile) {
    arm_tail tail;
    add_rows(of, usable, arm, &tail);
    double count = tail.tasks / SWITCHBACK_ONE_IN, low = 0, high = 0;
    if (!sojourn_exceeded_by(of, &tail, count, &quantile->value)) return false;
    count_surplus(of, usable, arm, &tail, quantile);
    double variance = sum_of_products(quantile->surplus, quantile->surplus) * rows / (rows - 1);
    double half = student[rows - SWITCHBACK_LEAST_ROWS] * square_root(variance);
    double near = half < count / 2 ? half : count / 2, times = near > 0 ? half / near : 0;
    if (!sojourn_exceeded_by(of, &tail, count + near, &low)) return false;
    if (!sojourn_exceeded_by(of, &tail, count - near, &high)) return false;
    quantile->below = times * logarithm(quantile->value / low);
    quantile->above = times * logarithm(high / quantile->value);
    return true;
}

/* The distance of a difference of two estimates to its bound, from those of each and how they are correlated (Zou,
 * Donner, "Construction of confidence limits about effect measures: a general approach", Statistics in Medicine 27,
 * 2008). */
static double distance(double one, double other, double correlation) {
    double square = one * one - 2 * correlation * one * other + other * other;
    return square_root(square > 0 ? square : 0);
}

/* The ratio of the quantiles, by the difference of their logarithms. */
static void compare(const arm_quantile *policy, const arm_quantile *fallback, switchback_estimate *estimate) {
    double squares =
        sum_of_products(policy->surplus, policy->surplus) * sum_of_products(fallback->surplus, fallback->surplus);
    double correlation = 0, ratio = policy->value / fallback->value;
    if (squares > 0) correlation = sum_of_products(policy->surplus, fallback->surplus) / square_root(squares);
    estimate->gain = 1 - ratio;
    estimate->gain_low = 1 - ratio * exponential(distance(policy->above, fallback->below, correlation));
    estimate->gain_high = 1 - ratio / exponential(distance(policy->below, fallback->above, correlation));
}

void flat_switchback_estimate(const switchback *of, uint64_t now, switchback_estimate *estimate) {
    *estimate = (switchback_estimate){0};
    uint32_t usable = usable_rows(of, now);
    for (uint32_t row = 0; row < SWITCHBACK_ROWS; row++) {
        if ((usable >> row & 1) == 0) continue;
        estimate->rows++;
        for (uint32_t arm = 0; arm < SWITCHBACK_ARMS; arm++) estimate->tasks[arm] += of->rows[row].tasks[arm];
    }
    uint64_t blocks = (uint64_t)estimate->rows << of->row_bits;
    estimate->slices[SWITCHBACK_FALLBACK] = blocks;
    estimate->slices[SWITCHBACK_POLICY] = blocks * ((UINT64_C(1) << of->options.share_bits) - 1);
    if (estimate->rows < SWITCHBACK_LEAST_ROWS) return;
    for (uint32_t arm = 0; arm < SWITCHBACK_ARMS; arm++)
        if (estimate->tasks[arm] < SWITCHBACK_LEAST_TASKS) return;
    arm_quantile quantiles[SWITCHBACK_ARMS];
    for (uint32_t arm = 0; arm < SWITCHBACK_ARMS; arm++)
        if (!find_quantile(of, usable, estimate->rows, (switchback_arm)arm, &quantiles[arm])) return;
    for (uint32_t arm = 0; arm < SWITCHBACK_ARMS; arm++) {
        estimate->quantile[arm] = quantiles[arm].value;
        estimate->low[arm] = quantiles[arm].value / exponential(quantiles[arm].below);
        estimate->high[arm] = quantiles[arm].value * exponential(quantiles[arm].above);
    }
    compare(&quantiles[SWITCHBACK_POLICY], &quantiles[SWITCHBACK_FALLBACK], estimate);
    estimate->known = true;
}
