#define _GNU_SOURCE
#include "thread.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void *begin(void *argument) {
    const hosted_thread *thread = argument;
    thread->run(thread->argument);
    return NULL;
}

/* More than any kernel supports: Linux is configured for 8,192 at most. A set of them has 8 KiB. */
#define MOST_PROCESSORS (1 << 16)

/* Sets the processor of a thread to be made. A set of the size that the number needs, since a machine may have more
 * processors than cpu_set_t. */
static int choose_processor(pthread_attr_t *attributes, int processor) {
    if (processor >= MOST_PROCESSORS) return EINVAL;
    size_t count = (size_t)processor + 1, size = CPU_ALLOC_SIZE(count);
    cpu_set_t *set = CPU_ALLOC(count);
    if (set == NULL) return ENOMEM;
    CPU_ZERO_S(size, set);
    CPU_SET_S((size_t)processor, size, set);
    int error = pthread_attr_setaffinity_np(attributes, size, set);
    CPU_FREE(set);
    return error;
}

int flat_thread_begin(hosted_thread *thread, void (*run)(void *), void *argument, void *stack, size_t stack_size,
                      int processor) {
    pthread_attr_t attributes;
    pthread_t handle;
    sigset_t all, before;
    thread->run = run;
    thread->argument = argument;
    int error = pthread_attr_init(&attributes);
    if (error != 0) return error;
    error = pthread_attr_setstack(&attributes, stack, stack_size);
    if (error == 0 && processor >= 0) error = choose_processor(&attributes, processor);
    if (error == 0) {
        (void)sigfillset(&all);
        error = pthread_sigmask(SIG_SETMASK, &all, &before);
    }
    if (error == 0) {
        error = pthread_create(&handle, &attributes, begin, thread);
        if (pthread_sigmask(SIG_SETMASK, &before, NULL) != 0) abort(); /* it cannot fail: the mask was this one */
    }
    (void)pthread_attr_destroy(&attributes);
    if (error == 0) thread->handle = (uintptr_t)handle;
    return error;
}

void flat_thread_join(hosted_thread *thread) {
    if (pthread_join((pthread_t)thread->handle, NULL) != 0) abort(); /* not a thread: memory is overwritten */
}

/* When a thread of this process began, as an identity has it: field 22 of its stat file, whose second field is a name
 * in parentheses that may hold anything. 0: the system does not say. */
static uint64_t start_of_thread(uint32_t number) {
    char path[64], text[1024];
    (void)snprintf(path, sizeof path, "/proc/self/task/%u/stat", number);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t length = read(file, text, sizeof text - 1);
    (void)close(file); /* it was only read */
    if (length <= 0) return 0;
    text[length] = '\0';
    char *at = strrchr(text, ')');
    for (int field = 2; at != NULL && field < 22; field++) at = strchr(at + 1, ' ');
    return at == NULL ? 0 : strtoull(at + 1, NULL, 10) & (((uint64_t)1 << THREAD_START_BITS) - 1);
}

uint32_t flat_thread_number(void) { return (uint32_t)gettid(); }

thread_identity flat_thread_self(void) {
    uint32_t number = flat_thread_number();
    return start_of_thread(number) << THREAD_NUMBER_BITS | number;
}

static bool is_in_proc(uint32_t number) {
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/task/%u", number);
    return access(path, F_OK) == 0;
}

/* Whether /proc has no such thread, while it has this one, by the number that this one knows itself by: /proc may be
 * missing, refused, or that of another namespace of numbers. No file is opened: there may be too many. */
static bool is_missing_in_proc(uint32_t number) {
    char own[64], seen[64] = "";
    if (is_in_proc(number) || errno != ENOENT) return false;
    (void)snprintf(own, sizeof own, "%d/task/%d", getpid(), gettid());
    return readlink("/proc/thread-self", seen, sizeof seen - 1) > 0 && strcmp(seen, own) == 0 &&
           is_in_proc(flat_thread_number());
}

bool flat_thread_has_ended(thread_identity thread) {
    uint32_t number = number_of_thread(thread);
    uint64_t began = thread >> THREAD_NUMBER_BITS;
    if (syscall(SYS_tgkill, getpid(), number, 0) != 0) {
        if (errno == ESRCH || is_missing_in_proc(number)) return true; /* a filter may refuse signals */
    }
    if (began == 0) return false;
    uint64_t began_now = start_of_thread(number);
    return began_now != 0 && began_now != began;
}

void flat_thread_yield(void) { (void)sched_yield(); }

size_t flat_usable_processors(void) {
    cpu_set_t usable;
    if (sched_getaffinity(0, sizeof usable, &usable) == 0) return (size_t)CPU_COUNT(&usable);
    long count = sysconf(_SC_NPROCESSORS_ONLN); /* there are more than cpu_set_t holds */
    return count > 0 ? (size_t)count : 1;
}

void flat_sleep_while(const uint32_t *word, uint32_t value, uint64_t within_ns) {
    struct timespec within = {.tv_sec = (time_t)(within_ns / 1000000000u), .tv_nsec = (long)(within_ns % 1000000000u)};
    /* Whatever ends it, a wake, the time, a signal or another value, the caller looks again. */
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, within_ns == SLEEP_FOR_EVER ? NULL : &within, NULL, 0);
}

void flat_wake_sleepers(const uint32_t *word) {
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0); /* it fails only for a bad address */
}

static long barrier(int command) { return syscall(SYS_membarrier, command, 0, 0); }

bool flat_can_fence_all(void) {
    long known = barrier(MEMBARRIER_CMD_QUERY);
    if (known < 0 || (known & MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) return false;
    return barrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 && barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
}

bool flat_fence_all(void) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
}
