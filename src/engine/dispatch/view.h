/* What a dispatcher makes of a report: a view of its shard, which own sends and the time that passes change. */
#ifndef FLATLINE_ENGINE_DISPATCH_VIEW_H
#define FLATLINE_ENGINE_DISPATCH_VIEW_H

#include "dispatcher.h"

#include "../../core/compiler.h"

#define SHARE_BITS 16
#define SHARE_ONE (1u << SHARE_BITS)
#define MEAN_GAIN 6 /* of means over reports and sends: of about 64 */

static inline bool has_part(const dispatcher *of, dispatch_part part) {
    return (of->options.left_out & (uint32_t)part) == 0;
}

/* Estimates of shards that are alike differ by chance, and all dispatchers would flock to those that seem fast. Within
 * this factor, as a fraction, of what tasks of a type usually take at the others, a shard is taken to be as fast as
 * they are. The mean would tell less of that: it hangs on a few long tasks. */
#define ALIKE_MORE 3
#define ALIKE_LESS 2

static inline bool is_alike(uint64_t here, uint64_t usual) {
    return here * ALIKE_LESS <= usual * ALIKE_MORE && usual * ALIKE_LESS <= here * ALIKE_MORE;
}

/* What a task of a type takes at a shard. */
static inline uint32_t service_at(const dispatcher *of, uint32_t shard, uint32_t type) {
    if (!has_part(of, DISPATCH_PART_SERVICE)) return of->service;
    uint32_t slower = of->slower[shard].of_type[type], mean = of->mean.of_type[type];
    if (slower == 0) slower = of->views[shard].slowness;
    return saturated((uint64_t)(mean != 0 ? mean : of->service) * slower >> SHARE_BITS);
}

/* Where what is still to come rises by more than this factor from one age to the next, the longer tasks are of another
 * kind than the shorter ones, most of which end before the later age. */
#define STEEP 8

/* What the running task will still take, from how long it has been running, by the shape of its type. Between two
 * ages it is in proportion, and up to a steep one it is as at the one before. */
static inline uint64_t rest_of_running(const dispatcher *of, const load_report *report, uint64_t as_of) {
    if (report->usual == 0) return 0;
    if (!has_part(of, DISPATCH_PART_RUNNING)) return of->service;
    uint64_t elapsed = as_of > report->published ? as_of - report->published : 0, usual = report->usual;
    uint32_t at = 0;
    while (at + 1 < SHAPE_AGES && elapsed >= usual * AGE_AT(at + 1) / 2) {
        FLAT_LOOP_AT_MOST(SHAPE_AGES);
        at++;
    }
    uint64_t from = usual * AGE_AT(at) / 2, rest = usual * report->shape[at] / SHAPE_ONE;
    if (at + 1 == SHAPE_AGES || report->shape[at + 1] == 0) {
        return rest > elapsed - from ? rest - (elapsed - from) : 0;
    }
    uint64_t to = usual * AGE_AT(at + 1) / 2, later = usual * report->shape[at + 1] / SHAPE_ONE, span = to - from;
    if (later > STEEP * rest) return rest;
    return (rest * (to - elapsed) + later * (elapsed - from)) / (span != 0 ? span : 1);
}

/* Of the time at a shard, what others' tasks take: its arrivals, without the part that is this dispatcher's own. */
static inline uint32_t busy_with_others(const dispatcher *of, const load_report *report) {
    uint64_t all = (uint64_t)of->arrival_rate * of->options.shards;
    uint64_t others = all > of->send_rate ? ((all - of->send_rate) << SHARE_BITS) / all : 0;
    uint64_t busy = (uint64_t)report->arrivals * report->service >> SHARE_BITS;
    busy = busy * others >> SHARE_BITS;
    return busy < SHARE_ONE ? (uint32_t)busy : SHARE_ONE;
}

/* So many tasks of all dispatchers come for each own one, in units of 1 / SHARE_ONE. */
#define MOST_WEIGHT (UINT64_C(1) << 31)

static inline uint64_t tasks_for_each_own(const dispatcher *of) {
    uint64_t all = (uint64_t)of->arrival_rate * of->options.shards;
    if (of->send_rate == 0 || all <= of->send_rate) return SHARE_ONE;
    uint64_t weight = (all << SHARE_BITS) / of->send_rate;
    return weight < MOST_WEIGHT ? weight : MOST_WEIGHT;
}

/* Others know the same reports, and send where this dispatcher does. So its own sends to a shard tell of theirs, the
 * more of them are expected in the time: with K expected, others are taken to have sent a mean of their usual rate and
 * of their number for each own one, with weights of 1 and PRIOR * K. That is the mean of a rate of which a gamma
 * distribution is known before, and counts of a Poisson process after.
 *
 * In units of 1 / SHARE_ONE: the weight of the own sends in `ticks`. */
#define PRIOR 4 /* the rate that is expected is worth a quarter of an own send */

static inline uint32_t share_that_follows(const dispatcher *of, uint64_t ticks) {
    if (!has_part(of, DISPATCH_PART_OTHERS)) return 0;
    uint64_t expected = ((uint64_t)saturated(ticks) * of->send_rate >> SHARE_BITS) / of->options.shards * PRIOR;
    if (expected > MOST_WEIGHT) expected = MOST_WEIGHT;
    return (uint32_t)((expected << SHARE_BITS) / (expected + SHARE_ONE));
}

/* What one own send brings to a shard, with those of others that follow, in units of 1 / SHARE_ONE of a task. */
static inline uint64_t weight_of_send(const dispatcher *of, const shard_view *view) {
    return SHARE_ONE + ((tasks_for_each_own(of) - SHARE_ONE) * view->follow >> SHARE_BITS);
}

static inline void move_mean(uint32_t *mean, uint64_t sample) {
    *mean = *mean == 0 ? saturated(sample) : moved(*mean, saturated(sample), MEAN_GAIN);
}

/* Predictions that differ by less are taken to be equal: a sixteenth of a task, and up to a fourth if others send most
 * of the tasks, since they err in the same direction. And besides, what others send to a shard until a report shows it,
 * where own sends tell little of it: to go to the least of all would be right for one, and not for all of them. It is
 * twice the square of the share that they do not tell, by trial. */
static inline uint32_t uncertainty(const dispatcher *of) {
    uint64_t others = SHARE_ONE - ((uint64_t)SHARE_ONE << SHARE_BITS) / tasks_for_each_own(of);
    if (!has_part(of, DISPATCH_PART_OTHERS)) others = 0;
    uint64_t unseen = (uint64_t)of->mean_lag * of->others_rate >> SHARE_BITS;
    uint64_t untold = SHARE_ONE - share_that_follows(of, of->mean_lag);
    unseen = 2 * (unseen * untold >> SHARE_BITS) * untold >> SHARE_BITS;
    if (!has_part(of, DISPATCH_PART_SPREAD)) unseen = 0;
    return saturated((of->service * (SHARE_ONE + 3 * others) >> (SHARE_BITS + 4)) + unseen);
}

/* The work that is left of `left` after some ticks, while others' tasks come that take a share of the time. A shard
 * works for the share of the time in which it has work: of shards on which a mean of m tasks of the mean service is
 * left, that is m / (m + 1), as in M/M/1 in the long run (the pointwise stationary fluid flow approximation: Wang,
 * Tipper, Banerjee, "A single node decomposition based approach for time-dependent queueing systems", INFOCOM 1996). So
 * work that is known to be there is done at almost full speed, and what is left of it never comes to nothing, but to
 * what others keep there. In steps of half a service time, or longer ones if these would be too many, each of which
 * takes the share that works to be what it is for the work at its end: then no step is too long to be stable. A
 * function of its own: the bound of its loop holds for each call. */
#define DRAIN_STEPS 4

static NOINLINE uint64_t drained(const dispatcher *of, uint64_t left, uint64_t service, uint64_t ticks, uint64_t busy) {
    if (left == 0 && busy == 0) return 0;
    ticks = saturated(ticks);
    if (!has_part(of, DISPATCH_PART_DRAIN)) {
        uint64_t done = ticks * (SHARE_ONE - busy) >> SHARE_BITS;
        return left > done ? left - done : 0;
    }
    uint64_t steps = service < 2 ? DRAIN_STEPS : ticks / (service / 2);
    steps = steps == 0 ? 1 : steps < DRAIN_STEPS ? steps : DRAIN_STEPS;
    uint64_t step = ticks / steps;
    if (step == 0) return left;
    for (uint64_t i = 0; i < steps; i++) {
        FLAT_LOOP_AT_MOST(DRAIN_STEPS);
        uint64_t with = saturated(left + service);
        left = saturated(left + (step * busy >> SHARE_BITS)) * with / (with + step);
    }
    return left;
}

#define NOT_PREDICTED UINT64_MAX

static inline uint64_t left_until(const dispatcher *of, const shard_view *view, uint64_t at) {
    uint64_t ticks = at > view->left_at ? at - view->left_at : 0;
    return drained(of, view->left, view->usual, ticks, view->busy);
}

/* How long a task would wait at the shard. In one pick this is asked several times for each shard, and predicted once.
 */
static inline uint64_t predicted_wait(const dispatcher *of, shard_view *view, uint64_t now) {
    if (view->wait_at != now) {
        view->wait = left_until(of, view, now);
        view->wait_at = now;
    }
    return view->wait;
}

/* So much work is sent to the shard, or was at `at`: not before `left_at`. */
static inline void view_send(const dispatcher *of, shard_view *view, uint64_t work, uint64_t at) {
    view->left = left_until(of, view, at) + (work * weight_of_send(of, view) >> SHARE_BITS);
    if (at > view->left_at) view->left_at = at;
    view->wait_at = NOT_PREDICTED;
}

/* The work at the shard was so much at `as_of`, with all that had come until `published`: what others sent between the
 * two is added, and own sends that came later are what is left of `uncounted`. A function of its own: the bound of its
 * loop holds for each call. */
static NOINLINE void view_begin(const dispatcher *of, shard_view *view, uint64_t work, uint64_t published,
                                uint64_t as_of) {
    uint64_t blind = as_of > published ? as_of - published : 0;
    own_sends_forget(&view->uncounted, published);
    view->follow = share_that_follows(of, of->looked > published ? of->looked - published : 0);
    view->busy = 0;
    if (has_part(of, DISPATCH_PART_AGE))
        view->busy = (uint32_t)((uint64_t)view->others_busy * (SHARE_ONE - view->follow) >> SHARE_BITS);
    view->as_of = view->left_at = as_of;
    view->wait_at = NOT_PREDICTED;
    view->left = work + ((uint64_t)saturated(blind) * view->busy >> SHARE_BITS);
}

/* A shard that is about as fast as the others is taken to be as fast as they are, for each type of task. */
static inline void learn_services(dispatcher *of, uint32_t shard, const load_services *services) {
    uint64_t there = 0, elsewhere = 0, taken = 0;
    for (uint32_t type = 0; type < FLAT_ENGINE_TASK_TYPES; type++) {
        FLAT_LOOP_AT_MOST(FLAT_ENGINE_TASK_TYPES);
        uint32_t mean = ticks_of_short(services->mean_of_type[type]),
                 usual = ticks_of_short(services->usual_of_type[type]), slower = SHARE_ONE;
        if (mean == 0) continue;
        move_mean(&of->mean.of_type[type], mean);
        move_mean(&of->usual.of_type[type], usual);
        uint64_t of_all = of->mean.of_type[type];
        if (!is_alike(usual, of->usual.of_type[type])) slower = saturated(((uint64_t)mean << SHARE_BITS) / of_all);
        of->slower[shard].of_type[type] = slower;
        there += mean;
        elsewhere += of_all;
        taken += of_all * slower >> SHARE_BITS;
    }
    if (there == 0) return;
    of->views[shard].evened = saturated((taken << SHARE_BITS) / there);
    of->views[shard].slowness = saturated((taken << SHARE_BITS) / elsewhere);
}

static inline void view_learn(dispatcher *of, uint32_t shard, const load_report *report, uint64_t as_of) {
    shard_view *view = &of->views[shard];
    bool counts = has_part(of, DISPATCH_PART_SENDS) || of->options.policy != DISPATCH_PREDICTIVE;
    move_mean(&of->service, report->service);
    move_mean(&of->arrival_rate, report->arrivals);
    view->service = report->service;
    view->usual = saturated((uint64_t)of->service * view->slowness >> SHARE_BITS);
    view->lag = of->looked > as_of ? saturated(of->looked - as_of) : 0;
    view->others_busy = busy_with_others(of, report);
    move_mean(&of->mean_lag, view->lag);
    move_mean(&of->others_rate, view->others_busy);
    uint64_t work = (uint64_t)report->waiting * of->service;
    if (has_part(of, DISPATCH_PART_SERVICE)) work = report->work * view->evened >> SHARE_BITS;
    work += rest_of_running(of, report, as_of) * view->evened >> SHARE_BITS;
    view_begin(of, view, work, report->published, as_of);
    uint32_t sends = counts ? view->uncounted.all : 0;
    for (uint32_t i = 0; counts && i < view->uncounted.places; i++) {
        FLAT_LOOP_AT_MOST(OWN_SENDS);
        view_send(of, view, view->uncounted.work[i], view->uncounted.last[i]);
    }
    view->queue = report->waiting + (report->usual != 0) + sends;
    view->in_flight = report->in_flight + sends;
    view->held =
        report->in_flight > report->waiting + 1 ? report->in_flight - report->waiting - (report->usual != 0) : 0;
    view->latency = report->latency;
    view->runs_out_at = report->exhaustion == NEVER ? UINT64_MAX : as_of + report->exhaustion;
}

/* It said that it is idle, some time after `since` if its word came at once. It came as late as its reports do. */
static inline void view_idle(const dispatcher *of, shard_view *view, uint64_t since) {
    uint64_t as_of = since > view->lag ? since - view->lag : 0;
    if (as_of < view->as_of) return;
    view_begin(of, view, 0, as_of, as_of);
    view->queue = view->uncounted.all;
    view_send(of, view, view->uncounted.all_work, as_of);
}

/* The distribution of grants in flight, over the last reports that were read. */

static inline uint32_t flight_level(uint32_t in_flight) {
    if (in_flight < 8) return in_flight;
    uint32_t shift = 29 - (uint32_t)__builtin_clz(in_flight), level = shift * 4 + (in_flight >> shift);
    return level < DISPATCH_FLIGHT_LEVELS ? level : DISPATCH_FLIGHT_LEVELS - 1;
}

/* The most that are in flight at a level. */
static inline uint32_t most_of_level(uint32_t level) {
    if (level < 8) return level;
    if (level == DISPATCH_FLIGHT_LEVELS - 1) return UINT32_MAX;
    uint32_t shift = level / 4 - 1;
    return ((level % 4 + 5) << shift) - 1;
}

static inline void count_in_flight(dispatcher *of, uint32_t in_flight) {
    of->flight_counts[flight_level(in_flight)]++;
    if (++of->flight_total < 1024) return;
    of->flight_total = 0;
    for (uint32_t i = 0; i < DISPATCH_FLIGHT_LEVELS; i++) of->flight_total += of->flight_counts[i] /= 2;
}

/* The most grants in flight of a cold shard. */
static inline uint32_t flight_threshold(const dispatcher *of) {
    uint64_t wanted = (uint64_t)of->flight_total * of->options.hot_quantile >> SHARE_BITS, below = 0;
    for (uint32_t i = 0; i < DISPATCH_FLIGHT_LEVELS; i++) {
        FLAT_LOOP_AT_MOST(DISPATCH_FLIGHT_LEVELS);
        below += of->flight_counts[i];
        if (below > wanted) return most_of_level(i);
    }
    return UINT32_MAX;
}

#endif
