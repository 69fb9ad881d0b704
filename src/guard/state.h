/* Whether the calling thread is in a section, and whether it is watched there: iff `system_calls_selector` is set. Then
 * it is in a section, that one is past its warm-up, and the thread is not inside of something that has been reported
 * already. */
#ifndef FLATLINE_GUARD_STATE_H
#define FLATLINE_GUARD_STATE_H

#include "session.h"

#include "../preload/system_calls.h"
#include "../preload/this_process.h"

#include <pthread.h>
#include <stdbool.h>

#define GUARD_WARMED_SECTIONS 64u /* sections of one thread whose entries are counted */

typedef struct guard_warm_up {
    uint64_t section;
    uint32_t entries;
} guard_warm_up;

typedef struct guard_thread {
    uint32_t depth;     /* sections that it is in */
    uint64_t image;     /* the process in which it can be watched; NO_PROCESS: none */
    bool is_throwing;   /* from the throw of an exception, which is reported, to its handler */
    bool was_watched;   /* before fork */
    uint64_t section;   /* the outermost: the address that entered it, or GUARD_SECTION_NAMED and so on */
    uintptr_t frame;    /* the stack pointer behind that */
    uint64_t *entries;  /* in the session */
    uint64_t id;        /* as in the words of a violation */
    uint32_t name;      /* an entry of the session's table */
    void *fault_event;  /* its mapping, or NULL */
    int fault_file;     /* its descriptor; 0: the mapping alone keeps the event */
    bool counts_faults; /* the event was refused: the kernel's count of the thread's faults tells of a section's */
    bool is_counting;   /* from `fault_base` on, in addition to `fault_count` */
    uint64_t fault_base, fault_count;
    guard_warm_up warm_ups[GUARD_WARMED_SECTIONS];
} guard_thread;

extern LOCAL_TO_THREAD guard_thread guard_mine;

/* What this process can do. */
typedef struct guard_process {
    bool calls, faults; /* they can be told */
    uint32_t warm_up;
    void (*go_on_in_child)(void); /* the calling thread's section, in a child process that it is not armed in */
    pthread_key_t at_thread_end;  /* its value is `guard_mine` of a thread that has been armed */
} guard_process;
extern guard_process guard_self;

/* NULL: this process is not under `flatline guard`. Set before there is a second thread. */
extern guard_session *guard_shared;

/* Whether the thread can be watched in this process: not if it is the copy that a child process has of it. */
static inline bool guard_is_armed(void) { return __builtin_expect(guard_mine.image == this_process_image(), 1); }

static inline bool guard_watches(void) { return __builtin_expect(system_calls_selector != 0, 0); }

/* Where `counts_faults` is set: around what is watched, so that the faults of other things are not counted. */
void guard_count_faults(guard_thread *mine);
void guard_stop_counting(guard_thread *mine);

/* After something that has been reported: the thread was watched before it, and is again if still in a section. */
static inline void guard_resume(void) {
    if (guard_mine.depth == 0) return;
    if (__builtin_expect(guard_mine.counts_faults, 0)) guard_count_faults(&guard_mine);
    system_calls_watch();
}

/* Ends the process, since it cannot be guarded: `flatline guard` says why. */
_Noreturn void guard_refuse(guard_refusal why, const char *text);

#endif
