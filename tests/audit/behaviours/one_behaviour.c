/* one_behaviour NAME: a program that does one thing which an audit must neither change nor miscount. It allocates
 * nothing beyond what it says, and prints by write alone, so that calls can be counted: those of NAME less those of
 * `nothing`. Exit status 1: something was not as the C library promises. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define ROUNDS 50
#define THREADS 1000
#define BUSY_THREADS 8
#define BUSY_CALLS 100000
#define LARGE (1u << 20) /* which glibc maps: at least one system call */

extern char **environ;
static char *self;
static volatile size_t none_can_have = SIZE_MAX / 2; /* volatile: the compiler knows that this cannot be had */

static void require(bool holds) {
    if (!holds) _exit(1);
}

static void take_and_free(size_t size) {
    char *block = malloc(size);
    require(block != NULL);
    block[0] = 1;
    free(block);
}

static void family(void) { /* 18 calls a round */
    for (int i = 0; i < ROUNDS; i++) {
        void *aligned = NULL;
        free(malloc(10));
        free(realloc(calloc(2, 10), 40));
        free(reallocarray(NULL, 3, 7));
        require(posix_memalign(&aligned, 64, 10) == 0);
        free(aligned);
        free(aligned_alloc(64, 64));
        free(memalign(128, 10));
        free(valloc(1));
        free(pvalloc(1));
        free(NULL);
    }
}

static void family_more(void) { /* 5 calls a round */
    for (int i = 0; i < ROUNDS; i++) {
        void *block = malloc(100);
        require(block != NULL && realloc(block, 0) == NULL);
        free(malloc(0));
        (void)malloc_trim(0);
    }
}

static void failing(void) { /* 8 calls */
    void *block = NULL;
    errno = 0;
    require(malloc(none_can_have) == NULL && errno == ENOMEM);
    errno = 0;
    require(calloc(none_can_have, 3) == NULL && errno == ENOMEM);
    errno = 0;
    require(realloc(NULL, none_can_have) == NULL && errno == ENOMEM);
    errno = 0;
    require(reallocarray(NULL, none_can_have, 3) == NULL && errno == ENOMEM);
    errno = 0;
    require(aligned_alloc(64, none_can_have) == NULL && errno == ENOMEM);
    require(posix_memalign(&block, 3, 10) == EINVAL && block == NULL);
    errno = 77;
    take_and_free(LARGE);
    require(errno == 77);
}

static pthread_key_t key;
static void free_at_the_end(void *block) { free(block); }

static void *short_thread(void *nothing) {
    (void)nothing;
    take_and_free(40);
    require(pthread_setspecific(key, malloc(10)) == 0);
    return NULL;
}

static void threads(void) { /* 4 calls each, beside those of the C library */
    require(pthread_key_create(&key, free_at_the_end) == 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        require(pthread_create(&thread, NULL, short_thread, NULL) == 0 && pthread_join(thread, NULL) == 0);
    }
}

static void *thread_on_a_small_stack(void *nothing) {
    take_and_free(LARGE);
    take_and_free(40);
    return nothing;
}

static void run_thread(void *(*body)(void *), size_t stack) {
    pthread_t thread;
    pthread_attr_t attributes;
    require(pthread_attr_init(&attributes) == 0);
    if (stack != 0) require(pthread_attr_setstacksize(&attributes, stack) == 0);
    require(pthread_create(&thread, &attributes, body, NULL) == 0 && pthread_join(thread, NULL) == 0);
    require(pthread_attr_destroy(&attributes) == 0);
}

static void *thread_without_calls(void *nothing) { return nothing; }

static size_t mapped_pages(void) {
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    require(file != NULL && fscanf(file, "%zu", &pages) == 1 && fclose(file) == 0);
    return pages;
}

static void threads_that_end(void) {
    void *(*const bodies[])(void *) = {thread_without_calls, thread_on_a_small_stack};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        for (int round = 0; round < 3; round++) run_thread(bodies[i], 0);
        const size_t before = mapped_pages();
        for (int round = 0; round < 50; round++) run_thread(bodies[i], 0);
        require(mapped_pages() == before);
    }
}

static void small_stack(void) { run_thread(thread_on_a_small_stack, (size_t)sysconf(_SC_THREAD_STACK_MIN)); }

static void *busy_thread(void *nothing) {
    void *block[16] = {NULL};
    for (int i = 0; i < BUSY_CALLS / 2; i++) {
        free(block[i % 16]);
        block[i % 16] = malloc(16 + (size_t)i % 300);
    }
    return nothing;
}

static void busy(void) {
    pthread_t thread[BUSY_THREADS];
    for (int i = 0; i < BUSY_THREADS; i++) require(pthread_create(&thread[i], NULL, busy_thread, NULL) == 0);
    for (int i = 0; i < BUSY_THREADS; i++) require(pthread_join(thread[i], NULL) == 0);
}

static void require_exit(pid_t child, int wanted) {
    int status = 0;
    require(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == wanted);
}

static void forked(void) { /* 4 calls */
    take_and_free(LARGE);
    const pid_t child = fork();
    if (child == 0) {
        take_and_free(LARGE);
        _exit(3);
    }
    require_exit(child, 3);
}

static char *words_of(char *name, char **words) {
    words[0] = self;
    words[1] = name;
    words[2] = NULL;
    return self;
}

static void executed_in_place(void) {
    char *words[3];
    take_and_free(40);
    (void)execv(words_of("family", words), words);
    _exit(1);
}

static void executed_by_fork(void) {
    char *words[3];
    const pid_t child = fork();
    if (child == 0) {
        (void)execv(words_of("family", words), words);
        _exit(1);
    }
    require_exit(child, 0);
}

static void executed_by_vfork(void) {
    char *words[3];
    (void)words_of("family", words);
    const pid_t child = vfork();
    if (child == 0) {
        (void)execv(self, words);
        _exit(1);
    }
    require_exit(child, 0);
}

static void spawned(void) {
    char *words[3];
    pid_t child;
    require(posix_spawn(&child, words_of("family", words), NULL, NULL, words, environ) == 0);
    require_exit(child, 0);
}

/* Goes on for a while after the program has ended, and says on standard output that it could. */
static void outlived(void) {
    const pid_t child = fork();
    require(child >= 0);
    if (child > 0) return;
    (void)setsid();
    for (int i = 0; i < 40; i++) {
        for (int k = 0; k < 100; k++) take_and_free(LARGE / 4);
        (void)usleep(5000);
    }
    require(write(STDOUT_FILENO, "outlived\n", 9) == 9);
    _exit(0);
}

/* A library of C++, which no library of the program's has loaded before. */
static void loaded_late(void) {
    void *library = dlopen(getenv("BEHAVIOURS_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
    require(library != NULL);
    void *address = dlsym(library, "late_calls");
    int (*calls)(void);
    memcpy(&calls, &address, sizeof address);
    require(calls() == 7);
}

/* A library that finds its own and the C library's functions before all others. 7 calls each time. */
static void bound_deeply(void) {
    void *library = dlopen(getenv("BEHAVIOURS_LIBRARY"), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    require(library != NULL);
    void *address = dlsym(library, "deep_calls");
    void (*calls)(int);
    memcpy(&calls, &address, sizeof address);
    calls(ROUNDS);
}

static atomic_int handled;
static void handle(int number) {
    (void)number;
    atomic_fetch_add(&handled, 1);
}

static void handles_sigsys(void) {
    struct sigaction action = {.sa_handler = handle}, before;
    sigset_t all;
    require(sigaction(SIGSYS, &action, &before) == 0 && before.sa_handler == SIG_DFL);
    require(sigaction(SIGSYS, NULL, &before) == 0 && before.sa_handler == handle);
    require(sigfillset(&all) == 0 && pthread_sigmask(SIG_BLOCK, &all, NULL) == 0);
    take_and_free(LARGE); /* the audit's own signals do not reach the handler, and are not blocked */
    require(atomic_load(&handled) == 0);
    require(pthread_sigmask(SIG_UNBLOCK, &all, NULL) == 0 && raise(SIGSYS) == 0 && atomic_load(&handled) == 1);
    require(signal(SIGSYS, SIG_IGN) == handle && raise(SIGSYS) == 0 && atomic_load(&handled) == 1);
    take_and_free(LARGE);
}

static void dies_of_sigsys(void) {
    take_and_free(LARGE);
    (void)raise(SIGSYS);
}

static void *allocating_thread(void *nothing) {
    take_and_free(LARGE);
    return nothing;
}

/* Past the C library. From here on only threads that begin later may allocate, since the audit's handler is gone. */
static void takes_sigsys(void) {
    struct {
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)(void);
        uint64_t mask;
    } action = {.handler = SIG_DFL};
    require(syscall(SYS_rt_sigaction, SIGSYS, &action, NULL, sizeof action.mask) == 0);
    run_thread(allocating_thread, 0);
}

/* Past the C library, and past all that replaces its functions. */
static void call_kernel(long number, long a, const void *b, void *c, long d) {
    register long r10 __asm__("r10") = d;
    __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
    require(number == 0);
}

static void takes_sigsys_and_allocates(void) {
    const uint64_t by_default[4] = {0};
    call_kernel(SYS_rt_sigaction, SIGSYS, by_default, NULL, 8);
    take_and_free(LARGE);
}

static void blocks_sigsys_and_allocates(void) {
    const uint64_t all = UINT64_MAX;
    call_kernel(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, sizeof all);
    take_and_free(LARGE);
}

/* As the C library does at the end of a detached thread. */
static void block_signals_and_free(void *block) {
    const uint64_t all = UINT64_MAX;
    call_kernel(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, sizeof all);
    free(block);
}

static void *thread_that_ends_with_a_block(void *nothing) {
    require(pthread_setspecific(key, malloc(LARGE)) == 0);
    return nothing;
}

static void frees_with_signals_blocked(void) {
    require(pthread_key_create(&key, block_signals_and_free) == 0);
    run_thread(thread_that_ends_with_a_block, 0);
}

static void allocate_in_handler(int number) {
    handle(number);
    take_and_free(LARGE);
}

/* In each of these the handler runs with all other signals blocked. */
static void waits_with_a_mask(void) {
    struct sigaction action = {.sa_handler = allocate_in_handler};
    struct pollfd file = {.fd = -1};
    const struct timespec long_time = {.tv_sec = 10};
    struct epoll_event event;
    sigset_t only, mask;
    const int set = epoll_create1(0);
    require(sigaction(SIGUSR1, &action, NULL) == 0 && sigemptyset(&only) == 0 && sigaddset(&only, SIGUSR1) == 0);
    require(sigfillset(&mask) == 0 && sigdelset(&mask, SIGUSR1) == 0);
    for (int i = 0; i < 5; i++) {
        require(sigprocmask(SIG_BLOCK, &only, NULL) == 0 && raise(SIGUSR1) == 0 && atomic_load(&handled) == i);
        require((i == 0   ? sigsuspend(&mask)
                 : i == 1 ? ppoll(&file, 0, &long_time, &mask)
                 : i == 2 ? pselect(0, NULL, NULL, NULL, &long_time, &mask)
                 : i == 3 ? epoll_pwait(set, &event, 1, 10000, &mask)
                          : epoll_pwait2(set, &event, 1, &long_time, &mask)) == -1);
        require(errno == EINTR && atomic_load(&handled) == i + 1);
    }
}

/* Children that no handler of pthread_atfork sees: 2 + 4 calls. */
static void forked_by_system_calls(void) {
    take_and_free(LARGE);
    for (int i = 0; i < 2; i++) {
        const pid_t child = i == 0 ? _Fork() : (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
        if (child == 0) {
            take_and_free(LARGE);
            _exit(3);
        }
        require_exit(child, 3);
    }
}

/* Of getppid, by a signal: as a sandbox does. */
static void refuse_getppid(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    require(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    require(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void emulate(int number, siginfo_t *info, void *context) {
    handle(number);
    require(info->si_syscall == SYS_getppid);
#if defined(__x86_64__)
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = 42;
#else
    ((ucontext_t *)context)->uc_mcontext.regs[0] = 42;
#endif
}

static void emulates_a_system_call(void) {
    struct sigaction action = {.sa_sigaction = emulate, .sa_flags = SA_SIGINFO};
    take_and_free(LARGE);
    require(sigaction(SIGSYS, &action, NULL) == 0);
    refuse_getppid();
    for (int i = 0; i < 3; i++) {
        take_and_free(LARGE);
        require(getppid() == 42 && atomic_load(&handled) == i + 1);
    }
}

static void is_ended_by_a_filter(void) {
    refuse_getppid();
    (void)getppid();
}

static void signal_mask(int how, int number) {
    sigset_t set;
    require(sigemptyset(&set) == 0 && sigaddset(&set, number) == 0 && sigprocmask(how, &set, NULL) == 0);
}

static void blocks_a_signal(void) {
    sigset_t now;
    signal_mask(SIG_BLOCK, SIGUSR1);
    take_and_free(LARGE);
    require(sigprocmask(SIG_BLOCK, NULL, &now) == 0 && sigismember(&now, SIGUSR1) == 1);
}

static void exits_42(void) { _exit(42); }

static void killed(void) {
    take_and_free(LARGE);
    (void)kill(getpid(), SIGTERM);
}

static void says_and_waits(void) {
    for (int i = 0; i < 1000; i++) take_and_free(100);
    require(write(STDOUT_FILENO, "ready\n", 6) == 6);
    for (;;) {
        take_and_free(LARGE);
        (void)usleep(1000);
    }
}

static void prints(void) {
    require(write(STDOUT_FILENO, "to the output\n", 14) == 14 && write(STDERR_FILENO, "to the errors\n", 14) == 14);
}

static void without_environment(void) {
    char *words[3] = {"true", NULL}, *nothing[1] = {NULL};
    (void)execve("/bin/true", words, nothing);
}

static void nothing(void) {}

static const struct {
    const char *name;
    void (*run)(void);
} behaviours[] = {
    {"nothing", nothing},
    {"family", family},
    {"family_more", family_more},
    {"failing", failing},
    {"threads", threads},
    {"small_stack", small_stack},
    {"threads_that_end", threads_that_end},
    {"busy", busy},
    {"forked", forked},
    {"executed_in_place", executed_in_place},
    {"executed_by_fork", executed_by_fork},
    {"executed_by_vfork", executed_by_vfork},
    {"spawned", spawned},
    {"outlived", outlived},
    {"loaded_late", loaded_late},
    {"handles_sigsys", handles_sigsys},
    {"dies_of_sigsys", dies_of_sigsys},
    {"takes_sigsys", takes_sigsys},
    {"takes_sigsys_and_allocates", takes_sigsys_and_allocates},
    {"blocks_sigsys_and_allocates", blocks_sigsys_and_allocates},
    {"frees_with_signals_blocked", frees_with_signals_blocked},
    {"waits_with_a_mask", waits_with_a_mask},
    {"forked_by_system_calls", forked_by_system_calls},
    {"bound_deeply", bound_deeply},
    {"emulates_a_system_call", emulates_a_system_call},
    {"is_ended_by_a_filter", is_ended_by_a_filter},
    {"blocks_a_signal", blocks_a_signal},
    {"exits_42", exits_42},
    {"killed", killed},
    {"says_and_waits", says_and_waits},
    {"prints", prints},
    {"without_environment", without_environment},
};

int main(int count, char **words) {
    self = words[0];
    for (size_t i = 0; count == 2 && i < sizeof behaviours / sizeof *behaviours; i++)
        if (strcmp(words[1], behaviours[i].name) == 0) {
            behaviours[i].run();
            return 0;
        }
    return 2;
}
