/* The memory that the audit and the programs under it share: a file in memory that the audit creates. Programs write
 * records into segments, the audit takes them out, and neither ever waits for the other.
 *
 * A thread owns a slot, and the segment that it writes to. When that is full it takes a free one; when none is free,
 * its calls are dropped and counted. calls == records of calls that were written + dropped, for each slot. */
#ifndef FLATLINE_AUDIT_SESSION_H
#define FLATLINE_AUDIT_SESSION_H

#include "../preload/interned.h"
#include "record.h"

#define AUDIT_SESSION_VARIABLE "FLATLINE_AUDIT_SESSION" /* the file's path, below /proc */
#define AUDIT_SESSION_MARK UINT64_C(0x3374696475612d66) /* "f-audit3", so of this layout */

#define AUDIT_SEGMENT_RECORDS 2728u /* so that a segment has 64 KiB */
#define AUDIT_SEGMENTS 640u         /* 40 MiB, of which only what was used is resident */
#define AUDIT_THREADS 4096u         /* that are alive at a time */
#define AUDIT_EMPTY_CALLS 1024u     /* of which the floor is made: two readings of the clock and nothing between them */
#define AUDIT_NAME_BYTES 16u        /* of a thread, by Linux */

/* `owner` is 0 while it is free; then the owner's slot and 1, and above 32 bits which of its segments this is. The
 * thread that owns it appends, and publishes `count` behind the record. Only the audit frees it. */
typedef struct audit_segment {
    uint64_t owner;
    uint32_t count;
    uint32_t closed; /* 1: no record will follow */
    uint64_t unused[6];
    audit_record records[AUDIT_SEGMENT_RECORDS];
} audit_segment;

/* Ending: its destructors have run, or do so. The C library frees some memory of a thread still later, so that the
 * audit calls it ended only once the kernel does not know it any more. */
enum audit_slot_state { AUDIT_SLOT_FREE = 0, AUDIT_SLOT_TAKEN, AUDIT_SLOT_LIVE, AUDIT_SLOT_ENDING, AUDIT_SLOT_ENDED };

/* Of a thread. Written by it; the audit frees it once it has ended and all its segments are read.
 *
 * The process and the thread are as the audit knows them. In a container with a /proc of its own a thread knows only
 * what they are called there: then they are negative, and the audit never looks for them. */
typedef struct audit_slot {
    uint32_t state, serial; /* the serial number is used once in a session */
    int32_t process, thread;
    uint64_t calls, dropped;
    uint64_t image;    /* of the process: changes when it executes another program */
    uint32_t program;  /* its path, among the interned texts */
    uint32_t segments; /* that it has taken */
    char name[AUDIT_NAME_BYTES];
} audit_slot;

/* While calls are only attributed, each has a word on its stack by which a page fault within it finds the place: this
 * mark in the upper 36 bits, the operation in 8, the stack in 20. It is 0 once the call has ended. */
#define AUDIT_WITHIN_MARK UINT64_C(0xf1a71e5a1)
#define AUDIT_WITHIN_BITS (AUDIT_OPERATION_BITS + AUDIT_STACK_BITS)

static inline uint64_t audit_within(uint64_t operation, uint64_t stack) {
    return AUDIT_WITHIN_MARK << AUDIT_WITHIN_BITS | operation << AUDIT_STACK_BITS | stack;
}

/* What could not be done in some process, for the report. */
enum audit_trouble {
    AUDIT_NO_DISPATCH = 1,        /* the kernel or a filter refuses Syscall User Dispatch */
    AUDIT_PROGRAM_HAS_SIGSYS = 2, /* the program handles SIGSYS itself, through this library's handler */
    AUDIT_SIGSYS_TAKEN = 4,    /* the program took SIGSYS by a system call: system calls are not told from there on */
    AUDIT_NO_SLOT = 8,         /* more threads at a time than slots */
    AUDIT_ENDS_BY_SIGSYS = 16, /* a process was ended by a SIGSYS that was sent to it, and not by one of the audit's */
};

typedef struct audit_session {
    uint64_t mark, begin;        /* ticks */
    uint64_t proc;               /* the audit's /proc: its device */
    uint64_t over;               /* ticks from which a call is slow: its stack must be right */
    uint32_t tells_system_calls; /* the audit asks for them */
    uint32_t counts;             /* getrusage is asked around slow calls, since perf is refused */
    uint32_t attributes;         /* no call is timed or recorded, but those in which a system call is told */
    uint32_t next_serial, trouble;
    uint64_t touched_from, touched_to; /* where the first process has touched fresh pages, one by one */
    uint64_t touch;                    /* the median of what that took, in ticks */
    uint64_t told_cost; /* ticks that a call loses for each system call that is told; measured by the first process */
    uint32_t empty_calls[AUDIT_EMPTY_CALLS]; /* ticks of such a call each, in the first process, ascending */
    uint64_t measured;                       /* 1: those above are */
    uint64_t processes;                      /* that have attached */
    uint64_t unattached;                     /* calls of threads that have found no slot */
    audit_slot slots[AUDIT_THREADS];
    interned_table names;
    audit_segment segments[AUDIT_SEGMENTS];
} audit_session;

#endif
