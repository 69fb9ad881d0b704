#define _GNU_SOURCE
#include "violations.h"

#include "../core/compiler.h"
#include "../preload/stacks.h"
#include "../preload/system_calls.h"

#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>

#define PROBES 256u
#define FUTEX_LOCK_PI_OF_CLOCK 13 /* FUTEX_LOCK_PI2 of Linux 5.14 */

static void count(guard_session *session, uint32_t violation, uint64_t times) {
    for (uint32_t i = 0; i < PROBES && violation != 0; i++) {
        guard_slot *slot = &session->slots[(violation * 2654435761u + i) % GUARD_SLOTS];
        uint32_t there = 0;
        if (__atomic_compare_exchange_n(&slot->violation, &there, violation, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED) ||
            there == violation) {
            (void)__atomic_fetch_add(&slot->count, times, __ATOMIC_RELAXED);
            return;
        }
    }
    (void)__atomic_fetch_add(&session->unrecorded, 1, __ATOMIC_RELAXED);
}

static uint64_t section_word(guard_session *session, uint64_t section) {
    const bool has_place = (section & (GUARD_SECTION_NAMED | GUARD_SECTION_REALTIME)) == 0;
    return has_place ? frame_of(&session->names, (uintptr_t)section) : section;
}

static void record(guard_kind kind, long number, const void *innermost, uint64_t times) {
    guard_session *session = guard_shared;
    const guard_thread *mine = &guard_mine;
    const uint64_t words[GUARD_WORDS] = {
        [GUARD_WORD_KIND] = (uint64_t)kind | (uint64_t)number << 8,
        [GUARD_WORD_THREAD] = mine->id,
        [GUARD_WORD_SECTION] = section_word(session, mine->section),
        [GUARD_WORD_STACK] = stack_of(&session->names, innermost),
        [GUARD_WORD_NAME] = mine->name,
    };
    count(session, interned_put(&session->names, words, GUARD_WORDS), times);
}

void guard_tell(guard_kind kind, long number, const void *innermost) {
    system_calls_unwatch();
    if (UNLIKELY(!guard_is_armed())) guard_self.go_on_in_child();
    if (guard_mine.is_counting) guard_stop_counting(&guard_mine);
    record(kind, number, innermost, 1);
}

void guard_end(guard_thread *mine, const void *innermost) {
    system_calls_unwatch();
    mine->depth = 0;
    if (LIKELY(!mine->counts_faults) || !guard_is_armed()) return;
    if (mine->is_counting) guard_stop_counting(mine);
    if (mine->fault_count != 0) record(GUARD_PAGE_FAULT, 0, innermost, mine->fault_count);
    mine->fault_count = 0;
}

static bool waits_for_lock(const system_call *call) {
    if (call->number != SYS_futex) return false;
    const long operation = call->arguments[1] & FUTEX_CMD_MASK;
    return operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET || operation == FUTEX_LOCK_PI ||
           operation == FUTEX_LOCK_PI_OF_CLOCK || operation == FUTEX_WAIT_REQUEUE_PI;
}

/* Whether it is a wait that no C function made, by a real-time thread that may wait: see waits.c. */
static bool is_allowed_wait(const system_call *call) {
    if (guard_mine.section != GUARD_SECTION_REALTIME) return false;
    switch (call->number) {
#if defined(__x86_64__)
    case SYS_poll:
    case SYS_select:
    case SYS_epoll_wait:
#endif
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_ppoll:
    case SYS_pselect6:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2: return true;
    default: return false;
    }
}

/* The return of a signal's handler is the kernel's affair, and no call of the program's. */
static void before_call(const system_call *call) {
    if (call->number == SYS_rt_sigreturn || is_allowed_wait(call)) return;
    guard_tell(waits_for_lock(call) ? GUARD_LOCK_WAIT : GUARD_SYSTEM_CALL, call->number, call->place);
}

static void after_call(const system_call *call) {
    if (call->end == 0 && !system_calls_go_on(call))
        (void)__atomic_fetch_add(&guard_shared->unwatched, 1, __ATOMIC_RELAXED);
    else if (guard_mine.counts_faults)
        guard_count_faults(&guard_mine);
}

bool violations_watch_system_calls(void) { return system_calls_prepare(before_call, after_call); }
