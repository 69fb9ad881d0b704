#define _GNU_SOURCE
#include "writer.h"

#include "../preload/clock_ticks.h"
#include "../preload/session_map.h"
#include "../preload/signals.h"
#include "../preload/stacks.h"
#include "../preload/system_calls.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* of linux/mman.h since 5.14 */
#endif

#define RETRY 64u /* calls that are dropped between two searches for a segment */

LOCAL_TO_THREAD audit_writer audit_mine = {.image = NO_PROCESS};
audit_session *audit_shared;

/* Of this process. */
static struct {
    bool looked, dispatch;
    uint32_t program;
    pthread_key_t at_thread_end;
    bool has_key; /* without: the audit notices a thread's end when the process ends */
} process;

static void trouble(uint32_t what) { (void)__atomic_fetch_or(&audit_shared->trouble, what, __ATOMIC_RELAXED); }

static void note_end(int number) {
    if (number == SIGSYS) trouble(AUDIT_ENDS_BY_SIGSYS);
}

/* In a signal's handler, inside of a call. */
static void note_system_call(const system_call *call) {
    audit_writer *mine = &audit_mine;
    const uint64_t ticks = call->end != 0 ? call->end - call->begin : UINT64_MAX;
    if (mine->told == 0) mine->told = call->begin;
    if (audit_is_attached(mine))
        audit_put_detail(mine, AUDIT_SYSTEM_CALL, call->begin - mine->begin, (uint64_t)call->number, ticks);
}

static void close_segment(audit_writer *mine) {
    if (mine->segment != NULL) __atomic_store_n(&mine->segment->closed, 1, __ATOMIC_RELEASE);
    mine->segment = NULL;
    mine->next = mine->end = NULL;
}

/* The destructor of a thread-specific key. Other destructors and the C library still free memory behind it, the latter
 * with all signals blocked: system calls are not told there. */
static void end_thread(void *writer) {
    audit_writer *mine = writer;
    const int before = errno;
    if (audit_is_attached(mine)) {
        stack_cache_end(&mine->stacks);
        mine->watches = false;
        (void)prctl(PR_GET_NAME, mine->slot->name); /* fails for no address that can be written */
        __atomic_store_n(&mine->slot->state, AUDIT_SLOT_ENDING, __ATOMIC_RELEASE);
    }
    errno = before;
}

/* A child has its parent's memory, and with it a copy of where the parent writes. */
static void leave_parent(audit_writer *mine) {
    mine->image = NO_PROCESS;
    mine->segment = NULL;
    mine->next = mine->end = NULL;
    mine->until_retry = 0;
}

static int ascending(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void measure_empty_calls(uint32_t ticks[AUDIT_EMPTY_CALLS]) {
    for (uint32_t i = 0; i < AUDIT_EMPTY_CALLS; i++) {
        const uint64_t begin = ticks_now(), apart = ticks_now() - begin;
        ticks[i] = apart < UINT32_MAX ? (uint32_t)apart : UINT32_MAX;
    }
    qsort(ticks, AUDIT_EMPTY_CALLS, sizeof *ticks, ascending);
}

/* Touches fresh pages. The audit compares it with what the kernel tells of these faults: the rest of a fault lies
 * outside of the two moments at which it tells of it. */
static void measure_touch(audit_session *session) {
    enum { PAGES = 33 };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *start = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) return;
    (void)madvise(start, PAGES * page, MADV_NOHUGEPAGE); /* a kernel without huge pages refuses it */
    uint32_t ticks[PAGES];
    for (size_t i = 0; i < PAGES; i++) {
        volatile char *place = start + i * page;
        const uint64_t begin = ticks_now();
        *place = 1;
        ticks[i] = (uint32_t)(ticks_now() - begin);
    }
    qsort(ticks, PAGES, sizeof *ticks, ascending);
    session->touched_from = (uintptr_t)start;
    session->touched_to = (uintptr_t)start + PAGES * page;
    session->touch = ticks[PAGES / 2];
    (void)munmap(start, PAGES * page); /* its arguments are mmap's */
}

/* What is done once in a process. */
static void attach_process(void) {
    audit_session *session = session_map(AUDIT_SESSION_VARIABLE, sizeof *session);
    if (session == NULL || session->mark != AUDIT_SESSION_MARK) return;
    audit_shared = session;
    (void)this_process_watch();
    stacks_prepare();
    stack_cache_prepare();
    process.program = interned_put_text(&session->names, stacks_program());
    process.has_key = pthread_key_create(&process.at_thread_end, end_thread) == 0;
    const bool first = __atomic_fetch_add(&session->processes, 1, __ATOMIC_RELAXED) == 0;
    if (first) measure_empty_calls(session->empty_calls);
    if (first) measure_touch(session);
    if (session->tells_system_calls != 0) {
        process.dispatch = system_calls_prepare(NULL, note_system_call);
        signals_before_end = note_end;
        if (!process.dispatch) trouble(AUDIT_NO_DISPATCH);
        if (process.dispatch && first) session->told_cost = system_calls_cost();
    }
    if (first) __atomic_store_n(&session->measured, 1, __ATOMIC_RELEASE);
}

static audit_slot *take_slot(void) {
    for (uint32_t i = 0; i < AUDIT_THREADS; i++) {
        audit_slot *slot = &audit_shared->slots[i];
        uint32_t free_one = AUDIT_SLOT_FREE;
        if (__atomic_load_n(&slot->state, __ATOMIC_RELAXED) == AUDIT_SLOT_FREE &&
            __atomic_compare_exchange_n(&slot->state, &free_one, AUDIT_SLOT_TAKEN, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return slot;
    }
    trouble(AUDIT_NO_SLOT);
    return NULL;
}

/* "PROCESS/task/THREAD" */
static bool read_identity(const char *text, audit_slot *slot) {
    char *end = NULL;
    slot->process = (int32_t)strtol(text, &end, 10);
    if (slot->process <= 0 || strncmp(end, "/task/", 6) != 0) return false;
    slot->thread = (int32_t)strtol(end + 6, &end, 10);
    return slot->thread > 0 && *end == 0;
}

/* In a namespace of its own a process has other numbers than the audit knows it by, which /proc has if it is the
 * audit's. */
static void identify(audit_slot *slot) {
    struct stat proc;
    char text[64] = "";
    const bool has_proc = stat("/proc", &proc) == 0, is_audits = has_proc && proc.st_dev == audit_shared->proc;
    if (is_audits && readlink("/proc/thread-self", text, sizeof text - 1) > 0 && read_identity(text, slot)) return;
    const int32_t sign = !has_proc || is_audits ? 1 : -1;
    slot->process = sign * getpid();
    slot->thread = sign * (int32_t)syscall(SYS_gettid);
}

static void fill_slot(audit_slot *slot) {
    slot->serial = __atomic_add_fetch(&audit_shared->next_serial, 1, __ATOMIC_RELAXED);
    identify(slot);
    slot->calls = slot->dropped = 0;
    slot->segments = 0;
    slot->image = this_process_image();
    slot->program = process.program;
    (void)prctl(PR_GET_NAME, slot->name);
    __atomic_store_n(&slot->state, AUDIT_SLOT_LIVE, __ATOMIC_RELEASE);
}

/* System calls are told only as long as the kernel has this library's handler. A thread looks when it begins, and with
 * each segment. */
static bool is_told(void) {
    if (signals_are_kept(SIGSYS)) return true;
    trouble(AUDIT_SIGSYS_TAKEN);
    return false;
}

static bool can_watch(void) {
    if (!process.dispatch) return false;
    if (signals_program_handles(SIGSYS)) trouble(AUDIT_PROGRAM_HAS_SIGSYS);
    return is_told() && system_calls_arm();
}

static bool attach_thread(audit_writer *mine) {
    const uint64_t image = this_process_name();
    if (mine->image != NO_PROCESS) leave_parent(mine);
    audit_slot *slot = mine->until_retry == 0 ? take_slot() : NULL;
    if (slot == NULL) {
        mine->until_retry = mine->until_retry == 0 ? RETRY : mine->until_retry - 1;
        (void)__atomic_fetch_add(&audit_shared->unattached, 1, __ATOMIC_RELAXED);
        return false;
    }
    fill_slot(slot);
    mine->slot = slot;
    mine->begin = audit_shared->begin;
    mine->over = audit_shared->over;
    mine->attributes = audit_shared->attributes != 0;
    mine->counts = audit_shared->counts != 0 && !mine->attributes;
    mine->watches = can_watch();
    if (process.has_key) (void)pthread_setspecific(process.at_thread_end, mine);
    if (mine->stacks.entries == NULL) stack_cache_begin(&mine->stacks);
    if (mine->watches) system_calls_warm_up();
    if (mine->counts) audit_ask(mine, ticks_now());
    mine->told = 0;
    mine->image = image;
    return true;
}

bool audit_attach(audit_writer *mine) {
    const int before = errno;
    if (!process.looked && environ != NULL) { /* the loader allocates before there is an environment */
        process.looked = true;
        attach_process();
    }
    const bool attached = audit_shared != NULL && attach_thread(mine);
    errno = before;
    return attached;
}

/* Its pages are made resident at once, which is a tenth of what it costs one by one. A kernel before 5.14 refuses: then
 * they become so as they are written. */
static void make_resident(uint32_t number) {
    static uint64_t done[AUDIT_SEGMENTS / 64];
    const uint64_t bit = UINT64_C(1) << number % 64;
    if ((__atomic_fetch_or(&done[number / 64], bit, __ATOMIC_RELAXED) & bit) != 0) return;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)&audit_shared->segments[number];
    (void)madvise((void *)(start & ~(page - 1)), sizeof(audit_segment), MADV_POPULATE_WRITE);
}

bool audit_take_segment(audit_writer *mine) {
    close_segment(mine);
    if (mine->watches) mine->watches = is_told();
    if (mine->until_retry > 0) {
        mine->until_retry--;
        return false;
    }
    const uint32_t number = (uint32_t)(mine->slot - audit_shared->slots);
    const uint64_t owner = (uint64_t)mine->slot->segments << 32 | (number + 1);
    const uint32_t first = number * 5 % AUDIT_SEGMENTS; /* those that it has had are resident already */
    for (uint32_t i = 0; i < AUDIT_SEGMENTS; i++) {
        audit_segment *segment = &audit_shared->segments[(first + i) % AUDIT_SEGMENTS];
        uint64_t free_one = 0;
        if (__atomic_load_n(&segment->owner, __ATOMIC_RELAXED) != 0 ||
            !__atomic_compare_exchange_n(&segment->owner, &free_one, owner, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            continue;
        mine->slot->segments++;
        make_resident((uint32_t)(segment - audit_shared->segments));
        mine->segment = segment;
        mine->next = segment->records;
        mine->end = segment->records + AUDIT_SEGMENT_RECORDS;
        return true;
    }
    mine->until_retry = RETRY;
    return false;
}

typedef struct usage {
    uint64_t faults[2], switches[2];
} usage;

static usage usage_now(void) {
    struct rusage now;
    if (getrusage(RUSAGE_THREAD, &now) != 0) return (usage){{0}, {0}};
    return (usage){{(uint64_t)now.ru_minflt, (uint64_t)now.ru_majflt},
                   {(uint64_t)now.ru_nvcsw, (uint64_t)now.ru_nivcsw}};
}

void audit_ask(audit_writer *mine, uint64_t now) {
    const usage u = usage_now();
    memcpy(mine->faults, u.faults, sizeof mine->faults);
    memcpy(mine->switches, u.switches, sizeof mine->switches);
    mine->asked = now;
}

void audit_tell_asked(audit_writer *mine, uint64_t now) {
    const usage u = usage_now();
    const uint64_t time = now - mine->begin;
    audit_put_detail(mine, AUDIT_FAULTS, time, u.faults[0] - mine->faults[0], u.faults[1] - mine->faults[1]);
    audit_put_detail(mine, AUDIT_SWITCHES, time, u.switches[0] - mine->switches[0], u.switches[1] - mine->switches[1]);
    memcpy(mine->faults, u.faults, sizeof mine->faults);
    memcpy(mine->switches, u.switches, sizeof mine->switches);
    mine->asked = now;
}
