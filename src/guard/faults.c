#define _GNU_SOURCE
#include "faults.h"

#include "violations.h"

#include "../preload/signals.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define BY_PERF 6                /* TRAP_PERF of asm-generic/siginfo.h */
#define PERF_DATA_AT 24          /* offset of si_perf_data in siginfo_t, which glibc does not name */
#define OURS 0x666c61746c696e65u /* sig_data: "flatline" */

static size_t page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

/* Where this library's own code is, whose faults are not the program's. */
static uintptr_t own_begin, own_end;

static uintptr_t place_of(const ucontext_t *context) {
#if defined(__x86_64__)
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#else
    return (uintptr_t)context->uc_mcontext.pc;
#endif
}

static bool is_ours(const siginfo_t *info) {
    uint64_t data;
    memcpy(&data, (const char *)info + PERF_DATA_AT, sizeof data);
    return info->si_code == BY_PERF && data == OURS;
}

static void on_trap(int number, siginfo_t *info, void *context) {
    const bool watched = guard_watches();
    if (!is_ours(info)) {
        system_calls_unwatch();
        signals_pass_on(number, info, context);
        if (watched) guard_resume();
        return;
    }
    const uintptr_t place = place_of(context);
    if (!watched || (place >= own_begin && place < own_end)) return;
    guard_tell(GUARD_PAGE_FAULT, 0, (const void *)place);
    guard_resume();
}

bool faults_prepare(void) {
    struct dl_find_object own;
    if (_dl_find_object((void *)(uintptr_t)on_trap, &own) != 0) return false;
    own_begin = (uintptr_t)own.dlfo_map_start;
    own_end = (uintptr_t)own.dlfo_map_end;
    return signals_keep(SIGTRAP, on_trap, system_calls_untold_return());
}

void faults_begin(guard_thread *mine) {
    struct perf_event_attr event = {.type = PERF_TYPE_SOFTWARE,
                                    .size = sizeof event,
                                    .config = PERF_COUNT_SW_PAGE_FAULTS,
                                    .sample_period = 1,
                                    .exclude_kernel = 1,
                                    .exclude_hv = 1,
                                    .sigtrap = 1,
                                    .remove_on_exec = 1,
                                    .sig_data = OURS};
    const int file = (int)syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (file < 0) {
        guard_shared->no_faults = (uint32_t)errno;
        mine->counts_faults = true;
        return;
    }
    void *mapping = mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapping == MAP_FAILED) {
        mine->fault_file = file;
        return;
    }
    mine->fault_event = mapping;
    (void)close(file);
}

void faults_end(guard_thread *mine) {
    if (mine->fault_event != NULL) (void)munmap(mine->fault_event, page_size());
    if (mine->fault_file != 0) (void)close(mine->fault_file);
    mine->fault_event = NULL;
    mine->fault_file = 0;
}

void faults_forget(guard_thread *mine) {
    mine->fault_event = NULL; /* the kernel does not hand the mapping on */
    faults_end(mine);
}
