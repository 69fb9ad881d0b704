#define _GNU_SOURCE
#include "locked.h"

#include <flatline/status.h>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool maps_locked; /* a child of fork() keeps it, though it locks nothing: it only maps less at once */

bool flat_maps_locked(void) { return __atomic_load_n(&maps_locked, __ATOMIC_RELAXED); }

static void set_maps_locked(bool to) { __atomic_store_n(&maps_locked, to, __ATOMIC_RELAXED); }

FLAT_API int mlockall(int flags) {
    if (syscall(SYS_mlockall, flags) != 0) return -1;
#if defined(MCL_ONFAULT)
    bool at_once = (flags & MCL_ONFAULT) == 0;
#else
    bool at_once = true;
#endif
    set_maps_locked((flags & MCL_FUTURE) != 0 && at_once);
    return 0;
}

FLAT_API int munlockall(void) {
    if (syscall(SYS_munlockall) != 0) return -1;
    set_maps_locked(false);
    return 0;
}
