#define _GNU_SOURCE
#include "sections.h"

#include "faults.h"
#include "violations.h"

#include "../preload/session_map.h"
#include "../preload/signals.h"
#include "../preload/stacks.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define NOINLINE __attribute__((noinline, cold))
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* Of this process. */
static struct {
    bool is_prepared, calls, faults; /* calls, faults: they can be told */
    uint32_t warm_up;
    pthread_key_t at_thread_end;
} process;

/* Whether the program handles a signal by which it is watched. */
static guard_refusal taken_signal(void) {
    if (process.calls && (signals_program_handles(SIGSYS) || !signals_are_kept(SIGSYS))) return GUARD_HANDLES_SIGSYS;
    if (process.faults && (signals_program_handles(SIGTRAP) || !signals_are_kept(SIGTRAP)))
        return GUARD_HANDLES_SIGTRAP;
    return GUARD_NOT_REFUSED;
}

static uint32_t name_of_thread(void) {
    char name[17] = "";
    if (prctl(PR_GET_NAME, name) != 0) name[0] = 0;
    return interned_put_text(&guard_shared->names, name);
}

/* What a thread needs once before it is watched: some 50 us. False: it cannot be, or need not. */
static NOINLINE bool arm(guard_thread *mine) {
    if (guard_shared == NULL) return false;
    const int before = errno;
    const guard_refusal why = taken_signal();
    if (why != GUARD_NOT_REFUSED) guard_refuse(why, NULL);
    if (!process.calls || !system_calls_arm()) guard_shared->no_system_calls = 1;
    if (process.faults) faults_begin(mine);
    if (mine->entries == NULL) {
        const uint32_t place = __atomic_fetch_add(&guard_shared->threads, 1, __ATOMIC_RELAXED);
        mine->entries = &guard_shared->entries[place < GUARD_THREADS ? place : GUARD_THREADS - 1];
    }
    mine->id = (uint64_t)getpid() << 32 | (uint64_t)syscall(SYS_gettid);
    mine->name = name_of_thread();
    (void)pthread_setspecific(process.at_thread_end, mine); /* else the thread's event stays until the process ends */
    mine->is_armed = true;
    errno = before;
    return true;
}

static void end_thread(void *thread) {
    guard_thread *mine = thread;
    guard_end(mine);
    faults_end(mine);
    mine->is_armed = false;
}

/* Whether this entry of the section is still one of its warm-up. */
static NOINLINE bool warms_up(guard_thread *mine, uint64_t section) {
    const uint64_t hash = section * 0x9e3779b97f4a7c15u >> 32;
    for (uint32_t i = 0; i < GUARD_WARMED_SECTIONS; i++) {
        guard_warm_up *of = &mine->warm_ups[(hash + i) % GUARD_WARMED_SECTIONS];
        if (of->section == 0) of->section = section;
        if (of->section == section) return of->entries < process.warm_up && ++of->entries != 0;
    }
    return false;
}

void guard_begin(guard_thread *mine, uint64_t section, uintptr_t frame) {
    mine->section = section;
    mine->frame = frame;
    if (UNLIKELY(!mine->is_armed) && !arm(mine)) return;
    ++*mine->entries;
    if (UNLIKELY(process.warm_up != 0) && warms_up(mine, section)) return;
    system_calls_watch();
}

/* The thread has come here before and not left since: it jumped over that, or the section never ends. */
static NOINLINE void enter_unleft(guard_thread *mine, uint64_t section, uintptr_t frame) {
    system_calls_unwatch();
    if (guard_shared != NULL) {
        (void)__atomic_fetch_add(&guard_shared->unleft, 1, __ATOMIC_RELAXED);
        guard_shared->unleft_section = frame_of(&guard_shared->names, (uintptr_t)section);
    }
    mine->depth = 1;
    guard_begin(mine, section, frame);
}

EXPORT void flat_guard_section_enter(void);
EXPORT void flat_guard_section_enter(void) {
    guard_thread *mine = &guard_mine;
    const uint64_t section = (uintptr_t)__builtin_return_address(0);
    const uintptr_t frame = (uintptr_t)__builtin_dwarf_cfa();
    if (mine->depth++ == 0)
        guard_begin(mine, section, frame);
    else if (UNLIKELY(mine->section == section && frame >= mine->frame))
        enter_unleft(mine, section, frame);
}

EXPORT void flat_guard_section_leave(void);
EXPORT void flat_guard_section_leave(void) {
    guard_thread *mine = &guard_mine;
    if (mine->depth != 0 && --mine->depth == 0) system_calls_unwatch();
}

/* The names in the header, for whoever looks them up. */
EXPORT void flat_guard_enter(void) __attribute__((alias("flat_guard_section_enter")));
EXPORT void flat_guard_leave(void) __attribute__((alias("flat_guard_section_leave")));

/* A fork in a section is one violation, and both processes go on in it. */
static void before_fork(void) {
    guard_thread *mine = &guard_mine;
    mine->was_watched = guard_watches();
    if (mine->was_watched) guard_tell(GUARD_SYSTEM_CALL, SYS_clone, __builtin_return_address(0));
}

static void after_fork(void) {
    if (guard_mine.was_watched) guard_resume();
}

static void in_child(void) {
    guard_thread *mine = &guard_mine;
    faults_forget(mine);
    mine->is_armed = false;
    if (mine->depth == 0 || !arm(mine)) return;
    (void)__atomic_fetch_add(&guard_shared->children, 1, __ATOMIC_RELAXED);
    after_fork();
}

__attribute__((constructor)) static void prepare(void) {
    if (process.is_prepared) return;
    process.is_prepared = true;
    guard_session *session = session_map(GUARD_VARIABLE, sizeof *session);
    if (session == NULL || pthread_key_create(&process.at_thread_end, end_thread) != 0) return;
    stacks_prepare();
    process.warm_up = session->warm_up;
    process.calls = violations_watch_system_calls();
    process.faults = faults_prepare();
    if (!process.calls) session->no_system_calls = 1;
    if (!process.faults) session->no_faults = EINVAL;
    if (pthread_atfork(before_fork, after_fork, in_child) != 0) return;
    (void)__atomic_fetch_add(&session->loads, 1, __ATOMIC_RELAXED);
    guard_shared = session;
}

/* A program may have set its handler after its last section: it has ended, but what was found is not the whole. */
__attribute__((destructor)) static void look_at_signals(void) {
    system_calls_unwatch();
    if (guard_shared == NULL || guard_shared->threads == 0) return;
    const guard_refusal why = taken_signal();
    if (why != GUARD_NOT_REFUSED) __atomic_store_n(&guard_shared->refusal, (uint32_t)why, __ATOMIC_RELEASE);
}
