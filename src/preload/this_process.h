/* Which process this is, without a system call: a word in a page that the kernel empties in every child process that
 * has memory of its own. So a child is known that no handler of pthread_atfork has seen, as one made by the system call
 * clone or by _Fork: what it has copied from its parent is not its own. */
#ifndef FLATLINE_PRELOAD_THIS_PROCESS_H
#define FLATLINE_PRELOAD_THIS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
#define THIS_PROCESS_PAGE 4096
#else
#define THIS_PROCESS_PAGE 65536 /* the largest that Linux has on aarch64 */
#endif

typedef struct this_process_page {
    uint64_t image; /* 0: nothing has named this process yet */
    char rest[THIS_PROCESS_PAGE - sizeof(uint64_t)];
} __attribute__((aligned(THIS_PROCESS_PAGE))) this_process_page;
extern this_process_page this_process;

/* What no process has, for what belongs to none yet. */
#define NO_PROCESS UINT64_C(1)

/* Once in a program, before the first name. False iff the kernel, one before Linux 4.14, or a filter refuses: then only
 * the children are known that fork makes. */
bool this_process_watch(void);

/* Names the process by the clock: no two that have the same number, one after another, have the same name. By its only
 * thread, or the first of several. Returns the name. */
uint64_t this_process_name(void);

static inline uint64_t this_process_image(void) { return __atomic_load_n(&this_process.image, __ATOMIC_RELAXED); }

#endif
