/* A sandbox allows madvise only with MADV_DONTNEED. Argument: what other advice does: `refuse`: it fails with EPERM;
 * `kill`: it kills the process. Five threads allocate and resize all the same, and calloc returns zeros. */
#define _GNU_SOURCE
#include "wild.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { BLOCKS = 2000 };

static void filter(uint32_t action) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_DONTNEED, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, action),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        finish(NOT_HERE, "this system has no filters of system calls");
}

static void use_small(void) {
    static _Thread_local void *block[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++) {
        size_t size = i * 37 % 9000 + 1;
        memset(block[i] = filled(size), 1, size);
    }
    for (size_t i = 0; i < BLOCKS; i++) free(block[i]);
}

static void grow(void) {
    volatile char *block = malloc(2 * MIB);
    for (size_t size = 2 * MIB; size < 200 * MIB; size += 5 * MIB) {
        block = realloc((void *)block, size);
        if (block == NULL) finish(WRONG, "realloc to %zu bytes is NULL", size);
        block[size - 1] = 1;
    }
    free((void *)block);
}

static void require_zero(size_t size) {
    memset(filled(size), 1, 1);
    for (int i = 0; i < 20; i++) {
        char *block = calloc(1, size);
        if (block == NULL) finish(WRONG, "calloc of %zu bytes is NULL", size);
        for (size_t at = 0; at < size; at++) {
            if (block[at] != 0) finish(WRONG, "calloc of %zu bytes: byte %zu is not 0", size, at);
        }
        memset(block, 1, size);
        free(block);
    }
}

static void *work(void *unused) {
    for (int i = 0; i < 10; i++) use_small();
    grow();
    require_zero(1000);
    require_zero(300000);
    require_zero(3 * MIB);
    return unused;
}

int main(int count, char **arguments) {
    bool kills = count > 1 && strcmp(arguments[1], "kill") == 0;
    pthread_t threads[4];
    filter(kills ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM);
    for (size_t i = 0; i < 4; i++) {
        if (pthread_create(&threads[i], NULL, work, NULL) != 0) finish(WRONG, "a thread could not be made");
    }
    for (size_t i = 0; i < 4; i++) (void)pthread_join(threads[i], NULL);
    (void)malloc_trim(0);
    (void)work(NULL);
    return RIGHT;
}
