/* The submitter's side: grants, posts, what comes back, cancellations. */
#include "engine.h"
#include "submit_steps.h"

#include <flatline/bounded.h>

void *flat_engine_grant(flat_submitter *submitter, size_t worker, size_t size) {
    if (submitter == NULL || worker >= submitter->engine->worker_count) return NULL;
    lane *to = &submitter->lanes[worker];
    uint32_t number = class_holding(to, size);
    if (number == to->class_count) return NULL;
    lane_class *class = &to->classes[number];
    uint32_t grant = take_grant(to, class, keeps_account(to));
    if (grant == NO_GRANT_LEFT) {
        count_up(&submitter->statistics->refused[FLAT_REFUSAL_NO_GRANT], 1);
        return NULL;
    }
    lane_grant *taken = &to->grants[grant];
    taken->state = GRANT_HELD;
    taken->size = (uint32_t)size;
    return class->start + (grant - class->first) * class->size;
}
FLAT_BOUNDED("flat_engine_grant");

/* The grant that `block` is; `*to` gets its lane. NO_GRANT_LEFT iff it is none of this submitter's. */
static inline uint32_t find_grant(flat_submitter *submitter, const void *block, lane **to) {
    const flat_engine *engine = submitter->engine;
    uintptr_t offset = (uintptr_t)block - engine->blocks;
    if (offset >= engine->block_bytes) return NO_GRANT_LEFT;
    lane *found = &submitter->lanes[engine->worker_of_page[offset / ENGINE_PAGE]];
    const pool_class *class = class_of_address(found->pool, block);
    const lane_class *of = &found->classes[number_of_class(found, class)];
    size_t index = block_index_at((uintptr_t)block - (uintptr_t)of->start, of->inverse, of->twos);
    if (index >= of->count) return NO_GRANT_LEFT;
    *to = found;
    return of->first + (uint32_t)index;
}

/* The same, if the submitter holds the grant. */
static inline flat_status find_held_grant(flat_submitter *submitter, const void *block, lane **to, uint32_t *grant) {
    *grant = find_grant(submitter, block, to);
    if (*grant == NO_GRANT_LEFT) return FLAT_FOREIGN_POINTER;
    return (*to)->grants[*grant].state == GRANT_HELD ? FLAT_OK : FLAT_FOREIGN_POINTER;
}

ALWAYS_INLINE flat_status post_grant(flat_submitter *submitter, lane *to, uint32_t grant, const flat_task *task,
                                     bool accounts) {
    checked_task checked;
    uint64_t now = read_ticks();
    flat_status status = check_task(submitter->engine, task, now, &checked);
    if (LIKELY(status == FLAT_OK)) status = begin_submit(submitter);
    if (UNLIKELY(status != FLAT_OK)) return refuse_submit(submitter, status);
    task_descriptor *descriptor = begin_descriptor(to, &checked, now, to->grants[grant].size, accounts);
    publish_task(to, descriptor, task, grant, accounts);
    end_submit(submitter, to);
    recover_some(to, &to->classes[to->grants[grant].size_class], accounts);
    return FLAT_OK;
}

/* A post by a submitter that keeps account of its tasks. */
NOINLINE flat_status flat_engine_post_accounted(flat_submitter *submitter, lane *to, uint32_t grant,
                                                const flat_task *task) {
    return post_grant(submitter, to, grant, task, true);
}
FLAT_BOUNDED("flat_engine_post_accounted apart=flat_engine_wake");

flat_status flat_engine_post(flat_submitter *submitter, void *granted, const flat_task *task) {
    lane *to;
    uint32_t grant;
    if (submitter == NULL || task == NULL) return FLAT_INVALID_ARGUMENT;
    flat_status status = find_held_grant(submitter, granted, &to, &grant);
    if (UNLIKELY(status != FLAT_OK)) return status;
    if (keeps_account(to)) return flat_engine_post_accounted(submitter, to, grant, task);
    return post_grant(submitter, to, grant, task, false);
}
FLAT_BOUNDED("flat_engine_post apart=flat_engine_wake apart=flat_engine_post_accounted");

flat_status flat_engine_release(flat_submitter *submitter, void *granted) {
    lane *to;
    uint32_t grant;
    if (submitter == NULL) return FLAT_INVALID_ARGUMENT;
    flat_status status = find_held_grant(submitter, granted, &to, &grant);
    if (status != FLAT_OK) return status;
    to->grants[grant].state = GRANT_LEFT;
    push_grant(to, &to->classes[to->grants[grant].size_class], grant);
    return FLAT_OK;
}
FLAT_BOUNDED("flat_engine_release");

flat_status flat_engine_keep(flat_submitter *submitter, void *payload) {
    lane *from;
    if (submitter == NULL) return FLAT_INVALID_ARGUMENT;
    uint32_t grant = find_grant(submitter, payload, &from);
    if (grant == NO_GRANT_LEFT) return FLAT_FOREIGN_POINTER;
    lane_grant *kept = &from->grants[grant];
    lane_class *class = &from->classes[kept->size_class];
    if (class->top != grant || kept->state != GRANT_LEFT) return FLAT_FOREIGN_POINTER;
    (void)take_grant(from, class, false); /* it is on top: none is taken back */
    kept->state = GRANT_HELD;
    return FLAT_OK;
}
FLAT_BOUNDED("flat_engine_keep");

/* Copies `size` bytes to a block, more than FLAT_ENGINE_INLINE_BYTES. The one loop of a submit: it repeats once for
 * each 32 bytes. Blocks are whole granules, but the payload may be anywhere and of any size. */
NOINLINE void flat_engine_copy(void *to, const void *from, size_t size) {
    typedef uint64_t pair __attribute__((vector_size(16), aligned(1), may_alias));
    char *into = to;
    const char *of = from;
    size_t last = size - 2 * sizeof(pair);
    for (size_t at = 0; at < last; at += 2 * sizeof(pair)) {
        pair low = *(const pair *)(const void *)(of + at), high = *(const pair *)(const void *)(of + at + sizeof(pair));
        *(pair *)(void *)(into + at) = low;
        *(pair *)(void *)(into + at + sizeof(pair)) = high;
    }
    pair low = *(const pair *)(const void *)(of + last), high = *(const pair *)(const void *)(of + last + sizeof(pair));
    *(pair *)(void *)(into + last) = low;
    *(pair *)(void *)(into + last + sizeof(pair)) = high;
}

/* A task whose payload travels in the descriptor. */
ALWAYS_INLINE flat_status submit_inline(flat_submitter *submitter, lane *to, const flat_task *task,
                                        const checked_task *checked, flat_payload payload, uint64_t now,
                                        bool accounts) {
    lane_class *class = &to->classes[to->class_count];
    flat_status status = begin_submit(submitter);
    if (UNLIKELY(status != FLAT_OK)) return status;
    uint32_t grant = take_grant(to, class, accounts);
    if (UNLIKELY(grant == NO_GRANT_LEFT)) {
        step_leave_submit(&submitter->entered);
        return FLAT_RING_FULL;
    }
    task_descriptor *descriptor = begin_descriptor(to, checked, now, payload.size, accounts);
    copy_small(descriptor->room, payload.start, payload.size);
    publish_task(to, descriptor, task, grant, accounts);
    end_submit(submitter, to);
    recover_some(to, class, accounts);
    return FLAT_OK;
}

/* A task whose payload is copied to a block of class `number`. */
static NOINLINE flat_status submit_copy(flat_submitter *submitter, lane *to, uint32_t number, const flat_task *task,
                                        const checked_task *checked, flat_payload payload, uint64_t now) {
    lane_class *class = &to->classes[number];
    flat_status status = begin_submit(submitter);
    if (UNLIKELY(status != FLAT_OK)) return status;
    uint32_t grant = take_grant(to, class, keeps_account(to));
    if (UNLIKELY(grant == NO_GRANT_LEFT)) {
        step_leave_submit(&submitter->entered);
        return FLAT_NO_GRANT;
    }
    char *block = class->start + (grant - class->first) * class->size;
    if (payload.size > FLAT_ENGINE_INLINE_BYTES) {
        flat_engine_copy(block, payload.start, payload.size);
    } else {
        copy_small(block, payload.start, payload.size);
    }
    task_descriptor *descriptor = begin_descriptor(to, checked, now, payload.size, keeps_account(to));
    publish_task(to, descriptor, task, grant, keeps_account(to));
    end_submit(submitter, to);
    recover_some(to, class, keeps_account(to));
    return FLAT_OK;
}

/* A submit of any kind to one worker. */
NOINLINE flat_status flat_engine_submit_any(flat_submitter *submitter, lane *to, const flat_task *task,
                                            flat_payload payload) {
    checked_task checked;
    uint32_t number;
    uint64_t now = read_ticks();
    if (payload.start == NULL && payload.size != 0) return FLAT_INVALID_ARGUMENT;
    flat_status status = check_task(submitter->engine, task, now, &checked);
    if (status != FLAT_OK) return status;
    if (task->size_class == 0 && payload.size <= checked.inline_bytes && to->classes[to->class_count].count != 0) {
        return submit_inline(submitter, to, task, &checked, payload, now, keeps_account(to));
    }
    status = choose_class(to, task, payload.size, &number);
    if (status != FLAT_OK) return status;
    return submit_copy(submitter, to, number, task, &checked, payload, now);
}
FLAT_BOUNDED("flat_engine_submit_any apart=flat_engine_wake apart=flat_engine_copy");

/* FLAT_ANY_WORKER. Where no worker can get the task, one whose classes hold the payload says why. */
static NOINLINE flat_status submit_anywhere(flat_submitter *submitter, const flat_task *task, flat_payload payload) {
    worker_found found = flat_engine_choose_worker(submitter, task, payload.size, TASK_SUBMITTED);
    if (found.number == NO_SHARD) found.number = found.fitting;
    if (found.number == NO_SHARD) return FLAT_INVALID_ARGUMENT;
    return flat_engine_submit_any(submitter, &submitter->lanes[found.number], task, payload);
}

static NOINLINE flat_status try_to_submit(flat_submitter *submitter, size_t worker, const flat_task *task,
                                          flat_payload payload) {
    if (submitter == NULL || task == NULL) return FLAT_INVALID_ARGUMENT;
    if (worker < submitter->worker_count) {
        return flat_engine_submit_any(submitter, &submitter->lanes[worker], task, payload);
    }
    return worker == FLAT_ANY_WORKER ? submit_anywhere(submitter, task, payload) : FLAT_INVALID_ARGUMENT;
}

/* A submit of any kind, whose refusal is counted. */
NOINLINE flat_status flat_engine_submit_or_refuse(flat_submitter *submitter, size_t worker, const flat_task *task,
                                                  flat_payload payload) {
    flat_status status = try_to_submit(submitter, worker, task, payload);
    return status == FLAT_OK || submitter == NULL ? status : refuse_submit(submitter, status);
}

/* Whether the task has nothing that is looked at apart: no class, no time. */
ALWAYS_INLINE bool is_plain(const flat_task *task) {
    return (task->size_class | task->deadline_ns | task->start_ns) == 0;
}

/* The usual case, an inline payload without times by a submitter that has chosen no worker, is handled here, and every
 * other one apart. */
flat_status flat_engine_submit(flat_submitter *submitter, size_t worker, const flat_task *task, const void *payload,
                               size_t size) {
    flat_payload copied = {payload, size};
    if (UNLIKELY(submitter == NULL || task == NULL || worker >= submitter->worker_count || !is_plain(task) ||
                 payload == NULL || size > FLAT_ENGINE_INLINE_BYTES)) {
        return flat_engine_submit_or_refuse(submitter, worker, task, copied);
    }
    lane *to = &submitter->lanes[worker];
    checked_task checked;
    uint64_t now = read_ticks();
    if (UNLIKELY(to->classes[to->class_count].count == 0 || to->choice != NULL ||
                 check_task(submitter->engine, task, now, &checked) != FLAT_OK)) {
        return flat_engine_submit_or_refuse(submitter, worker, task, copied);
    }
    flat_status status = submit_inline(submitter, to, task, &checked, copied, now, false);
    return LIKELY(status == FLAT_OK) ? FLAT_OK : refuse_submit(submitter, status);
}
FLAT_BOUNDED("flat_engine_submit apart=flat_engine_wake apart=flat_engine_submit_or_refuse");

/* One after another: a submit reads the counter anew, so that waiting times are those of each task. */
size_t flat_engine_submit_many(flat_submitter *submitter, size_t worker, const flat_task *task,
                               const flat_payload *payloads, size_t count, flat_status *status) {
    flat_status last = payloads == NULL && count != 0 ? FLAT_INVALID_ARGUMENT : FLAT_OK;
    size_t accepted = 0;
    while (last == FLAT_OK && accepted < count) {
        last = flat_engine_submit(submitter, worker, task, payloads[accepted].start, payloads[accepted].size);
        if (last == FLAT_OK) accepted++;
    }
    if (status != NULL) *status = last;
    return accepted;
}

/* Sleeps until something comes back to the submitter or a time has come, unless `is_there` says that it is there. */
static void sleep_until_returned(flat_submitter *submitter, uint64_t until_ticks,
                                 bool (*is_there)(flat_submitter *submitter)) {
    const flat_engine *engine = submitter->engine;
    submitter->sleeps += 2;
    uint64_t number = submitter->sleeps - 1;
    step_announce_sleep(&submitter->sleeping, number);
    bool fenced = fence_both(engine);
    uint64_t now = read_ticks();
    if (!is_there(submitter) && now < until_ticks) {
        uint64_t within = ns_of_ticks(&engine->rate, until_ticks - now);
        /* Without a fence on the other side its look may have come too early: look again soon. */
        if (!fenced && within > UNFENCED_SLEEP_NS) within = UNFENCED_SLEEP_NS;
        flat_sleep_while(part_to_sleep_on(&submitter->sleeping), (uint32_t)number, within);
    }
    step_stay_awake(&submitter->sleeping);
}

/* Whether a submit may have another answer now: a grant has come back, or the engine takes no more tasks. */
static bool may_be_answered(flat_submitter *submitter) {
    bool any = flat_engine_collect(submitter);
    return any || step_look_at_state(&submitter->engine->state) >= submitter->refused_from;
}

flat_status flat_engine_submit_until(flat_submitter *submitter, size_t worker, const flat_task *task,
                                     const void *payload, size_t size, uint64_t until_ns) {
    if (submitter == NULL || submitter->of_worker != NULL) return FLAT_INVALID_ARGUMENT;
    const flat_engine *engine = submitter->engine;
    uint64_t until = ticks_at_time(&engine->rate, until_ns), look_until = read_ticks() + engine->spin_ticks;
    for (;;) {
        flat_status status = try_to_submit(submitter, worker, task, (flat_payload){payload, size});
        if (status == FLAT_OK) return FLAT_OK;
        if (status != FLAT_NO_GRANT && status != FLAT_RING_FULL) return refuse_submit(submitter, status);
        uint64_t now = read_ticks();
        if (now >= until) {
            (void)refuse_submit(submitter, status);
            return FLAT_TIMED_OUT;
        }
        if (now < look_until) {
            pause_processor();
        } else {
            sleep_until_returned(submitter, until, may_be_answered);
        }
    }
}

/* Takes the next completion of a lane; false: there is none. */
static bool take_completion(lane *from, flat_completion *completion) {
    uint64_t entry = step_look_at_completion(&from->completions[from->completion_at]);
    if ((entry & ENTRY_PARITY) != from->completion_parity) return false;
    uint32_t number = grant_of_entry((uint32_t)entry);
    lane_grant *grant = &from->grants[number];
    lane_class *class = &from->classes[grant->size_class];
    bool is_inline = grant->size_class == from->class_count;
    *completion = (flat_completion){
        .ticket = ticket_of(from->worker_number, number, grant->generation),
        .context = grant->context,
        .outcome = (flat_outcome)(entry >> ENTRY_OUTCOME_SHIFT),
        .payload = is_inline ? NULL : class->start + (number - class->first) * class->size,
        .size = grant->size,
    };
    if (++from->completion_at == from->grant_count) {
        from->completion_at = 0;
        from->completion_parity ^= ENTRY_PARITY;
    }
    take_back_grant(from, (uint32_t)entry, keeps_account(from));
    return true;
}

size_t flat_engine_poll(flat_submitter *submitter, flat_completion *completions, size_t capacity) {
    size_t taken = 0;
    if (submitter == NULL || completions == NULL) return 0;
    for (uint32_t i = 0; i < submitter->engine->worker_count; i++) {
        while (taken < capacity && take_completion(&submitter->lanes[i], &completions[taken])) taken++;
    }
    return taken;
}

static bool has_completion(flat_submitter *submitter) {
    for (uint32_t i = 0; i < submitter->engine->worker_count; i++) {
        const lane *from = &submitter->lanes[i];
        uint64_t entry = step_look_at_completion(&from->completions[from->completion_at]);
        if ((entry & ENTRY_PARITY) == from->completion_parity) return true;
    }
    return false;
}

flat_status flat_engine_wait(flat_submitter *submitter, uint64_t until_ns) {
    if (submitter == NULL || submitter->of_worker != NULL) return FLAT_INVALID_ARGUMENT;
    const flat_engine *engine = submitter->engine;
    uint64_t until = ticks_at_time(&engine->rate, until_ns), look_until = read_ticks() + engine->spin_ticks;
    while (!has_completion(submitter)) {
        uint64_t now = read_ticks();
        if (now >= until) return FLAT_TIMED_OUT;
        if (now < look_until) {
            pause_processor();
        } else {
            sleep_until_returned(submitter, until, has_completion);
        }
    }
    return FLAT_OK;
}

/* Takes back all grants that came back without a completion; returns whether there was one. O(grants). */
bool flat_engine_collect(flat_submitter *submitter) {
    bool any = false;
    for (uint32_t i = 0; i < submitter->engine->worker_count; i++) {
        lane *from = &submitter->lanes[i];
        for (uint32_t number = 0; number <= from->class_count; number++) {
            while (recover_grant(from, &from->classes[number], keeps_account(from))) any = true;
        }
    }
    return any;
}

static size_t grants_at(const lane *to, size_t size) {
    uint32_t number = class_holding(to, size);
    return number == to->class_count ? 0 : to->classes[number].count;
}

static size_t capacity_at(const lane *to, size_t size) {
    size_t inline_grants = to->classes[to->class_count].count;
    return size <= FLAT_ENGINE_INLINE_BYTES && inline_grants != 0 ? inline_grants : grants_at(to, size);
}

/* Of one worker, or the sum of all. */
static size_t count_at(const flat_submitter *submitter, size_t worker, size_t size,
                       size_t (*at)(const lane *to, size_t size)) {
    size_t all = 0;
    if (submitter == NULL) return 0;
    if (worker < submitter->worker_count) return at(&submitter->lanes[worker], size);
    for (uint32_t i = 0; worker == FLAT_ANY_WORKER && i < submitter->worker_count; i++) {
        all += at(&submitter->lanes[i], size);
    }
    return all;
}

size_t flat_engine_capacity(const flat_submitter *submitter, size_t worker, size_t size) {
    return count_at(submitter, worker, size, capacity_at);
}

size_t flat_engine_grants(const flat_submitter *submitter, size_t worker, size_t size) {
    return count_at(submitter, worker, size, grants_at);
}

flat_status flat_engine_cancel(flat_submitter *submitter, flat_ticket ticket) {
    if (submitter == NULL) return FLAT_INVALID_ARGUMENT;
    uint64_t worker = (ticket >> TICKET_WORKER_SHIFT) - 1;
    if (worker >= submitter->engine->worker_count) return FLAT_STALE_TICKET;
    lane *to = &submitter->lanes[worker];
    uint32_t number = (uint32_t)(ticket >> TICKET_GRANT_SHIFT) & UINT16_MAX;
    if (number >= to->grant_count) return FLAT_STALE_TICKET;
    lane_grant *grant = &to->grants[number];
    while (recover_grant(to, &to->classes[grant->size_class], keeps_account(to))) continue;
    if (grant->state != GRANT_POSTED || grant->generation != (uint32_t)ticket) return FLAT_STALE_TICKET;
    /* One cancellation of each grant may be in the ring, which has room for it. */
    const inbox *there = &to->worker->inboxes[submitter->number];
    if (grant->cancelled > step_read_taken(&there->taken)) {
        bool same = grant->cancelled_generation == grant->generation;
        return same ? FLAT_OK : FLAT_RING_FULL;
    }
    step_enter(&submitter->entered); /* a drain that finds its thread ended before it has left reclaims the lane */
    task_descriptor *descriptor = &to->descriptors[to->at];
    descriptor->submitted = grant->generation;
    descriptor->grant = (uint16_t)number;
    descriptor->flags = IS_CANCELLATION;
    publish_descriptor(to, descriptor);
    grant->cancelled = to->posted;
    grant->cancelled_generation = grant->generation;
    step_leave_submit(&submitter->entered);
    step_light_fence(submitter->engine->fenced);
    if (step_look_asleep(&to->worker->sleeping) != 0) flat_engine_wake(&to->worker->sleeping, &to->woken);
    return FLAT_OK;
}

/* Wakes the thread that announced by `sleeping` that it sleeps. `*woken` is the last sleep that the caller woke it
 * from: it does so once, also if another thread has begun to, which might never come to it. At most one system call. */
NOINLINE void flat_engine_wake(uint64_t *sleeping, uint64_t *woken) {
    uint64_t number = step_look_asleep(sleeping), begun = number + (number & 1);
    if (begun == 0 || begun == *woken) return;
    if (begun != number) step_begin_wake(sleeping, number);
    flat_wake_sleepers(part_to_sleep_on(sleeping));
    *woken = begun;
}
