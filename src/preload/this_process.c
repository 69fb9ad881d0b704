#define _GNU_SOURCE
#include "this_process.h"

#include "clock_ticks.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>

this_process_page this_process;

/* Does what the kernel does, where it refuses to. */
static void forget(void) { __atomic_store_n(&this_process.image, 0, __ATOMIC_RELAXED); }

bool this_process_watch(void) {
    (void)pthread_atfork(NULL, NULL, forget); /* fails without memory: then the kernel alone does it */
    return madvise(&this_process, sizeof this_process, MADV_WIPEONFORK) == 0;
}

uint64_t this_process_name(void) {
    uint64_t none = 0;
    const uint64_t image = ticks_now() | 2; /* not NO_PROCESS */
    (void)__atomic_compare_exchange_n(&this_process.image, &none, image, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return none != 0 ? none : image;
}
