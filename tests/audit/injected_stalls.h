/* What injected_stalls.c and its allocator share: which stall the next call shall have, and how far it is. The memory
 * is shared with the process that stops the program. */
#ifndef FLATLINE_TEST_INJECTED_STALLS_H
#define FLATLINE_TEST_INJECTED_STALLS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum injected_kind {
    NOTHING,
    PAGE_FAULT,  /* the call touches fresh pages */
    SYSTEM_CALL, /* the call gives pages to the kernel and takes them back */
    LOCK,        /* the call waits for `lock`, which an assistant holds */
    PREEMPTED,   /* the call works until the assistant has taken the processor from it */
    BLOCKED,     /* the call works until the assistant has stopped the program and let it go on */
    OWN_WORK,    /* the call works */
    KINDS
};

/* Blocks of this size stall. */
#define INJECTED_SIZE 4000

typedef struct injected_stage {
    _Atomic enum injected_kind kind;
    atomic_int ready;  /* the number of the stall for which the assistant is ready */
    atomic_int inside; /* the number of the stall whose call has begun */
    atomic_int done;   /* the number of the stall for which the assistant has done its part */
    pthread_mutex_t lock;
} injected_stage;

/* Exported by the allocator. */
#define INJECTED_STAGE "injected_stage_of_malloc"
typedef injected_stage *injected_stage_function(void);

#endif
