#define _GNU_SOURCE
#include "state.h"

#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

LOCAL_TO_THREAD guard_thread guard_mine = {.image = NO_PROCESS};
guard_session *guard_shared;
guard_process guard_self;

static uint64_t faults_of_thread(void) {
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt : 0;
}

void guard_count_faults(guard_thread *mine) {
    mine->is_counting = true;
    mine->fault_base = faults_of_thread();
}

void guard_stop_counting(guard_thread *mine) {
    mine->is_counting = false;
    mine->fault_count += faults_of_thread() - mine->fault_base;
}

_Noreturn void guard_refuse(guard_refusal why, const char *text) {
    system_calls_unwatch();
    if (text != NULL) guard_shared->refused_text = interned_put_text(&guard_shared->names, text);
    __atomic_store_n(&guard_shared->refusal, (uint32_t)why, __ATOMIC_RELEASE);
    for (;;) (void)syscall(SYS_exit_group, 2);
}
