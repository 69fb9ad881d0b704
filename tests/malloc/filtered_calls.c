#define _GNU_SOURCE
#include "filtered_calls.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum which { ALL, ONLY, BUT };

/* A call is refused iff its third argument (advice, access, flags) is `value` (ONLY) or is not (BUT), or always (ALL).
 */
typedef struct filter {
    uint32_t call;
    enum which which;
    uint32_t value;
    uint32_t action;
} filter;

#define REFUSE(error) (SECCOMP_RET_ERRNO | (error))

const char *const filtered_calls_names[] = {
    "madvise_but_dontneed",       "madvise", "mremap", "mprotect", "mprotect_to_write", "populate", "populate_unknown",
    "madvise_but_dontneed_kills", NULL};
/* In the order of the names. A program executed under `mprotect` fails in the loader; `mprotect_to_write` allows what
 * the loader needs. */
static const filter filters[] = {
    {SYS_madvise, BUT, MADV_DONTNEED, REFUSE(EPERM)},
    {SYS_madvise, ALL, 0, REFUSE(EPERM)},
    {SYS_mremap, ALL, 0, REFUSE(EPERM)},
    {SYS_mprotect, ALL, 0, REFUSE(EACCES)},
    {SYS_mprotect, ONLY, PROT_READ | PROT_WRITE, REFUSE(EACCES)},
    {SYS_madvise, ONLY, MADV_POPULATE_WRITE, REFUSE(EPERM)},
    {SYS_madvise, ONLY, MADV_POPULATE_WRITE, REFUSE(EINVAL)}, /* as before Linux 5.14 */
    {SYS_madvise, BUT, MADV_DONTNEED, SECCOMP_RET_KILL_PROCESS},
};

static bool install(const filter *of) {
    bool by_value = of->which == ONLY;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, of->call, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, of->value, by_value ? 0 : 1, by_value ? 1 : 0),
        BPF_STMT(BPF_RET | BPF_K, of->action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    if (of->which == ALL) code[2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, of->action);
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool filtered_calls_install(const char *name) {
    size_t i = 0;
    while (filtered_calls_names[i] != NULL && strcmp(filtered_calls_names[i], name) != 0) i++;
    if (filtered_calls_names[i] == NULL) {
        fprintf(stderr, "there is no filter %s\n", name);
        return false;
    }
    if (install(&filters[i])) return true;
    fprintf(stderr, "seccomp: %s\n", strerror(errno));
    return false;
}
