/* Lanes that are taken and left, and an engine that drains, stops and ends. */
#include "engine.h"

/* Between two looks of a drain: it reads what workers write, and costs each of them a cache miss. */
#define DRAIN_LOOK_NS 20000u

uint64_t flat_engine_now(const flat_engine *engine) { return time_of_ticks(&engine->rate, read_ticks()); }

static inbox *other_side(const lane *of, uint32_t submitter) { return &of->worker->inboxes[submitter]; }

/* Descriptors of a lane that its worker can see, or has seen. Its thread may stand, or may have ended, where it has
 * counted one that it has not published: then the place has the lap before. */
static uint64_t count_published(const lane *of) {
    uint64_t posted = step_read_posted(&of->posted);
    if (posted == 0) return 0;
    const task_descriptor *last = &of->descriptors[(posted - 1) % of->length];
    uint32_t lap_before = (uint32_t)((posted - 1) / of->length);
    return step_look_at_descriptor(&last->lap, lap_before) ? posted - 1 : posted;
}

/* Those of them that are not done. What is finished is read first: it is never more than what was published. */
static uint64_t count_in_flight(const lane *of, uint32_t submitter) {
    uint64_t finished = step_read_finished(&other_side(of, submitter)->finished);
    return count_published(of) - finished;
}

/* Makes the submitter's side of a lane as new: it holds no grant, none is in flight, and the places in the rings are
 * those where the worker's side is. Nothing may be in flight. */
void flat_engine_clear_lane(lane *of, uint32_t submitter) {
    const inbox *there = other_side(of, submitter);
    uint64_t taken = step_read_taken(&there->taken);
    of->at = (uint32_t)(taken % of->length);
    of->lap = (uint32_t)(taken / of->length) + 1;
    of->completion_at = there->completion_at;
    of->completion_parity = there->completion_parity;
    step_renew_posted(&of->posted, taken);
    of->choice = NULL;
    for (uint32_t number = 0; number <= of->class_count; number++) {
        lane_class *class = &of->classes[number];
        class->at = there->returns[number].at;
        class->parity = there->returns[number].parity;
        class->top = NO_GRANT_LEFT;
        class->left = class->count;
        for (uint32_t i = class->count; i-- > 0;) {
            uint32_t grant = class->first + i;
            of->grants[grant] = (lane_grant){.generation = of->worker->records[there->first_record + grant].generation,
                                             .next = class->top,
                                             .size_class = (uint8_t)number};
            of->sent[grant] = 0;
            class->top = (uint16_t)grant;
        }
    }
}

/* Completions of a lane that were not polled. */
static uint32_t count_unread(const lane *of, const inbox *there) {
    uint32_t length = of->grant_count, to = there->completion_at;
    if (of->completion_parity != there->completion_parity) to += length;
    return to - of->completion_at;
}

static void account_for(const lane *of, uint32_t submitter, flat_reclaimed *found) {
    for (uint32_t i = 0; i < of->grant_count; i++) found->held += of->grants[i].state == GRANT_HELD;
    found->unread += count_unread(of, other_side(of, submitter));
}

/* Frees the lanes of a submitter, which this thread has taken by the word `state`, if nothing is in flight. It may end
 * anywhere here: then the next one does all of this again. */
static void reclaim_lanes(flat_submitter *submitter, uint64_t state, flat_reclaimed *found) {
    uint32_t count = submitter->engine->worker_count;
    uint64_t left = 0;
    for (uint32_t i = 0; i < count; i++) left += count_in_flight(&submitter->lanes[i], submitter->number);
    if (left != 0) {
        found->waiting++;
        found->in_flight += (size_t)left;
        step_set_lane(&submitter->state, in_state(state, LANE_LEFT));
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        account_for(&submitter->lanes[i], submitter->number, found);
        flat_engine_clear_lane(&submitter->lanes[i], submitter->number);
    }
    found->lanes++;
    if (step_is_inside(&submitter->entered) != 0) step_leave_submit(&submitter->entered);
    show(&submitter->statistics->thread, 0);
    step_set_lane(&submitter->state, in_state(state, LANE_FREE));
}

/* Whether lanes are nobody's any more, though they are not free. */
static bool are_abandoned(uint64_t state) {
    switch (state_of_lane(state)) {
    case LANE_FREE: return false;
    case LANE_LEFT: return true;
    default: return flat_thread_has_ended(thread_of_lane(state));
    }
}

flat_reclaimed flat_engine_reclaim(flat_engine *engine) {
    flat_reclaimed found = {0};
    thread_identity self = 0;
    for (uint32_t i = 0; i < engine->lane_count; i++) {
        flat_submitter *submitter = &engine->submitters[i];
        uint64_t state = step_look_at_lane(&submitter->state);
        if (!are_abandoned(state)) continue;
        if (self == 0) self = flat_thread_self();
        uint64_t taken = taken_by(self, LANE_RECLAIMING);
        if (step_move_lane(&submitter->state, state, taken)) reclaim_lanes(submitter, taken, &found);
    }
    return found;
}

/* The first free lanes become the calling thread's; NULL: there are none. */
static flat_submitter *take_lanes(flat_engine *engine) {
    thread_identity self = flat_thread_self();
    for (uint32_t i = 0; i < engine->lane_count; i++) {
        flat_submitter *submitter = &engine->submitters[i];
        uint64_t state = step_look_at_lane(&submitter->state);
        if (state_of_lane(state) != LANE_FREE) continue;
        if (!step_move_lane(&submitter->state, state, taken_by(self, LANE_OWNED))) continue;
        show(&submitter->statistics->thread, number_of_thread(self));
        return submitter;
    }
    return NULL;
}

flat_status flat_engine_register(flat_engine *engine, flat_submitter **submitter) {
    if (submitter == NULL) return FLAT_INVALID_ARGUMENT;
    *submitter = NULL;
    if (engine == NULL) return FLAT_INVALID_ARGUMENT;
    if (step_look_at_state(&engine->state) != ENGINE_OPEN) return FLAT_DRAINING;
    *submitter = take_lanes(engine);
    if (*submitter == NULL && flat_engine_reclaim(engine).lanes != 0) *submitter = take_lanes(engine);
    return *submitter != NULL ? FLAT_OK : FLAT_UNAVAILABLE;
}

void flat_engine_unregister(flat_submitter *submitter) {
    flat_reclaimed found = {0};
    if (submitter == NULL || submitter->of_worker != NULL) return;
    uint64_t state = in_state(step_look_at_lane(&submitter->state), LANE_RECLAIMING);
    step_set_lane(&submitter->state, state);
    reclaim_lanes(submitter, state, &found);
}

static void wake_once(uint64_t *sleeping) {
    uint64_t none = 0;
    if (step_look_asleep(sleeping) != 0) flat_engine_wake(sleeping, &none);
}

/* Changes what the engine accepts, if that is `from`, and lets sleeping workers and submitters see it. */
static bool change_state(flat_engine *engine, uint32_t from, engine_state to) {
    if (!step_set_state(&engine->state, from, to)) return false;
    step_full_fence();
    for (uint32_t i = 0; i < engine->worker_count; i++) wake_once(&engine->workers[i].sleeping);
    for (uint32_t i = 0; i < engine->lane_count; i++) wake_once(&engine->submitters[i].sleeping);
    show(&engine->statistics->state, to);
    return true;
}

/* The state is `to` or a later one when this returns. No other thread's change to a later one is undone. */
static void raise_state(flat_engine *engine, engine_state to) {
    uint32_t state;
    do state = step_look_at_state(&engine->state);
    while (state < to && !change_state(engine, state, to));
}

static void sleep_for(uint64_t ns) {
    const uint32_t nobody_changes_it = 0;
    flat_sleep_while(&nobody_changes_it, 0, ns);
}

/* From here on every submit that begins sees the state, and every one that began before is seen to be inside. */
static void let_all_see(const flat_engine *engine) {
    if (!fence_both(engine)) sleep_for(UNFENCED_SLEEP_NS);
}

/* Whether one of the submitters from number `first` on to before `end` is in the middle of a submit. */
static bool is_submitting(const flat_engine *engine, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end; i++) {
        if (step_is_inside(&engine->submitters[i].entered) != 0) return true;
    }
    return false;
}

/* How far a drain has come: outside submitters below `passed` were seen outside of a submit since the state was
 * changed, or in one that they have entered since. Whatever they submit from then on is refused. */
typedef struct drain_progress {
    uint32_t passed;
    uint32_t inside; /* of submitter number `passed`: the submit that it was seen in; 0: none */
} drain_progress;

/* Whether all have passed. One that tries again and again is inside at most looks, but not of the same submit. */
static bool all_have_passed(const flat_engine *engine, drain_progress *of) {
    for (; of->passed < engine->lane_count; of->passed++) {
        uint32_t inside = step_is_inside(&engine->submitters[of->passed].entered);
        if (inside != 0 && (of->inside == 0 || of->inside == inside)) {
            of->inside = inside;
            return false;
        }
        of->inside = 0;
    }
    return true;
}

/* Whether every task is done that was ever posted. All that is finished is read before what was posted. In each lane
 * the second is never less than the first, so if the sums are equal, nothing was posted or finished in between; and no
 * task is running, which could post another. */
static bool is_done(const flat_engine *engine) {
    uint64_t finished = 0, posted = 0;
    for (uint32_t i = 0; i < engine->submitter_count; i++) {
        const flat_submitter *submitter = &engine->submitters[i];
        for (uint32_t w = 0; w < engine->worker_count; w++) {
            finished += step_read_finished(&other_side(&submitter->lanes[w], i)->finished);
        }
    }
    for (uint32_t i = 0; i < engine->submitter_count; i++) {
        for (uint32_t w = 0; w < engine->worker_count; w++) {
            posted += step_read_posted(&engine->submitters[i].lanes[w].posted);
        }
    }
    return finished == posted;
}

/* Waits until everything is done, in a state of at least `to`. */
static flat_status settle(flat_engine *engine, engine_state to, uint64_t within_ns) {
    if (engine == NULL) return FLAT_INVALID_ARGUMENT;
    drain_progress progress = {0, 0};
    uint64_t begun = read_ticks();
    raise_state(engine, to);
    let_all_see(engine);
    for (;;) {
        if (all_have_passed(engine, &progress) && is_done(engine)) return FLAT_OK;
        if (is_submitting(engine, 0, engine->lane_count)) {
            (void)flat_engine_reclaim(engine); /* its thread may have ended there */
        }
        uint64_t passed = ns_of_ticks(&engine->rate, read_ticks() - begun);
        if (passed >= within_ns) return FLAT_TIMED_OUT;
        uint64_t rest = within_ns - passed;
        sleep_for(rest < DRAIN_LOOK_NS ? rest : DRAIN_LOOK_NS);
    }
}

flat_status flat_engine_drain(flat_engine *engine, uint64_t within_ns) {
    return settle(engine, ENGINE_DRAINING, within_ns);
}

flat_status flat_engine_stop(flat_engine *engine, uint64_t within_ns) {
    return settle(engine, ENGINE_STOPPED, within_ns);
}

void flat_engine_resume(flat_engine *engine) {
    uint32_t state;
    do state = step_look_at_state(&engine->state);
    while (state != ENGINE_OPEN && state != ENGINE_ENDING && !change_state(engine, state, ENGINE_OPEN));
}

/* Tasks submit no more once the engine is stopped, except for those that are in the middle of it. Workers leave after
 * these: each finds all that was submitted to it. */
void flat_engine_end(flat_engine *engine) {
    raise_state(engine, ENGINE_STOPPED);
    let_all_see(engine);
    while (is_submitting(engine, engine->lane_count, engine->submitter_count)) sleep_for(DRAIN_LOOK_NS);
    raise_state(engine, ENGINE_ENDING);
}

static uint64_t count_waiting(const flat_engine *engine, uint32_t worker) {
    uint64_t waiting = 0;
    for (uint32_t i = 0; i < engine->submitter_count; i++) {
        waiting += count_in_flight(&engine->submitters[i].lanes[worker], i);
    }
    return waiting;
}

static flat_stuck describe_worker(const flat_engine *engine, uint32_t worker) {
    const worker_statistics *statistics = engine->workers[worker].statistics;
    uint64_t running = seen_last(&statistics->running), now = read_ticks();
    uint64_t since = seen(&statistics->running_since);
    return (flat_stuck){.worker = worker,
                        .thread = (uint32_t)seen(&statistics->thread),
                        .run = (flat_task_function *)(uintptr_t)running,
                        .running_ns = running != 0 && now > since ? ns_of_ticks(&engine->rate, now - since) : 0,
                        .waiting = count_waiting(engine, worker)};
}

size_t flat_engine_stuck(const flat_engine *engine, flat_stuck *stuck, size_t capacity) {
    size_t found = 0;
    for (uint32_t i = 0; i < engine->worker_count; i++) {
        flat_stuck one = describe_worker(engine, i);
        if (one.run == NULL && one.waiting == 0) continue;
        if (found < capacity) stuck[found] = one;
        found++;
    }
    for (uint32_t i = 0; i < engine->lane_count; i++) {
        const flat_submitter *submitter = &engine->submitters[i];
        if (step_is_inside(&submitter->entered) == 0) continue;
        uint32_t thread = number_of_thread(thread_of_lane(step_look_at_lane(&submitter->state)));
        if (found < capacity) stuck[found] = (flat_stuck){.worker = FLAT_ANY_WORKER, .thread = thread};
        found++;
    }
    return found;
}
