#define _GNU_SOURCE
#include "sections.h"

#include "faults.h"
#include "violations.h"

#include "../core/compiler.h"
#include "../preload/signals.h"
#include "../preload/stacks.h"

#include <errno.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

guard_refusal guard_taken_signal(void) {
    if (guard_self.calls && (signals_program_handles(SIGSYS) || !signals_are_kept(SIGSYS))) return GUARD_HANDLES_SIGSYS;
    if (guard_self.faults && (signals_program_handles(SIGTRAP) || !signals_are_kept(SIGTRAP)))
        return GUARD_HANDLES_SIGTRAP;
    return GUARD_NOT_REFUSED;
}

static uint32_t name_of_thread(void) {
    char name[17] = "";
    if (prctl(PR_GET_NAME, name) != 0) name[0] = 0;
    return interned_put_text(&guard_shared->names, name);
}

void guard_leave_parent(guard_thread *mine) {
    faults_forget(mine);
    mine->counts_faults = mine->is_counting = false;
    mine->fault_count = 0;
    mine->entries = NULL;
    mine->image = NO_PROCESS;
}

NOINLINE bool guard_arm(guard_thread *mine) {
    if (guard_shared == NULL) return false;
    const int before = errno;
    const uint64_t image = this_process_name();
    if (mine->image != NO_PROCESS) guard_leave_parent(mine);
    const guard_refusal why = guard_taken_signal();
    if (why != GUARD_NOT_REFUSED) guard_refuse(why, NULL);
    signals_unblock();
    if (!guard_self.calls || !system_calls_arm()) guard_shared->no_system_calls = 1;
    if (guard_self.faults) faults_begin(mine);
    if (mine->entries == NULL) {
        const uint32_t place = __atomic_fetch_add(&guard_shared->threads, 1, __ATOMIC_RELAXED);
        mine->entries = &guard_shared->entries[place < GUARD_THREADS ? place : GUARD_THREADS - 1];
    }
    mine->id = (uint64_t)getpid() << 32 | (uint64_t)syscall(SYS_gettid);
    mine->name = name_of_thread();
    (void)pthread_setspecific(guard_self.at_thread_end,
                              mine); /* else the thread's event stays until the process ends */
    mine->image = image;
    errno = before;
    return true;
}

/* Whether this entry of the section is still one of its warm-up. */
static NOINLINE bool warms_up(guard_thread *mine, uint64_t section) {
    const uint64_t hash = section * 0x9e3779b97f4a7c15u >> 32;
    for (uint32_t i = 0; i < GUARD_WARMED_SECTIONS; i++) {
        guard_warm_up *of = &mine->warm_ups[(hash + i) % GUARD_WARMED_SECTIONS];
        if (of->section == 0) of->section = section;
        if (of->section == section) return of->entries < guard_self.warm_up && ++of->entries != 0;
    }
    return false;
}

void guard_begin(guard_thread *mine, uint64_t section, uintptr_t frame) {
    mine->section = section;
    mine->frame = frame;
    if (UNLIKELY(!guard_is_armed()) && !guard_arm(mine)) return;
    ++*mine->entries;
    if (UNLIKELY(guard_self.warm_up != 0) && warms_up(mine, section)) return;
    if (UNLIKELY(mine->counts_faults)) guard_count_faults(mine);
    system_calls_watch();
}

/* The thread has come here before and not left since: it jumped over that, or the section never ends. */
static NOINLINE void enter_unleft(guard_thread *mine, uint64_t section, uintptr_t frame) {
    guard_end(mine, (const void *)(uintptr_t)section);
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
    if (mine->depth != 0 && --mine->depth == 0) guard_end(mine, __builtin_return_address(0));
}

/* The names in the header, for whoever looks them up. */
EXPORT void flat_guard_enter(void) __attribute__((alias("flat_guard_section_enter")));
EXPORT void flat_guard_leave(void) __attribute__((alias("flat_guard_section_leave")));
