/* A thread's side of the session: where it writes its records. All of it is called by the thread itself, neither waits
 * nor allocates, and leaves errno as it was. */
#ifndef FLATLINE_AUDIT_WRITER_H
#define FLATLINE_AUDIT_WRITER_H

#include "session.h"

#include "../preload/stack_cache.h"
#include "../preload/this_process.h"
#include "../preload/thread_local.h"

#include <stdbool.h>

typedef struct audit_writer {
    bool inside;     /* in a call that is being timed: calls within it are part of it */
    bool watches;    /* system calls are told */
    bool counts;     /* page faults and switches are asked for by getrusage */
    bool attributes; /* calls are not timed */
    uint64_t image;  /* the process in which `slot` is its own; NO_PROCESS: none is */
    audit_record *next, *end;
    audit_segment *segment;
    audit_slot *slot;
    uint32_t until_retry; /* calls to drop before a segment is looked for again */
    uint64_t begin, over; /* of the session */
    uint64_t told;        /* when the first system call in this call was told, while calls are not timed; 0: none */
    uint64_t asked;       /* when getrusage was asked last, in ticks */
    uint64_t faults[2], switches[2];
    stack_cache stacks;
} audit_writer;

extern LOCAL_TO_THREAD audit_writer audit_mine;
extern audit_session *audit_shared; /* NULL: this process is not under an audit, or not yet */

/* Whether the thread has a slot in this process: not if it is the copy that a child process has of it. */
static inline bool audit_is_attached(const audit_writer *mine) { return mine->image == this_process_image(); }

/* Makes the calling thread ready, and with its first thread the process. False: it is not under an audit, or there is
 * no slot; then the call is not recorded. To be called with `inside` set. */
bool audit_attach(audit_writer *mine);

/* Another segment. False: none is free, and the record is lost. */
bool audit_take_segment(audit_writer *mine);

/* Page faults and switches since they were asked for last, as details. `now`: ticks. */
void audit_ask(audit_writer *mine, uint64_t now);
void audit_tell_asked(audit_writer *mine, uint64_t now);

static inline bool audit_put(audit_writer *mine, const audit_record *record) {
    if (__builtin_expect(mine->next == mine->end, 0) && !audit_take_segment(mine)) return false;
    *mine->next++ = *record;
    __atomic_store_n(&mine->segment->count, (uint32_t)(mine->next - mine->segment->records), __ATOMIC_RELEASE);
    return true;
}

static inline void audit_put_detail(audit_writer *mine, uint64_t operation, uint64_t time, uint64_t first,
                                    uint64_t second) {
    const audit_record record = audit_record_of_detail(operation, time, first, second);
    (void)audit_put(mine, &record);
}

#endif
