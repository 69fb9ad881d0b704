/* The steps of a submit. None of them has a loop. */
#ifndef FLATLINE_ENGINE_SUBMIT_STEPS_H
#define FLATLINE_ENGINE_SUBMIT_STEPS_H

#include "lane_grants.h"

ALWAYS_INLINE void pause_processor(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* What a descriptor needs of a task that is valid. */
typedef struct checked_task {
    flat_task_function *run;
    uint64_t deadline, start; /* ticks */
    size_t inline_bytes;      /* room for a payload in the descriptor */
    uint32_t type;
    uint8_t flags;
} checked_task;

static NOINLINE flat_status check_times(const flat_engine *engine, const flat_task *task, uint64_t now,
                                        checked_task *checked) {
    if (task->deadline_ns != 0) {
        checked->deadline = ticks_at_time(&engine->rate, task->deadline_ns);
        if (task->start_ns > task->deadline_ns) return FLAT_INVALID_ARGUMENT;
        if (checked->deadline <= now) return FLAT_DEADLINE_PAST;
        checked->flags |= HAS_DEADLINE;
        checked->inline_bytes -= sizeof(uint64_t);
    }
    if (task->start_ns != 0) {
        checked->start = ticks_at_time(&engine->rate, task->start_ns);
        if (checked->start > now && checked->start - now > engine->most_delay) return FLAT_INVALID_ARGUMENT;
        checked->flags |= HAS_START;
        checked->inline_bytes -= sizeof(uint64_t);
    }
    return FLAT_OK;
}

ALWAYS_INLINE flat_status check_task(const flat_engine *engine, const flat_task *task, uint64_t now,
                                     checked_task *checked) {
    if (UNLIKELY(task->run == NULL || task->urgency >= FLAT_ENGINE_URGENCIES || task->type >= FLAT_ENGINE_TASK_TYPES)) {
        return FLAT_INVALID_ARGUMENT;
    }
    checked->run = task->run;
    checked->type = task->type;
    checked->flags =
        (uint8_t)(task->urgency | (task->completion ? WANTS_COMPLETION : 0) | (task->always_run ? ALWAYS_RUN : 0));
    checked->inline_bytes = FLAT_ENGINE_INLINE_BYTES;
    if (LIKELY((task->deadline_ns | task->start_ns) == 0)) return FLAT_OK;
    return check_times(engine, task, now, checked);
}

/* From here to the end of the submit a drain waits for this submitter. FLAT_DRAINING: it came first. */
ALWAYS_INLINE flat_status begin_submit(flat_submitter *submitter) {
    const flat_engine *engine = submitter->engine;
    step_enter(&submitter->entered);
    step_light_fence(engine->fenced);
    if (LIKELY(step_look_at_state(&engine->state) < submitter->refused_from)) return FLAT_OK;
    step_leave_submit(&submitter->entered);
    return FLAT_DRAINING;
}

/* Fills in the next descriptor of the ring, except for what is specific to the payload. */
ALWAYS_INLINE task_descriptor *begin_descriptor(lane *to, const checked_task *checked, uint64_t now, size_t size,
                                                bool accounts) {
    task_descriptor *descriptor = &to->descriptors[to->at];
    descriptor->run = checked->run;
    descriptor->submitted = now;
    descriptor->size = (uint32_t)size;
    descriptor->flags = checked->flags;
    descriptor->type = (uint16_t)checked->type;
    descriptor->is_accounted = accounts;
    if (UNLIKELY((checked->flags & (HAS_DEADLINE | HAS_START)) != 0)) {
        if ((checked->flags & HAS_DEADLINE) != 0) *deadline_of(descriptor) = checked->deadline;
        if ((checked->flags & HAS_START) != 0) *start_of(descriptor) = checked->start;
    }
    return descriptor;
}

ALWAYS_INLINE void publish_descriptor(lane *to, task_descriptor *descriptor) {
    uint32_t at = to->at + 1, lap = to->lap;
    bool wraps = at == to->length;
    to->at = wraps ? 0 : at;
    to->lap = lap + (wraps ? 1 : 0);
    step_count_posted(&to->posted);
    step_publish(&descriptor->lap, lap);
}

ALWAYS_INLINE void publish_task(lane *to, task_descriptor *descriptor, const flat_task *task, uint32_t number,
                                bool accounts) {
    lane_grant *grant = &to->grants[number];
    grant->context = task->context;
    grant->size = descriptor->size;
    grant->state = GRANT_POSTED;
    descriptor->grant = (uint16_t)number;
    descriptor->size_class = grant->size_class;
    if (UNLIKELY(task->ticket != NULL)) *task->ticket = ticket_of(to->worker_number, number, grant->generation);
    if (accounts) flat_engine_account_sent(to, number, descriptor->type, descriptor->submitted);
    publish_descriptor(to, descriptor);
}

ALWAYS_INLINE void end_submit(flat_submitter *submitter, lane *to) {
    count_up(to->accepted, 1);
    step_leave_submit(&submitter->entered);
    step_light_fence(submitter->engine->fenced);
    uint64_t *sleeping = &to->worker->sleeping;
    if (UNLIKELY(step_look_asleep(sleeping) != 0)) flat_engine_wake(sleeping, &to->woken);
}

/* Counts a refusal, and returns it. */
static NOINLINE flat_status refuse_submit(flat_submitter *submitter, flat_status why) {
    flat_refusal reason = why == FLAT_NO_GRANT        ? FLAT_REFUSAL_NO_GRANT
                          : why == FLAT_RING_FULL     ? FLAT_REFUSAL_RING_FULL
                          : why == FLAT_DEADLINE_PAST ? FLAT_REFUSAL_DEADLINE_PAST
                          : why == FLAT_DRAINING      ? FLAT_REFUSAL_DRAINING
                                                      : FLAT_REFUSAL_INVALID;
    count_up(&submitter->statistics->refused[reason], 1);
    return why;
}

/* Copies up to FLAT_ENGINE_INLINE_BYTES bytes, without a loop: the first and the last bytes of each length, which may
 * overlap. */
ALWAYS_INLINE void copy_small(void *to, const void *from, size_t size) {
    typedef uint64_t pair __attribute__((vector_size(16), aligned(1), may_alias));
    typedef uint64_t word __attribute__((aligned(1), may_alias));
    typedef uint32_t half __attribute__((aligned(1), may_alias));
    char *into = to;
    const char *of = from;
    if (size >= sizeof(pair)) {
        pair first = *(const pair *)(const void *)of, last = *(const pair *)(const void *)(of + size - sizeof(pair));
        *(pair *)(void *)into = first;
        *(pair *)(void *)(into + size - sizeof(pair)) = last;
    } else if (size >= sizeof(word)) {
        word first = *(const word *)(const void *)of, last = *(const word *)(const void *)(of + size - sizeof(word));
        *(word *)(void *)into = first;
        *(word *)(void *)(into + size - sizeof(word)) = last;
    } else if (size >= sizeof(half)) {
        half first = *(const half *)(const void *)of, last = *(const half *)(const void *)(of + size - sizeof(half));
        *(half *)(void *)into = first;
        *(half *)(void *)(into + size - sizeof(half)) = last;
    } else if (size != 0) {
        char first = of[0], middle = of[size / 2], last = of[size - 1];
        into[0] = first;
        into[size / 2] = middle;
        into[size - 1] = last;
    }
}

#endif
