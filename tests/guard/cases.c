/* Programs that a guard treats in ways of its own, by the first argument. */
#define _GNU_SOURCE
#include <flatline/guard.h>

#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *volatile kept;
static jmp_buf behind;
static volatile sig_atomic_t struck;

static void allocate(void) {
    kept = malloc(100);
    free(kept);
}

static void section(void) {
    flat_guard_enter();
    allocate();
    flat_guard_leave();
}

static void strike(int number) {
    (void)number;
    struck = 1;
}

/* The section's own rest is watched behind a handler. */
static void be_struck_in_section(void) {
    const struct itimerval often = {.it_value.tv_usec = 1000, .it_interval.tv_usec = 1000}, never = {0};
    (void)signal(SIGALRM, strike);
    (void)setitimer(ITIMER_REAL, &often, NULL);
    flat_guard_enter();
    struck = 0;
    while (struck == 0) {
    }
    (void)getpid();
    flat_guard_leave();
    (void)setitimer(ITIMER_REAL, &never, NULL);
}

static void fork_in_section(void) {
    int status = 1;
    flat_guard_enter();
    const pid_t child = fork();
    allocate();
    if (child == 0) _exit(7);
    flat_guard_leave();
    if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7) abort();
}

/* No handler of pthread_atfork sees the child. Then `again`, the child enters a section of its own. */
static void clone_in_section(bool again) {
    int status = 1;
    flat_guard_enter();
    const pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0 && again) {
        flat_guard_leave();
        flat_guard_enter();
    }
    allocate();
    (void)getppid();
    flat_guard_leave();
    if (child == 0) _exit(7);
    if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7) abort();
}

/* Each of them starts a process: the section is watched behind them. */
static void spawn_in_section(void) {
    char *const words[] = {(char *)"true", NULL};
    pid_t child = 0;
    flat_guard_enter();
    if (posix_spawnp(&child, "true", NULL, NULL, words, NULL) != 0) abort();
    allocate();
    (void)getpid();
    flat_guard_leave();
    if (waitpid(child, NULL, 0) != child) abort();
    flat_guard_enter();
    child = vfork();
    if (child == 0) _exit(0);
    (void)getppid();
    flat_guard_leave();
    if (waitpid(child, NULL, 0) != child) abort();
}

static void use_alternate_stack(void) {
    static char room[1 << 15];
    const stack_t stack = {.ss_sp = room, .ss_size = sizeof room}, none = {.ss_flags = SS_DISABLE};
    stack_t now;
    flat_guard_enter();
    (void)sigaltstack(&stack, NULL);
    (void)getppid();
    (void)sigaltstack(NULL, &now);
    flat_guard_leave();
    if (now.ss_sp != room || sigaltstack(&none, NULL) != 0) abort();
}

static void jump_in_section(void) {
    flat_guard_enter();
    longjmp(behind, 1);
}

static void leave_by_jump(void) {
    if (setjmp(behind) == 0) jump_in_section();
}

static void handle(int number) {
    (void)signal(number, strike);
    section();
    puts("unreachable");
}

/* Past the C library. */
static void call_kernel(long number, long a, const void *b, void *c, long d) {
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d;
    __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
    if (number != 0) abort();
#else
    if (syscall(number, a, b, c, d) != 0) abort();
#endif
}

static void call_in_section(void) {
    flat_guard_enter();
    (void)getppid();
    flat_guard_leave();
}

static void take_signal(void) {
    const uint64_t by_default[4] = {0};
    call_in_section();
    call_kernel(SYS_rt_sigaction, SIGSYS, by_default, NULL, 8);
    call_in_section();
}

static void block_signal(void) {
    const uint64_t all = UINT64_MAX;
    call_in_section();
    call_kernel(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, sizeof all);
    call_in_section();
}

static void call_in_handler(int number) {
    strike(number);
    call_in_section();
}

/* The handler runs with all other signals blocked, each time. */
static void wait_with_a_mask(void) {
    struct sigaction action = {.sa_handler = call_in_handler};
    struct pollfd file = {.fd = -1};
    const struct timespec long_time = {.tv_sec = 10};
    struct epoll_event event;
    sigset_t only, mask;
    const int set = epoll_create1(0);
    (void)sigemptyset(&only), (void)sigaddset(&only, SIGUSR1), (void)sigfillset(&mask), (void)sigdelset(&mask, SIGUSR1);
    if (sigaction(SIGUSR1, &action, NULL) != 0) abort();
    call_in_section(); /* the first one unblocks what a thread has inherited blocked */
    for (int i = 0; i < 5; i++) {
        struck = 0;
        if (sigprocmask(SIG_BLOCK, &only, NULL) != 0 || raise(SIGUSR1) != 0 || struck != 0) abort();
        (void)(i == 0   ? sigsuspend(&mask)
               : i == 1 ? ppoll(&file, 0, &long_time, &mask)
               : i == 2 ? pselect(0, NULL, NULL, NULL, &long_time, &mask)
               : i == 3 ? epoll_pwait(set, &event, 1, 10000, &mask)
                        : epoll_pwait2(set, &event, 1, &long_time, &mask));
        if (struck == 0) abort();
    }
}

/* Under a filter that refuses perf_event_open, or the prctl of Syscall User Dispatch, goes on as another program. */
static int run_without(const char *what, char **words) {
    const int call = strcmp(what, "perf") == 0 ? SYS_perf_event_open : SYS_prctl;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 59, 0, call == SYS_prctl ? 1 : 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return 9;
    return execv(words[0], (char *[]){words[0], words[3], NULL});
}

static __attribute__((noinline)) void touch(volatile char *pages, int first, int end) {
    for (int i = first; i < end; i++) pages[4096 * i] = 1;
}

/* Twice, since the first time is the warm-up. */
static int touch_in_section(void) {
    for (int i = 0; i < 2; i++) {
        volatile char *fresh = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        flat_guard_enter();
        touch(fresh, 0, 7);
        (void)getpid();
        touch(fresh, 10, 13);
        flat_guard_leave();
    }
    return 0;
}

static void work(void) { kept = malloc(100); }

static void set_up(void) { free(malloc(200)); }

static void wait_a_moment(void) { (void)nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL); }

/* Its set-up, before the first wait, is no section, nor is the wait. */
static void *be_periodic(void *semaphore) {
    set_up();
    wait_a_moment();
    for (int i = 0; i < 3; i++) {
        struct timespec until;
        work();
        (void)clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec = (until.tv_nsec + 1000000) % 1000000000;
        until.tv_sec += until.tv_nsec < 1000000;
        (void)sem_timedwait(semaphore, &until);
        wait_a_moment();
    }
    return NULL;
}

/* The real-time policy may be refused: then the test is skipped. */
static int run_realtime(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    sem_t semaphore;
    (void)sem_init(&semaphore, 0, 0);
    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    (void)pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    (void)pthread_attr_setschedparam(&attributes, &(struct sched_param){.sched_priority = 1});
    if (pthread_create(&thread, &attributes, be_periodic, &semaphore) != 0) return 77;
    (void)pthread_join(thread, NULL);
    set_up();
    wait_a_moment();
    set_up();
    return 0;
}

static int run(const char *how, char **words) {
    if (strcmp(how, "nothing") == 0) return 3;
    if (strcmp(how, "section") == 0) return section(), 4;
    if (strcmp(how, "sigsys") == 0) handle(SIGSYS);
    if (strcmp(how, "sigtrap") == 0) handle(SIGTRAP);
    if (strcmp(how, "sigsys-late") == 0) return section(), (void)signal(SIGSYS, strike), 0;
    if (strcmp(how, "sigsys-taken") == 0) take_signal();
    if (strcmp(how, "sigsys-blocked") == 0) block_signal();
    if (strcmp(how, "sigsys-sent") == 0) return section(), raise(SIGSYS);
    if (strcmp(how, "masked") == 0) wait_with_a_mask();
    if (strcmp(how, "apart") == 0) return dlmopen(LM_ID_NEWLM, words[2], RTLD_NOW) == NULL;
    if (strcmp(how, "signal") == 0) be_struck_in_section();
    if (strcmp(how, "fork") == 0) fork_in_section();
    if (strcmp(how, "clone") == 0) clone_in_section(false), clone_in_section(true);
    if (strcmp(how, "spawn") == 0) spawn_in_section();
    if (strcmp(how, "stack") == 0) use_alternate_stack();
    if (strcmp(how, "kill") == 0) return section(), kill(getpid(), SIGKILL);
    if (strcmp(how, "crash") == 0) return section(), raise(SIGSEGV);
    if (strcmp(how, "trap") == 0) return section(), raise(SIGTRAP);
    if (strcmp(how, "jump") == 0) return leave_by_jump(), leave_by_jump(), leave_by_jump(), 0;
    if (strcmp(how, "deep") == 0) return dlopen(words[2], RTLD_NOW | RTLD_DEEPBIND) == NULL;
    if (strcmp(how, "without") == 0) return run_without(words[2], words);
    if (strcmp(how, "touch") == 0) return touch_in_section();
    if (strcmp(how, "realtime") == 0) return run_realtime();
    if (strcmp(how, "slow") == 0) return (int)sleep(2);
    if (strcmp(how, "exec") == 0) {
        flat_guard_enter();
        return execl(words[0], words[0], "section", (char *)NULL);
    }
    return 0;
}

int main(int count, char **words) {
    const int status = count > 1 ? run(words[1], words) : 9;
    puts("ended");
    return status;
}
