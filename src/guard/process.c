/* The process under guard: its start, its forks, the ends of its threads, its own end. */
#define _GNU_SOURCE
#include "faults.h"
#include "named_sections.h"
#include "sections.h"
#include "violations.h"

#include "../preload/session_map.h"
#include "../preload/signals.h"
#include "../preload/stacks.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>

static void end_thread(void *thread) {
    guard_thread *mine = thread;
    system_calls_unwatch();
    if (!guard_is_armed()) guard_leave_parent(mine);
    mine->depth = 0;
    mine->is_counting = false;
    faults_end(mine);
    named_sections_end_thread();
    mine->image = NO_PROCESS;
}

/* A fork in a section is told like any system call, and both processes go on in it. */
static void before_fork(void) { guard_mine.was_watched = guard_watches(); }

static void in_child(void) {
    guard_thread *mine = &guard_mine;
    guard_leave_parent(mine);
    if (mine->depth == 0 || !guard_arm(mine)) return;
    if (mine->was_watched) guard_resume();
}

/* No handler of fork has seen this child: its section has gone on unwatched so far. */
static void go_on_in_child(void) {
    (void)guard_arm(&guard_mine);
    (void)__atomic_fetch_add(&guard_shared->unwatched, 1, __ATOMIC_RELAXED);
}

static void note_end(int number) {
    if (number == SIGSYS) guard_shared->ends_by_sigsys = 1;
}

__attribute__((constructor)) static void prepare(void) {
    static bool is_prepared;
    if (is_prepared) return;
    is_prepared = true;
    guard_session *session = session_map(GUARD_VARIABLE, sizeof *session);
    if (session == NULL || pthread_key_create(&guard_self.at_thread_end, end_thread) != 0) return;
    (void)this_process_watch();
    stacks_prepare();
    guard_self.warm_up = session->warm_up;
    guard_self.go_on_in_child = go_on_in_child;
    guard_self.calls = violations_watch_system_calls();
    guard_self.faults = faults_prepare();
    if (!guard_self.calls) session->no_system_calls = 1;
    if (!guard_self.faults) session->no_faults = EINVAL;
    if (pthread_atfork(before_fork, NULL, in_child) != 0) return;
    (void)__atomic_fetch_add(&session->loads, 1, __ATOMIC_RELAXED);
    guard_shared = session;
    signals_before_end = note_end;
    named_sections_look();
}

/* A program may have set its handler after its last section: it has ended, but what was found is not the whole. */
__attribute__((destructor)) static void look_at_signals(void) {
    system_calls_unwatch();
    if (guard_shared == NULL || guard_shared->threads == 0) return;
    const guard_refusal why = guard_taken_signal();
    if (why != GUARD_NOT_REFUSED) __atomic_store_n(&guard_shared->refusal, (uint32_t)why, __ATOMIC_RELEASE);
}
