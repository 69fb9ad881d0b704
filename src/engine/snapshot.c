/* Looks at an engine from inside of its process. */
#include "snapshot.h"

#include <flatline/engine_statistics.h>

uint64_t flat_engine_accepted(const flat_engine *engine, uint32_t worker) {
    uint64_t accepted = 0;
    for (uint32_t i = 0; i < engine->submitter_count; i++)
        accepted += seen(engine->submitters[i].lanes[worker].accepted);
    return accepted;
}

double flat_rate_per_second(const tick_rate *rate, uint64_t kept) {
    double ticks_per_s = (double)rate->ticks_per_ns * 0x1p-32 * 1e9;
    return (double)kept * (1.0 / (double)(UINT64_C(1) << RATE_SHIFT)) * ticks_per_s;
}

static void look_at_class(flat_class_snapshot *to, const class_statistics *from, const tick_rate *rate) {
    *to = (flat_class_snapshot){.block_size = (size_t)from->block_size,
                                .block_count = (size_t)from->block_count,
                                .granted = (size_t)from->granted,
                                .free = (size_t)seen(&from->free),
                                .in_flight = (size_t)seen(&from->in_flight),
                                .done = seen(&from->done),
                                .service_limit_ns = ns_of_ticks(rate, from->service_ticks),
                                .over_service = seen(&from->over_service),
                                .longest_service_ns = ns_of_ticks(rate, seen(&from->longest_service)),
                                .longest_sojourn_ns = ns_of_ticks(rate, seen(&from->longest_sojourn))};
}

/* A worker that sleeps moves no rates: after a while nothing has come for as long as they cover. */
static void look_at_rates(flat_worker_snapshot *to, const flat_engine *engine, const worker_statistics *from,
                          uint64_t now) {
    uint64_t rated = seen(&from->rated);
    if (to->asleep && now > rated && now - rated > engine->statistics->rated_ticks) return;
    to->arrivals_per_s = flat_rate_per_second(&engine->rate, seen(&from->arrivals));
    to->drains_per_s = flat_rate_per_second(&engine->rate, seen(&from->drains));
}

static void look_at_task(flat_worker_snapshot *to, const tick_rate *rate, const worker_statistics *from, uint64_t now) {
    uint64_t run = seen_last(&from->running), since = seen(&from->running_since);
    uint64_t looked = seen(&from->looked), alive = since > looked ? since : looked;
    to->run = (flat_task_function *)(uintptr_t)run;
    to->running_ns = run != 0 && now > since ? ns_of_ticks(rate, now - since) : 0;
    to->alive_ns = alive > rate->origin ? time_of_ticks(rate, alive) : 0;
}

/* What was accepted and has neither come in nor ended is in the lanes. Read in this order, and of a submitter whose
 * thread ended inside of a submit, what is accepted may be less than what is known of it. */
static void count_untaken(flat_worker_snapshot *to) {
    uint64_t known = to->outcomes[0] + to->outcomes[1] + to->outcomes[2] + to->timed + (to->run != NULL ? 1 : 0);
    for (uint32_t i = 0; i < FLAT_ENGINE_URGENCIES; i++) known += to->queued[i];
    to->untaken = to->accepted > known ? to->accepted - known : 0;
}

flat_status flat_engine_snapshot(const flat_engine *engine, size_t worker, flat_worker_snapshot *snapshot) {
    if (engine == NULL || snapshot == NULL || worker >= engine->worker_count) return FLAT_INVALID_ARGUMENT;
    const worker_statistics *from = engine->workers[worker].statistics;
    const tick_rate *rate = &engine->rate;
    uint64_t accepted = flat_engine_accepted(engine, (uint32_t)worker), now = read_ticks();
    *snapshot = (flat_worker_snapshot){.at_ns = time_of_ticks(rate, now),
                                       .thread = (uint32_t)seen(&from->thread),
                                       .asleep = seen(&from->asleep) != 0,
                                       .timed = seen(&from->timed),
                                       .accepted = accepted,
                                       .begun = seen(&from->begun),
                                       .deferred = seen(&from->deferred),
                                       .slept = seen(&from->slept),
                                       .overruns = seen(&from->overruns),
                                       .class_count = (size_t)from->class_count + 1};
    for (uint32_t i = 0; i < 3; i++) snapshot->outcomes[i] = seen(&from->outcomes[i]);
    for (uint32_t i = 0; i < FLAT_ENGINE_URGENCIES; i++) snapshot->queued[i] = seen(&from->queued[i]);
    for (uint32_t i = 0; i < FLAT_ENGINE_TASK_TYPES; i++) {
        snapshot->service_estimate_ns[i] = ns_of_ticks(rate, seen(&from->service_estimate[i])) / 16;
    }
    for (uint32_t i = 0; i <= from->class_count; i++) look_at_class(&snapshot->classes[i], &from->classes[i], rate);
    look_at_task(snapshot, rate, from, now);
    look_at_rates(snapshot, engine, from, now);
    count_untaken(snapshot);
    return FLAT_OK;
}

const duration_histogram *flat_durations_of(const worker_statistics *of, flat_duration duration) {
    return duration == FLAT_DURATION_WAITING   ? &of->waiting
           : duration == FLAT_DURATION_SERVICE ? &of->service
                                               : &of->sojourn;
}

/* As flat_histogram_merge, of counts that a worker writes meanwhile. */
static void merge_durations(flat_histogram *into, const flat_engine *engine, uint32_t worker, flat_duration duration) {
    const duration_histogram *from = flat_durations_of(engine->workers[worker].statistics, duration);
    flat_histogram copy = {.unit_ns = engine->rate.ns_per_tick};
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) copy.counts[i] = seen(&from->counts[i]);
    flat_histogram_merge(into, &copy);
}

flat_status flat_engine_histogram(const flat_engine *engine, size_t worker, flat_duration duration,
                                  flat_histogram *into) {
    if (engine == NULL || into == NULL || (unsigned)duration >= FLAT_DURATIONS) return FLAT_INVALID_ARGUMENT;
    if (worker == FLAT_ANY_WORKER) {
        for (uint32_t i = 0; i < engine->worker_count; i++) merge_durations(into, engine, i, duration);
        return FLAT_OK;
    }
    if (worker >= engine->worker_count) return FLAT_INVALID_ARGUMENT;
    merge_durations(into, engine, (uint32_t)worker, duration);
    return FLAT_OK;
}

flat_status flat_engine_submitter_snapshot(const flat_engine *engine, size_t number,
                                           flat_submitter_snapshot *snapshot) {
    if (engine == NULL || snapshot == NULL || number >= engine->submitter_count) return FLAT_INVALID_ARGUMENT;
    const flat_submitter *from = &engine->submitters[number];
    *snapshot =
        (flat_submitter_snapshot){.worker = number < engine->lane_count ? FLAT_ANY_WORKER : number - engine->lane_count,
                                  .thread = (uint32_t)seen(&from->statistics->thread)};
    for (uint32_t i = 0; i < engine->worker_count; i++) snapshot->accepted += seen(from->lanes[i].accepted);
    for (uint32_t i = 0; i < FLAT_REFUSALS; i++) snapshot->refused[i] = seen(&from->statistics->refused[i]);
    return FLAT_OK;
}
