/* Tasks that may run on any worker: which one gets a task, and what its submitter accounts for to choose well. */
#include "lane_grants.h"
#include "load.h"

#include <flatline/bounded.h>

/* Bounds of loops: `flatline prove` counts what a choice takes among so many workers. */
#define MOST_WORKERS (FLAT_ENGINE_MAX_WORKERS < DISPATCH_MOST_SHARDS ? FLAT_ENGINE_MAX_WORKERS : DISPATCH_MOST_SHARDS)

/* Grants that came back which are taken back from one lane in one choice. With more, a choice takes longer; with fewer,
 * a submitter whose lanes fill up sees grants later. */
#define TAKEN_BACK_AT_ONCE 4

/* A task that is sent to any worker. */
typedef struct any_task {
    const flat_task *task;
    size_t size;
    task_way way;
} any_task;

static void begin_dispatcher(dispatcher *of, const dispatcher_options *options, void *views, uint64_t *idle) {
    flat_dispatcher_init(of, options, views, read_ticks());
    of->idle = idle;
}

/* From now on the submitter accounts for its tasks, and workers tell their load. O(workers). */
static NOINLINE void begin_choosing(flat_submitter *submitter) {
    flat_engine *engine = submitter->engine;
    worker_choice *choice = submitter->choice;
    const dispatcher_options options = {
        .policy = engine->policy, .shards = engine->worker_count, .seed = engine->dispatch_seed + submitter->number};
    begin_dispatcher(&choice->chooser, &options, choice->views, choice->idle);
    if (choice->fallback != NULL) {
        dispatcher_options fallback = options;
        fallback.policy = DISPATCH_TWO_CHOICES;
        begin_dispatcher(&choice->fallback->chooser, &fallback, choice->fallback + 1, choice->idle);
    }
    choice->chosen = NO_SHARD;
    for (uint32_t i = 0; i < engine->worker_count; i++) submitter->lanes[i].choice = choice;
    say_that_one_chooses(&engine->chooses);
}

/* The class of a lane's grants that the task takes; NO_SHARD iff its payload is too large for the worker. */
static inline uint32_t class_of_task(const lane *to, const any_task *of) {
    const flat_task *task = of->task;
    size_t times = (task->deadline_ns != 0) + (size_t)(task->start_ns != 0);
    bool has_room = of->size <= FLAT_ENGINE_INLINE_BYTES - times * sizeof(uint64_t);
    if (of->way == TASK_SUBMITTED && task->size_class == 0 && has_room && to->classes[to->class_count].count != 0) {
        return to->class_count;
    }
    uint32_t number;
    return choose_class(to, task, of->size, &number) == FLAT_OK ? number : NO_SHARD;
}

/* A function of its own: the bound of its loop holds for each call. */
static NOINLINE void take_back_some(lane *from, lane_class *class) {
    for (uint32_t i = 0; i < TAKEN_BACK_AT_ONCE && recover_grant(from, class, keeps_account(from)); i++) {
        FLAT_LOOP_AT_MOST(TAKEN_BACK_AT_ONCE);
    }
}

/* Takes back grants that came back for the task. Returns whether one is left. */
static inline bool look_for_grants(lane *to, const any_task *of) {
    uint32_t number = class_of_task(to, of);
    if (number == NO_SHARD) return false;
    take_back_some(to, &to->classes[number]);
    return to->classes[number].left != 0;
}

/* The workers for which the submitter has a grant for the task. Returns the last one whose classes hold the payload. */
static inline uint32_t make_mask(const flat_submitter *submitter, const any_task *of, uint64_t *mask) {
    uint32_t count = submitter->worker_count, fitting = NO_SHARD;
    for (uint32_t word = 0; word < shard_words(count); word++) {
        FLAT_LOOP_AT_MOST(MOST_WORKERS / 64);
        mask[word] = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        FLAT_LOOP_AT_MOST(MOST_WORKERS);
        const lane *to = &submitter->lanes[i];
        uint32_t number = class_of_task(to, of);
        if (number == NO_SHARD) continue;
        fitting = i;
        if (to->classes[number].left != 0) shard_add(mask, i);
    }
    return fitting;
}

/* Looks for grants at one of the workers for which there is none, a different one each time; if there is none for any,
 * at all of them until one is found. */
static inline void find_more(flat_submitter *submitter, const any_task *of, uint64_t *mask) {
    uint32_t count = submitter->worker_count, words = shard_words(count), *next = &submitter->choice->next_without;
    bool any = shards_in(mask, words) != 0;
    for (uint32_t tried = 0; tried < count; tried++) {
        FLAT_LOOP_AT_MOST(MOST_WORKERS);
        uint32_t number = *next;
        *next = number + 1 == count ? 0 : number + 1;
        if (shard_is_in(mask, number)) continue;
        bool found = look_for_grants(&submitter->lanes[number], of);
        if (found) shard_add(mask, number);
        if (found || any) return;
    }
}

/* A function of its own, as above. */
static NOINLINE void read_report(lane *to, const any_task *of, uint64_t now) {
    load_report report = load_read(&to->worker->report);
    flat_dispatcher_learn(&to->choice->chooser, to->worker_number, &report, now);
    if (to->choice->fallback != NULL)
        flat_dispatcher_learn(&to->choice->fallback->chooser, to->worker_number, &report, now);
    (void)look_for_grants(to, of);
}

/* Reads the reports of the workers that the policy asks for. */
static inline void read_reports(flat_submitter *submitter, const any_task *of, const dispatcher *chooser,
                                uint32_t count, uint64_t now) {
    for (uint32_t i = 0; i < count; i++) {
        FLAT_LOOP_AT_MOST(DISPATCH_MOST_PROBES);
        __builtin_prefetch(&submitter->lanes[chooser->probes[i]].worker->report);
    }
    for (uint32_t i = 0; i < count; i++) {
        FLAT_LOOP_AT_MOST(DISPATCH_MOST_PROBES);
        read_report(&submitter->lanes[chooser->probes[i]], of, now);
    }
}

/* Who chooses now. In a switchback, slices have room before something is sent in them. */
static inline dispatcher *deciding(worker_choice *choice, uint64_t now) {
    if (LIKELY(choice->fallback == NULL)) return &choice->chooser;
    flat_switchback_make_room(choice->measured, now);
    bool falls_back = switchback_arm_at(&choice->measured->options, now) == SWITCHBACK_FALLBACK;
    return falls_back ? &choice->fallback->chooser : &choice->chooser;
}

/* Chooses a worker for a task that may run on any: see `flat_engine_dispatch`. */
NOINLINE worker_found flat_engine_choose_worker(flat_submitter *submitter, const flat_task *task, size_t size,
                                                task_way way) {
    uint64_t mask[FLAT_ENGINE_MAX_WORKERS / 64];
    const any_task of = {task, size, way};
    worker_choice *choice = submitter->choice;
    uint32_t type = task->type < FLAT_ENGINE_TASK_TYPES ? task->type : 0;
    if (UNLIKELY(submitter->lanes[0].choice == NULL)) begin_choosing(submitter);
    uint64_t now = read_ticks();
    worker_found found = {.number = NO_SHARD, .fitting = make_mask(submitter, &of, mask)};
    if (UNLIKELY(found.fitting == NO_SHARD)) return found;
    find_more(submitter, &of, mask);
    dispatcher *chooser = deciding(choice, now);
    read_reports(submitter, &of, chooser, flat_dispatcher_look(chooser, mask, type, now), now);
    found.number = flat_dispatcher_pick(chooser, mask, type, now);
    choice->chosen = found.number;
    if (UNLIKELY(found.number == NO_SHARD)) return found;
    lane *to = &submitter->lanes[found.number];
    (void)look_for_grants(to, &of);
    uint32_t told_of = flat_dispatcher_next_services(&choice->chooser, found.number);
    if (told_of != NO_SHARD) {
        load_services services = load_read_services(&submitter->lanes[told_of].worker->services);
        flat_dispatcher_learn_services(&choice->chooser, told_of, &services);
    }
    return found;
}

size_t flat_engine_dispatch(flat_submitter *submitter, const flat_task *task, size_t size) {
    if (submitter == NULL || task == NULL || task->type >= FLAT_ENGINE_TASK_TYPES) return FLAT_ANY_WORKER;
    worker_found found = flat_engine_choose_worker(submitter, task, size, TASK_POSTED);
    return found.number == NO_SHARD ? FLAT_ANY_WORKER : found.number;
}

/* A task is about to be sent. */
NOINLINE void flat_engine_account_sent(lane *to, uint32_t grant, uint32_t type, uint64_t now) {
    worker_choice *choice = to->choice;
    uint64_t is_chosen = choice->chosen == to->worker_number;
    choice->chosen = NO_SHARD;
    to->sent[grant] = now << SENT_AT_SHIFT | is_chosen << SENT_TYPE_BITS | type;
    flat_dispatcher_sent(&choice->chooser, to->worker_number, type, now);
    if (choice->fallback != NULL) flat_dispatcher_sent(&choice->fallback->chooser, to->worker_number, type, now);
}

/* A grant came back, as an entry says. */
NOINLINE void flat_engine_account_returned(lane *from, uint32_t entry) {
    worker_choice *choice = from->choice;
    sent_task *sent = &from->sent[grant_of_entry(entry)], was = *sent;
    if (was == 0) return; /* it was sent before there was a choice, or not at all */
    *sent = 0;
    uint32_t fared = entry >> ENTRY_FARED_SHIFT, type = was & SENT_TYPE_MASK;
    uint64_t sojourn = histogram_upper_end(fared & FARED_SOJOURN_MASK), held = ticks_of_held(fared >> FARED_HELD_SHIFT);
    uint64_t now = read_ticks();
    flat_dispatcher_returned(&choice->chooser, from->worker_number, type, sojourn, held, now);
    if (LIKELY(choice->fallback == NULL)) return;
    flat_dispatcher_returned(&choice->fallback->chooser, from->worker_number, type, sojourn, held, now);
    bool is_chosen = (was >> SENT_TYPE_BITS & 1) != 0;
    if (is_chosen && sojourn != 0) {
        switchback_count_with_room(choice->measured, was >> SENT_AT_SHIFT, sojourn, now);
    }
}

/* From now on a worker tells its load. What waits and is in flight counts, and is of no type. */
NOINLINE void flat_engine_begin_to_tell(flat_worker *worker) {
    const worker_statistics *statistics = worker->statistics;
    uint64_t in_flight = 0, waiting = 0, now = read_ticks();
    for (uint64_t i = 0; i <= statistics->class_count; i++) in_flight += statistics->classes[i].in_flight;
    for (uint32_t i = 0; i < FLAT_ENGINE_URGENCIES; i++) waiting += statistics->queued[i];
    load_begin_report(&worker->report, now);
    worker->keeper.counted_since = now;
    load_show(&worker->report.in_flight, (uint32_t)in_flight);
    load_show(&worker->report.waiting, (uint32_t)waiting);
    (void)was_refused(worker); /* until now: of no run that is followed */
    worker->tells_load = worker->follows_runs = true;
}
