/* The worker's side: takes tasks in, chooses, runs, gives back; and what a task may ask of its worker. */
#include "load.h"

#include <flatline/bounded.h>

/* Nodes of the wheel that are moved between two tasks. With more, tasks whose time has come are ready sooner, and the
 * next task waits longer. */
#define WHEEL_STEPS 4

/* If more descriptors than this were taken in, the time that this took is not counted as the next task's. */
#define TAKEN_UNTIMED 4

/* Looks for tasks between two reads of the counter, which costs as much as several looks. */
#define LOOKS_PER_TIME 16

/* Blocks whose words are read at once to count the free ones. With more, the count is newer; each time takes some
 * 30 ns. */
#define COUNTED_AT_ONCE 64

/* How often a busy worker keeps its accounts, in units of the wheel, as a power of two: about every 16 us. */
#define KEEPING_SHIFT 4

static inline uint32_t number_of_record(const flat_worker *worker, const task_record *record) {
    return (uint32_t)(record - worker->records);
}

static inline void make_ready(flat_worker *worker, task_record *record) {
    record->is_waiting = true;
    ready_append(&worker->ready, record->task.flags & URGENCY_MASK, number_of_record(worker, record));
    load_of_waiting(worker, record);
}

/* Lets a task wait until `start`; if that has come, it is ready. */
static void make_timed(flat_worker *worker, task_record *record, uint64_t start) {
    uint64_t due = units_after_ticks(worker->engine, start);
    if (due <= worker->wheel.now) {
        make_ready(worker, record);
        return;
    }
    record->due = due;
    record->is_timed = true;
    wheel_add(&worker->wheel, number_of_record(worker, record));
    show(&worker->statistics->timed, worker->wheel.length);
}

/* Takes a task out of where it waits. */
static void take_out(flat_worker *worker, task_record *record) {
    if (record->is_waiting) {
        ready_remove(&worker->ready, record->task.flags & URGENCY_MASK, number_of_record(worker, record));
        load_of_waiting_no_more(worker, record);
    } else {
        wheel_remove(&worker->wheel, number_of_record(worker, record));
        show(&worker->statistics->timed, worker->wheel.length);
    }
    record->is_waiting = record->is_timed = false;
}

static inline task_record *record_of(const flat_worker *worker, const inbox *in, const task_descriptor *task) {
    return &worker->records[in->first_record + task->grant];
}

static inline void finish_unrun(flat_worker *worker, task_record *record, const task_descriptor *task,
                                flat_outcome outcome) {
    flat_engine_finish(worker, record, task, outcome, flat_engine_fared(worker, record, task, outcome));
}

/* A task that is to be run nevertheless keeps its place among the ready ones, or gets one: a worker that takes tasks in
 * runs none. */
static NOINLINE void cancel_task(flat_worker *worker, const inbox *in, const task_descriptor *cancellation) {
    task_record *record = record_of(worker, in, cancellation);
    count_up(&worker->statistics->cancelling, 1);
    if (record->generation != (uint32_t)cancellation->submitted || !(record->is_waiting || record->is_timed)) return;
    if ((record->task.flags & ALWAYS_RUN) == 0) {
        take_out(worker, record);
        finish_unrun(worker, record, &record->task, FLAT_TASK_CANCELLED);
        return;
    }
    record->task.flags |= IS_CANCELLED;
    if (record->is_waiting) return;
    take_out(worker, record);
    make_ready(worker, record);
}

/* Copies a task to its record: then its descriptor may be written again. */
static inline task_record *copy_task(flat_worker *worker, const inbox *in, const task_descriptor *from) {
    task_record *record = record_of(worker, in, from);
    record->task = *from;
    return record;
}

static inline void count_in(flat_worker *worker, task_record *record, const task_descriptor *task) {
    count_up(&worker->statistics->classes[task->size_class].in_flight, 1);
    load_of_came(worker, record, task->type);
}

/* The next descriptor of a lane is the one after this one. */
static inline void go_to_next(inbox *in, awaited_lap *awaited) {
    uint32_t at = in->at + 1;
    if (UNLIKELY(at == in->length)) {
        at = 0;
        awaited->expected = ++in->lap;
    }
    in->at = at;
    awaited->lap = &in->descriptors[at].lap;
}

static inline bool has_more(const awaited_lap *awaited) {
    return step_look_at_descriptor(awaited->lap, awaited->expected);
}

/* Takes in what a lane has, which is something: at most as much as its grants allow to be in flight. Returns the number
 * of descriptors. */
static NOINLINE uint32_t take_in_lane(flat_worker *worker, uint32_t number) {
    inbox *in = &worker->inboxes[number];
    awaited_lap *awaited = &worker->awaited[number];
    uint32_t taken = 0;
    do {
        const task_descriptor *from = &in->descriptors[in->at];
        bool cancels = (from->flags & IS_CANCELLATION) != 0;
        if (UNLIKELY(cancels)) {
            cancel_task(worker, in, from);
        } else {
            task_record *record = copy_task(worker, in, from);
            count_in(worker, record, from);
            if (UNLIKELY((record->task.flags & HAS_START) != 0)) {
                make_timed(worker, record, *start_of(&record->task));
            } else {
                make_ready(worker, record);
            }
        }
        go_to_next(in, awaited);
        step_count_taken(&in->taken);
        if (UNLIKELY(cancels)) step_count_finished(&in->finished);
        taken++;
    } while (taken < in->length && has_more(awaited));
    return taken;
}

/* Makes the next task of a lane ready. */
static inline void take_in_task(flat_worker *worker, inbox *in, const task_descriptor *from) {
    make_ready(worker, copy_task(worker, in, from));
    step_count_taken(&in->taken);
}

/* What a worker runs next: a task in its record, or one that came alone and is still in its descriptor. */
typedef struct chosen_task {
    task_record *record;
    task_descriptor *task;
    inbox *in; /* NULL: it is in the record */
} chosen_task;

/* The next task of a lane, left where it is; false: it is nothing to be run at once. Its descriptor is not written
 * again before its grant goes back: the ring has two places for each grant, and until then the submitter has at most
 * one task and one cancellation for each of the others, and one cancellation of this one. */
static inline bool leave_in_ring(flat_worker *worker, uint32_t number, chosen_task *alone) {
    inbox *in = &worker->inboxes[number];
    task_descriptor *task = &in->descriptors[in->at];
    if (UNLIKELY((task->flags & (IS_CANCELLATION | HAS_START)) != 0)) return false;
    *alone = (chosen_task){.record = record_of(worker, in, task), .task = task, .in = in};
    count_in(worker, alone->record, task);
    go_to_next(in, &worker->awaited[number]);
    return true;
}

/* Takes in what all lanes have. If that is one task, and no other one waits, it is the one to be run: `*alone` gets it,
 * and it is neither copied nor put into a list. Returns the number of descriptors. */
static inline uint32_t take_in(flat_worker *worker, chosen_task *alone) {
    uint32_t taken = 0;
    const awaited_lap *end = worker->awaited + worker->inbox_count;
    for (const awaited_lap *awaited = worker->awaited; awaited != end; awaited++) {
        if (LIKELY(!has_more(awaited))) continue;
        uint32_t number = (uint32_t)(awaited - worker->awaited);
        if (taken == 0 && worker->ready.waiting == 0 && leave_in_ring(worker, number, alone)) {
            taken = 1;
            if (LIKELY(!has_more(awaited))) continue;
        }
        if (alone->in != NULL) take_in_task(worker, alone->in, alone->task);
        alone->in = NULL;
        taken += take_in_lane(worker, number);
    }
    if (taken != 0) count_up(&worker->statistics->taken, taken);
    return taken;
}

/* Makes tasks ready whose time has come. */
static NOINLINE void turn_wheel(flat_worker *worker) {
    uint64_t until = units_of_ticks(worker->engine, read_ticks());
    bool moved = true;
    for (int i = 0; i < WHEEL_STEPS && moved; i++) {
        uint32_t due = wheel_step(&worker->wheel, until, &moved);
        if (due == WHEEL_NOBODY) continue;
        worker->records[due].is_timed = false;
        make_ready(worker, &worker->records[due]);
    }
    show(&worker->statistics->timed, worker->wheel.length);
}

/* After a stop no task waits for its time: it is cancelled. */
static NOINLINE void empty_wheel(flat_worker *worker) {
    for (int i = 0; i < WHEEL_STEPS; i++) {
        uint32_t record = wheel_take_any(&worker->wheel);
        if (record == WHEEL_NOBODY) break;
        worker->records[record].is_timed = false;
        make_ready(worker, &worker->records[record]);
    }
    show(&worker->statistics->timed, worker->wheel.length);
}

/* The task to run next, which waits no longer; NULL iff none waits. No loop, no call. */
NOINLINE task_record *flat_engine_choose(flat_worker *worker) {
    uint32_t number = ready_choose(&worker->ready);
    if (number == READY_NOBODY) return NULL;
    task_record *record = &worker->records[number];
    record->is_waiting = false;
    load_of_waiting_no_more(worker, record);
    return record;
}
FLAT_BOUNDED("flat_engine_choose");

/* How a task fared whose grant is about to go back, as the entry says it. No loop, no call. */
NOINLINE uint32_t flat_engine_fared(flat_worker *worker, const task_record *record, const task_descriptor *task,
                                    flat_outcome outcome) {
    return load_of_left(worker, record, task, outcome);
}
FLAT_BOUNDED("flat_engine_fared");

/* Gives the grant of a task back, or its completion with the grant. No loop, and no call but to wake a submitter. */
NOINLINE void flat_engine_finish(flat_worker *worker, task_record *record, const task_descriptor *task,
                                 flat_outcome outcome, uint32_t fared) {
    inbox *in = &worker->inboxes[record->inbox];
    uint32_t grant = task->grant, class = task->size_class;
    worker_statistics *statistics = worker->statistics;
    record->generation++;
    count_up(&statistics->outcomes[outcome], 1);
    count_up(&statistics->classes[class].done, 1);
    count_up(&statistics->classes[class].in_flight, UINT64_MAX);
    if ((task->flags & WANTS_COMPLETION) != 0) {
        uint64_t entry =
            (uint64_t)outcome << ENTRY_OUTCOME_SHIFT | fared | grant << ENTRY_GRANT_SHIFT | in->completion_parity;
        step_complete(&in->completions[in->completion_at], entry);
        uint32_t at = in->completion_at + 1, wraps = at == in->grant_count;
        in->completion_at = wraps ? 0 : at;
        in->completion_parity ^= wraps;
    } else {
        return_ring *ring = &in->returns[class];
        step_give_back(&ring->places[ring->at], fared | grant << ENTRY_GRANT_SHIFT | ring->parity);
        uint32_t at = ring->at + 1u, wraps = at == ring->length;
        ring->at = (uint16_t)(wraps ? 0 : at);
        ring->parity ^= wraps;
    }
    step_count_finished(&in->finished);
    step_light_fence(worker->engine->fenced);
    uint64_t *sleeping = &in->submitter->sleeping;
    if (UNLIKELY(step_look_asleep(sleeping) != 0)) flat_engine_wake(sleeping, &in->woken);
}
FLAT_BOUNDED("flat_engine_finish apart=flat_engine_wake");

static inline void count_service(worker_statistics *statistics, const task_descriptor *task, uint64_t begun,
                                 uint64_t ended) {
    uint64_t service = ended - begun, sojourn = ended - task->submitted;
    /* It may have come after the end of the task before it, from which on it is counted as begun. */
    uint64_t waited = begun > task->submitted ? begun - task->submitted : 0;
    class_statistics *class = &statistics->classes[task->size_class];
    histogram_add(&statistics->waiting, waited);
    histogram_add(&statistics->service, service);
    histogram_add(&statistics->sojourn, sojourn);
    show_longest(&class->longest_sojourn, sojourn);
    uint64_t *estimate = &statistics->service_estimate[task->type];
    show(estimate, *estimate == 0 ? service << 4 : *estimate - (*estimate >> 4) + service);
}

/* The stated limit holds for each run: the tasks behind wait as long for one that defers or disposes. */
static inline void check_service(worker_statistics *statistics, const task_descriptor *task, uint64_t service) {
    class_statistics *class = &statistics->classes[task->size_class];
    show_longest(&class->longest_service, service);
    if (UNLIKELY(class->service_ticks != 0 && service > class->service_ticks)) count_up(&class->over_service, 1);
}

/* The task asked to be run again: it waits as if it had just come in, and keeps its grant. */
static NOINLINE void wait_again(flat_worker *worker, task_record *record) {
    record->task.flags |= IS_DEFERRED;
    count_up(&worker->statistics->deferred, 1);
    make_timed(worker, record, worker->deferred_to);
}

/* The descriptor of a task that was left in its ring is done with; it is copied if the task waits again. */
static inline void leave_ring(flat_worker *worker, const chosen_task *chosen) {
    if (chosen->in == NULL) return;
    if (UNLIKELY(worker->is_deferred)) chosen->record->task = *chosen->task;
    step_count_taken(&chosen->in->taken);
}

static void record_task(flat_worker *worker, const task_record *record, const task_descriptor *task, uint64_t ended) {
    if (worker->recorded == worker->record_length) {
        count_up(&worker->unrecorded, 1);
        return;
    }
    worker->record[worker->recorded] = (recorded_task){.submitted = task->submitted,
                                                       .service = record->ran,
                                                       .held = has_run(record, task) ? ended - record->first_ended : 0,
                                                       .submitter = record->inbox,
                                                       .type = task->type};
    show_last(&worker->recorded, worker->recorded + 1);
}

/* A task ran, perhaps not for the last time: for a worker that follows runs. */
static void follow_run(flat_worker *worker, task_record *record, const task_descriptor *task, uint64_t begun,
                       uint64_t ended) {
    bool refused = was_refused(worker);
    if ((task->flags & IS_DEFERRED) == 0) record->first_ended = record->ran = 0;
    record->ran += ended - begun;
    /* A task that ran before the worker followed runs has an older time there. */
    if (!refused && !has_run(record, task)) record->first_ended = ended;
    load_of_ended(worker, task, ended - begun, refused, ended);
    if (worker->record_length != 0 && !worker->is_deferred) record_task(worker, record, task, ended);
}

/* In a worker that `follows` runs, what is known of the run is told; in another one, no test for that is made. */
ALWAYS_INLINE void run_and_finish(flat_worker *worker, const chosen_task *chosen, uint64_t now, flat_outcome outcome,
                                  bool follows) {
    worker_statistics *statistics = worker->statistics;
    task_descriptor *task = chosen->task;
    void *block = chosen->record->block;
    worker->outcome = (uint8_t)outcome;
    worker->is_deferred = false;
    if (follows && outcome == FLAT_TASK_DONE) load_of_begun(worker, task->type, now);
    show(&statistics->running_since, now);
    show_last(&statistics->running, (uintptr_t)task->run);
    task->run(worker, block != NULL ? block : task->room, task->size);
    uint64_t ended = read_ticks();
    worker->last = ended;
    show(&statistics->running, 0);
    count_up(&statistics->begun, 1);
    check_service(statistics, task, ended - now);
    if (follows && outcome == FLAT_TASK_DONE) follow_run(worker, chosen->record, task, now, ended);
    leave_ring(worker, chosen);
    if (UNLIKELY(worker->is_deferred)) {
        wait_again(worker, chosen->record);
        return;
    }
    if (LIKELY(outcome == FLAT_TASK_DONE)) count_service(statistics, task, now, ended);
    uint32_t fared = follows ? flat_engine_fared(worker, chosen->record, task, outcome) : 0;
    flat_engine_finish(worker, chosen->record, task, outcome, fared);
    if (follows) load_of_done(worker);
}

static NOINLINE void run_followed(flat_worker *worker, const chosen_task *chosen, uint64_t now, flat_outcome outcome) {
    run_and_finish(worker, chosen, now, outcome, true);
}

static void run_task(flat_worker *worker, const chosen_task *chosen, uint64_t now, flat_outcome outcome) {
    if (UNLIKELY(worker->follows_runs)) {
        run_followed(worker, chosen, now, outcome);
    } else {
        run_and_finish(worker, chosen, now, outcome, false);
    }
}

/* Ends a task that will not run; `run` is called nevertheless if the task wants that. */
static NOINLINE void end_unrun(flat_worker *worker, const chosen_task *chosen, flat_outcome outcome, uint64_t now) {
    if ((chosen->task->flags & ALWAYS_RUN) != 0) {
        run_task(worker, chosen, now, outcome);
        return;
    }
    worker->is_deferred = false;
    leave_ring(worker, chosen);
    finish_unrun(worker, chosen->record, chosen->task, outcome);
}

/* What becomes of a task that is about to begin. */
static inline flat_outcome judge_task(const flat_worker *worker, task_descriptor *task, uint64_t now) {
    if (UNLIKELY(step_look_at_state(&worker->engine->state) >= ENGINE_STOPPED)) return FLAT_TASK_CANCELLED;
    if (LIKELY((task->flags & (HAS_DEADLINE | IS_CANCELLED)) == 0)) return FLAT_TASK_DONE;
    if ((task->flags & IS_CANCELLED) != 0) return FLAT_TASK_CANCELLED;
    if ((task->flags & IS_DEFERRED) != 0 || *deadline_of(task) >= now) return FLAT_TASK_DONE;
    return FLAT_TASK_EXPIRED;
}

/* Counts the free blocks of a class, some at a time: see `class_statistics`. Only the owner of a pool may look at it.
 */
static NOINLINE void count_free_blocks(flat_worker *worker, uint64_t now) {
    const pool_class *class = class_number(worker->pool, worker->counted_class);
    uint32_t to = worker->counted_block + COUNTED_AT_ONCE;
    if (to > class->fresh) to = class->fresh;
    for (uint32_t i = worker->counted_block; i < to; i++) worker->counted_free += class->words[i] != WORD_LIVE;
    worker->counted_block = to;
    if (to < class->fresh) return;
    uint64_t free = worker->counted_free + class->count - class->fresh;
    show(&worker->statistics->classes[worker->counted_class].free, free);
    load_of_counted(worker, worker->counted_class, free, now);
    worker->counted_free = worker->counted_block = 0;
    if (++worker->counted_class == worker->pool->class_count) worker->counted_class = 0;
}

/* Moves a rate by that of the last `ticks`: the more, the longer these were. */
static inline void move_rate(uint64_t *rate, uint64_t tasks, uint64_t ticks, uint64_t windows) {
    uint64_t sample = ((tasks < RATE_MOST_TASKS ? tasks : RATE_MOST_TASKS) << RATE_SHIFT) / ticks;
    if (windows > RATE_WINDOWS) windows = RATE_WINDOWS;
    show(rate, sample > *rate ? *rate + (sample - *rate) * windows / RATE_WINDOWS
                              : *rate - (*rate - sample) * windows / RATE_WINDOWS);
}

/* A worker tells its load from when it sees that somebody chooses. It does not look for each task. */
static inline void look_who_chooses(flat_worker *worker) {
    if (UNLIKELY(!worker->tells_load && somebody_chooses(&worker->engine->chooses))) flat_engine_begin_to_tell(worker);
}

/* What a worker does now and then for those who look at it. No loop but over COUNTED_AT_ONCE blocks. */
static NOINLINE void keep_accounts(flat_worker *worker, uint64_t now) {
    worker_statistics *statistics = worker->statistics;
    worker->kept = now;
    show(&statistics->looked, now);
    look_who_chooses(worker);
    count_free_blocks(worker, now);
    uint64_t ticks = now - statistics->rated, windows = ticks >> (worker->engine->unit_shift + RATING_SHIFT);
    if (windows == 0) return;
    uint64_t came = statistics->taken - statistics->cancelling;
    uint64_t ended = statistics->outcomes[0] + statistics->outcomes[1] + statistics->outcomes[2];
    move_rate(&statistics->arrivals, came - worker->rated_came, ticks, windows);
    move_rate(&statistics->drains, ended - worker->rated_ended, ticks, windows);
    worker->rated_came = came;
    worker->rated_ended = ended;
    show_last(&statistics->rated, now);
}

/* The task to run next, once tasks whose time has come are ready; false iff there is none. */
static NOINLINE bool choose_task(flat_worker *worker, chosen_task *chosen) {
    if (UNLIKELY(worker->wheel.length != 0)) {
        turn_wheel(worker);
        if (step_look_at_state(&worker->engine->state) >= ENGINE_STOPPED) empty_wheel(worker);
    }
    task_record *record = flat_engine_choose(worker);
    if (record == NULL) return false;
    *chosen = (chosen_task){.record = record, .task = &record->task};
    return true;
}

/* Takes in what there is and runs one task. Returns whether there was one. A task begins when the one before it ended,
 * unless the worker had nothing to do, or much to take in: this saves a read of the counter. */
bool flat_engine_work(flat_worker *worker) {
    chosen_task chosen = {.in = NULL};
    uint32_t taken = take_in(worker, &chosen);
    if (chosen.in == NULL || UNLIKELY(worker->wheel.length != 0)) {
        if (UNLIKELY(chosen.in != NULL)) take_in_task(worker, chosen.in, chosen.task);
        if (!choose_task(worker, &chosen)) {
            worker->last = 0;
            load_of_nothing(worker);
            return false;
        }
    }
    uint64_t now = worker->last == 0 || taken > TAKEN_UNTIMED ? read_ticks() : worker->last;
    flat_outcome outcome = judge_task(worker, chosen.task, now);
    if (LIKELY(outcome == FLAT_TASK_DONE)) {
        run_task(worker, &chosen, now, outcome);
        if (UNLIKELY((worker->last - worker->kept) >> (worker->engine->unit_shift + KEEPING_SHIFT) != 0)) {
            keep_accounts(worker, worker->last);
        }
    } else {
        end_unrun(worker, &chosen, outcome, now);
        worker->last = 0; /* many may end at once: the next one is judged by a new time */
    }
    return true;
}

/* Whether a lane has something that was not taken in. */
static bool has_mail(const flat_worker *worker) {
    for (uint32_t i = 0; i < worker->inbox_count; i++) {
        if (has_more(&worker->awaited[i])) return true;
    }
    return false;
}

/* Whether a stop or the end leaves something to do. */
static bool has_to_stop(const flat_worker *worker) {
    uint32_t state = step_look_at_state(&worker->engine->state);
    return state >= ENGINE_ENDING || (state >= ENGINE_STOPPED && worker->wheel.length != 0);
}

/* Sleeps until a submitter or a change of state wakes the worker, or a task's time comes. */
static NOINLINE void sleep_worker(flat_worker *worker) {
    const flat_engine *engine = worker->engine;
    worker->sleeps += 2;
    uint64_t number = worker->sleeps - 1;
    step_announce_sleep(&worker->sleeping, number);
    bool fenced = fence_both(engine);
    uint64_t within = fenced ? SLEEP_FOR_EVER : UNFENCED_SLEEP_NS;
    if (worker->wheel.length != 0) {
        uint64_t due = wheel_next(&worker->wheel) << engine->unit_shift, now = read_ticks();
        uint64_t until_due = due > now ? ns_of_ticks(&engine->rate, due - now) : 0;
        if (until_due < within) within = until_due;
    }
    if (!has_mail(worker) && within != 0 && !has_to_stop(worker)) {
        count_up(&worker->statistics->slept, 1);
        show(&worker->statistics->asleep, 1);
        flat_sleep_while(part_to_sleep_on(&worker->sleeping), (uint32_t)number, within);
        show(&worker->statistics->asleep, 0);
    }
    step_stay_awake(&worker->sleeping);
}

/* What a worker does that found nothing, for the `looks`th time in a row; `since` is when it found nothing first. */
static inline void pass_time(flat_worker *worker, uint32_t looks, uint64_t *since) {
    const flat_engine *engine = worker->engine;
    if (LIKELY(looks % LOOKS_PER_TIME != 0 && engine->waiting != FLAT_WAITING_SLEEP)) return;
    uint64_t now = read_ticks();
    keep_accounts(worker, now);
    load_of_nothing_yet(worker, now);
    if (engine->waiting == FLAT_WAITING_SLEEP) {
        sleep_worker(worker);
        return;
    }
    if (looks == LOOKS_PER_TIME) *since = now;
    if (engine->waiting == FLAT_WAITING_DEFAULT && now - *since > engine->spin_ticks) {
        sleep_worker(worker);
    } else if (engine->yields) {
        flat_thread_yield();
    }
}

/* Cancels what is left. The engine is ending: nothing more comes. */
void flat_engine_empty(flat_worker *worker) {
    while (flat_engine_work(worker) || worker->wheel.length != 0) continue;
}

/* Is the worker until the engine ends. */
void flat_engine_attend(flat_worker *worker) {
    uint32_t looks = 0;
    uint64_t since = 0;
    show(&worker->statistics->thread, flat_thread_number());
    while (step_look_at_state(&worker->engine->state) < ENGINE_ENDING) {
        if (flat_engine_work(worker)) {
            looks = 0;
        } else {
            pass_time(worker, ++looks, &since);
        }
    }
    flat_engine_empty(worker);
    show(&worker->statistics->thread, 0);
}

/* Whether the calling thread is now the one that runs the worker. */
static bool attend(flat_engine *engine, size_t worker) {
    if (engine == NULL || worker >= engine->worker_count || engine->runs_workers) return false;
    return step_move_lane(&engine->workers[worker].attended, 0, 1);
}

flat_status flat_engine_run(flat_engine *engine, size_t worker) {
    if (!attend(engine, worker)) return FLAT_INVALID_ARGUMENT;
    flat_engine_attend(&engine->workers[worker]);
    step_leave_worker(&engine->workers[worker].attended);
    return FLAT_OK;
}

bool flat_engine_step(flat_engine *engine, size_t worker) {
    if (!attend(engine, worker)) return false;
    flat_worker *stepped = &engine->workers[worker];
    uint64_t *thread = &stepped->statistics->thread;
    bool watched = engine->watchdog_ns != 0;
    if (watched) show(thread, flat_thread_number());
    stepped->last = 0; /* time has passed since its last step */
    look_who_chooses(stepped);
    bool worked = flat_engine_work(stepped);
    if (!worked) load_of_nothing_yet(stepped, read_ticks());
    if (watched) show(thread, 0);
    step_leave_worker(&stepped->attended);
    return worked;
}

flat_pool *flat_engine_pool(flat_worker *here) { return here->pool; }
flat_submitter *flat_engine_submitter(flat_worker *here) { return here->submitter; }
size_t flat_engine_worker(const flat_worker *here) { return here->number; }
flat_engine *flat_engine_of(const flat_worker *here) { return here->engine; }
flat_outcome flat_engine_outcome(const flat_worker *here) { return (flat_outcome)here->outcome; }

flat_status flat_engine_defer(flat_worker *here, uint64_t delay_ns) {
    if (here == NULL || delay_ns > FLAT_ENGINE_MAX_DELAY_NS || here->outcome != FLAT_TASK_DONE) {
        return FLAT_INVALID_ARGUMENT;
    }
    here->is_deferred = true;
    here->deferred_to = delay_ns == 0 ? 0 : read_ticks() + ticks_of_ns(&here->engine->rate, delay_ns);
    return FLAT_OK;
}
