/* injected_stalls FILE: a hundred stalls of each of six causes, each cause at a line of its own, and a list of them:
 * [{"cause": "...", "begin_ns": N, "end_ns": N}, ...] in ns of CLOCK_MONOTONIC_RAW. It needs the allocator
 * injected_stalls_malloc.c, which stalls when it is told to.
 *
 * Each cause has a thread of its own, and some have an assistant, which looks every 100 us whether the call has begun:
 * a thread that holds a lock for which the call waits; a thread on the same processor which takes it from the call, as
 * that runs in a thread with SCHED_IDLE; a process that stops this one. Exit status 2: it could not be set up. */
#define _GNU_SOURCE
#include "injected_stalls.h"
#include "scenarios/scenario.h"

#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

enum { STALLS = 100, SECONDS = 50 };

static const long look_every = 100000, wait_ns = 500000, burn_ns = 2000000, stop_ns = 4000000;
static const char *const causes[KINDS] = {
    [PAGE_FAULT] = "page fault", [SYSTEM_CALL] = "system call madvise", [LOCK] = "lock", [PREEMPTED] = "preempted",
    [BLOCKED] = "blocked",       [OWN_WORK] = "own work or the machine"};

typedef struct stall {
    uint64_t begin, end;
} stall;

static stall stalls[KINDS][STALLS];
static injected_stage *stage;
static int processor;

/* One call for each cause, each in a line of its own. */
static void *call_page_fault(void) { return malloc(INJECTED_SIZE); }  // stalls: malloc, page fault
static void *call_system_call(void) { return malloc(INJECTED_SIZE); } // stalls: malloc, system call madvise
static void *call_lock(void) { return malloc(INJECTED_SIZE); }        // stalls: malloc, lock
static void *call_preempted(void) { return malloc(INJECTED_SIZE); }   // stalls: malloc, preempted
static void *call_blocked(void) { return malloc(INJECTED_SIZE); }     // stalls: malloc, blocked
static void *call_own_work(void) { return malloc(INJECTED_SIZE); }    // stalls: malloc, own work or the machine

static void *(*const calls[KINDS])(void) = {
    [PAGE_FAULT] = call_page_fault, [SYSTEM_CALL] = call_system_call, [LOCK] = call_lock,
    [PREEMPTED] = call_preempted,   [BLOCKED] = call_blocked,         [OWN_WORK] = call_own_work};

static void wait_until(atomic_int *number, int reached) {
    while (atomic_load(number) < reached) scenario_pause(look_every);
}

static void *hold_lock(void *unused) {
    (void)unused;
    for (int number = 1; number <= STALLS; number++) {
        if (pthread_mutex_lock(&stage->lock) != 0) scenario_stop("the lock failed");
        atomic_store(&stage->ready, number);
        wait_until(&stage->inside, number);
        scenario_pause(wait_ns);
        if (pthread_mutex_unlock(&stage->lock) != 0) scenario_stop("the lock failed");
        wait_until(&stage->done, number);
    }
    return NULL;
}

static void stay_on_processor(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)processor, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) scenario_stop("a thread cannot be bound to a processor");
}

static void *take_processor(void *unused) {
    (void)unused;
    stay_on_processor();
    for (int number = 1; number <= STALLS; number++) {
        atomic_store(&stage->ready, number);
        wait_until(&stage->inside, number);
        const uint64_t until = scenario_now() + (uint64_t)burn_ns;
        while (scenario_now() < until) {
        }
        atomic_store(&stage->done, number);
    }
    return NULL;
}

/* In a process of its own, which ends with the program. */
static void stop_program(pid_t program) {
    for (int number = 1; number <= STALLS; number++) {
        atomic_store(&stage->ready, number);
        wait_until(&stage->inside, number);
        if (kill(program, SIGSTOP) != 0) _exit(3);
        scenario_pause(stop_ns);
        atomic_store(&stage->done, number);
        if (kill(program, SIGCONT) != 0) _exit(3);
    }
    _exit(0);
}

static void *stall_often(void *of) {
    const enum injected_kind kind = *(enum injected_kind *)of;
    const struct sched_param none = {0};
    const bool assisted = kind == LOCK || kind == PREEMPTED || kind == BLOCKED;
    if (kind == PREEMPTED) {
        stay_on_processor();
        if (sched_setscheduler(0, SCHED_IDLE, &none) != 0) scenario_stop("SCHED_IDLE was refused");
    }
    for (int number = 1; number <= STALLS; number++) {
        if (assisted)
            wait_until(&stage->ready, number);
        else
            scenario_pause(look_every);
        stall *this = &stalls[kind][number - 1];
        this->begin = scenario_now();
        void *block = calls[kind]();
        this->end = scenario_now();
        free(scenario_block(block));
        if (kind == LOCK) atomic_store(&stage->done, number);
    }
    return NULL;
}

/* All stalls of a kind, with its assistant. */
static void inject(enum injected_kind kind) {
    static void *(*const assistants[KINDS])(void *) = {[LOCK] = hold_lock, [PREEMPTED] = take_processor};
    pthread_t victim, assistant;
    const pid_t program = getpid();
    atomic_store(&stage->ready, 0);
    atomic_store(&stage->inside, 0);
    atomic_store(&stage->done, 0);
    atomic_store(&stage->kind, kind);
    const pid_t stopper = kind == BLOCKED ? fork() : 0;
    if (stopper < 0) scenario_stop("there is no process");
    if (kind == BLOCKED && stopper == 0) stop_program(program);
    if (assistants[kind] != NULL && pthread_create(&assistant, NULL, assistants[kind], NULL) != 0)
        scenario_stop("there are no threads");
    if (pthread_create(&victim, NULL, stall_often, &kind) != 0 || pthread_join(victim, NULL) != 0 ||
        (assistants[kind] != NULL && pthread_join(assistant, NULL) != 0))
        scenario_stop("there are no threads");
    int status = 0;
    if (stopper != 0 && (waitpid(stopper, &status, 0) != stopper || status != 0)) scenario_stop("the stopper failed");
    atomic_store(&stage->kind, NOTHING);
}

static void write_list(const char *path) {
    FILE *list = fopen(path, "w");
    if (list == NULL) scenario_stop("the list cannot be written");
    for (int kind = PAGE_FAULT; kind < KINDS; kind++)
        for (int i = 0; i < STALLS; i++)
            fprintf(list, "%s{\"cause\": \"%s\", \"begin_ns\": %llu, \"end_ns\": %llu}",
                    kind == PAGE_FAULT && i == 0 ? "[" : ",\n ", causes[kind],
                    (unsigned long long)stalls[kind][i].begin, (unsigned long long)stalls[kind][i].end);
    fputs("]\n", list);
    if (fclose(list) != 0) scenario_stop("the list cannot be written");
}

int main(int argc, char **argv) {
    if (argc != 2) scenario_stop("usage: injected_stalls FILE");
    injected_stage_function *stage_of_malloc;
    *(void **)&stage_of_malloc = dlsym(RTLD_DEFAULT, INJECTED_STAGE);
    if (stage_of_malloc == NULL) scenario_stop("it needs its own malloc");
    stage = stage_of_malloc();
    processor = sched_getcpu();
    if (processor < 0) scenario_stop("there is no processor");
    scenario_begin();
    alarm(SECONDS);
    for (int kind = PAGE_FAULT; kind < KINDS; kind++) inject((enum injected_kind)kind);
    write_list(argv[1]);
    return 0;
}
