/* The memory that `flatline guard` and the program under guard share: what is to be watched, and what was found. It
 * belongs to `flatline guard`, so that the findings remain however the program ends. */
#ifndef FLATLINE_GUARD_SESSION_H
#define FLATLINE_GUARD_SESSION_H

#include "../preload/interned.h"

#include <stdint.h>

/* The environment variable with the path of the memory. */
#define GUARD_VARIABLE "FLATLINE_GUARD_SESSION"

#define GUARD_NAMED_SECTIONS 16u
#define GUARD_NAME_LENGTH 512u /* of a section's symbol, with its zero byte */
#define GUARD_SLOTS (1u << 16) /* different violations, about; those beyond are counted alone */
#define GUARD_THREADS 1024u    /* threads that have entered a section; those beyond share the last place */

/* In the order of the report. */
typedef enum guard_kind {
    GUARD_MALLOC,
    GUARD_FREE,
    GUARD_SYSTEM_CALL,
    GUARD_PAGE_FAULT,
    GUARD_LOCK_WAIT,
    GUARD_THREAD,
    GUARD_DLOPEN,
    GUARD_EXCEPTION,
    GUARD_KINDS
} guard_kind;

/* Why the program was ended, or should not have been guarded. */
typedef enum guard_refusal {
    GUARD_NOT_REFUSED,
    GUARD_HANDLES_SIGSYS,
    GUARD_HANDLES_SIGTRAP,
    GUARD_DEEP_BINDING,     /* `refused_text`: the library */
    GUARD_OTHER_NAMESPACE,  /* the same */
    GUARD_SECTION_UNMENDED, /* `refused_text`: the symbol, and why its entry cannot be changed */
} guard_refusal;

/* What tells the section in the words of a violation. */
#define GUARD_SECTION_NAMED (UINT64_C(1) << 62)    /* and its index; else the frame that entered it */
#define GUARD_SECTION_REALTIME (UINT64_C(1) << 61) /* a real-time thread between its waits */

/* The words of a violation, which is one entry of the table: its number stands in a slot. */
typedef enum guard_word {
    GUARD_WORD_KIND,    /* and above 8 bits the number of the system call */
    GUARD_WORD_THREAD,  /* its id, and above 32 bits its process's */
    GUARD_WORD_SECTION, /* see above */
    GUARD_WORD_STACK,   /* the number of its entry in the table; 0: there was no room */
    GUARD_WORD_NAME,    /* the thread's name: the number of its entry */
    GUARD_WORDS
} guard_word;

typedef struct guard_slot {
    uint32_t violation; /* 0: free. A slot is filled once */
    uint32_t spare;
    uint64_t count;
} guard_slot;

typedef struct guard_session {
    /* Set before the program starts. */
    uint32_t warm_up;  /* so many first entries of each section in each thread are not watched */
    uint32_t realtime; /* 1: real-time threads are in a section between their waits */
    uint32_t named_count;
    char named[GUARD_NAMED_SECTIONS][GUARD_NAME_LENGTH];
    /* Set by the program's processes. */
    uint32_t loads;           /* how often a process has loaded the library */
    uint32_t threads;         /* that have entered a section */
    uint32_t no_system_calls; /* 1: they could not be watched somewhere */
    uint32_t no_faults;       /* the error of perf_event_open where it was refused; 0: nowhere */
    uint32_t unrecorded;      /* violations for which there was no room */
    uint32_t unleft;          /* sections that were entered again without having been left */
    uint32_t unwatched; /* rests of sections that were not, behind a thread or process made without the C library */
    uint32_t unhooked;  /* calls of named sections that were not watched: too many threads at a time */
    uint32_t ends_by_sigsys; /* 1: a process was ended by a SIGSYS that was sent to it, and not by one of the guard's */
    uint32_t found_named;    /* a bit for each named section that was found */
    uint32_t refusal;        /* guard_refusal */
    uint32_t refused_text;   /* an entry of the table, or 0 */
    uint64_t unleft_section; /* one of them: a frame */
    uint64_t entries[GUARD_THREADS];
    guard_slot slots[GUARD_SLOTS];
    interned_table names;
} guard_session;

#endif
