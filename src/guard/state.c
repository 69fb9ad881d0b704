#define _GNU_SOURCE
#include "state.h"

#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

LOCAL_TO_THREAD guard_thread guard_mine;
guard_session *guard_shared;
guard_process guard_self;

_Noreturn void guard_refuse(guard_refusal why, const char *text) {
    system_calls_unwatch();
    if (text != NULL) guard_shared->refused_text = interned_put_text(&guard_shared->names, text);
    __atomic_store_n(&guard_shared->refusal, (uint32_t)why, __ATOMIC_RELEASE);
    for (;;) (void)syscall(SYS_exit_group, 2);
}
