/* The driver's command line:
 *
 *   bench-BACKEND SUITE SIZE CALLS ORDER SAMPLES SEED CPU LOAD
 *
 * SUITE: see the table below. SIZE: bytes of a block (0 where the suite mixes them). CALLS: calls timed together, 32 or
 * 1 (0 where the suite decides). ORDER: the variant of the suite (- where there is only one). SAMPLES: of each series.
 * SEED: of the random choices. CPU: the processor to run on (-1: any). LOAD: a further amount, which each suite's file
 * explains (0: none). */
#define _GNU_SOURCE
#include "driver.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

static const struct {
    const char *name;
    suite *work;
    bool is_loaded; /* needs a LOAD */
} suites[] = {
#ifdef BENCH_CONTAINERS
    {"containers", containers, false},
#elif defined(BENCH_ENGINE)
    {"engine", engine, false},
#else
    {"hot", hot, false},
    {"fifo", fifo, false},
    {"churn", churn, false},
    {"mixed", mixed, false},
    {"order", order, false},
    {"throughput", throughput, false},
    {"startup", startup, true},
    {"memory", memory, true},
    {"drift", drift, true},
    {"anysize", anysize, false},
    {"new-delete", new_delete, true},
    {"threads", threads, true},
    {"pipeline", pipeline, true},
    {"arrivals", arrivals, true},
    {"stalls", stalls, false},
#endif
};

/* What a balance other than 0 means. */
#ifdef BENCH_ENGINE
#define WRONG_BALANCE "a task was lost, ran twice, or got a payload that was not submitted"
#else
#define WRONG_BALANCE "a block did not keep what was written to it"
#endif

static suite *find_suite(const char *name, size_t load) {
    size_t chosen = 0;
    while (chosen < sizeof suites / sizeof *suites && strcmp(suites[chosen].name, name) != 0) chosen++;
    if (chosen == sizeof suites / sizeof *suites) fail(STATUS_USAGE, "unknown suite ", name);
    if (suites[chosen].is_loaded && load == 0) fail(STATUS_USAGE, "the load must not be 0 in suite ", name);
    return suites[chosen].work;
}

static bool pin(int processor) {
    cpu_set_t set;
    if (processor < 0) return false;
    CPU_ZERO(&set);
    CPU_SET((size_t)processor, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) fail(STATUS_FAILED, "cannot run on the requested processor", "");
    return true;
}

/* Moves the start of the heap within its page, differently in each round and the same for every backend: the kernel
 * moves it only by whole pages. */
static void move_heap(uint64_t seed) {
    enum { STEP = 16, STEPS = 256 }; /* bytes; a page */
    (void)sbrk((intptr_t)(seed / 2 % STEPS * STEP));
}

int main(int argc, char **argv) {
    if (argc != 9)
        fail(STATUS_USAGE, "`flatline bench` runs this program: ", "see the head of driver/main.c for the arguments");
    run r = {.suite = argv[1],
             .size = strtoul(argv[2], NULL, 10),
             .calls = strtoul(argv[3], NULL, 10),
             .order = argv[4],
             .samples = strtoul(argv[5], NULL, 10),
             .hand.random = strtoull(argv[6], NULL, 10) | 1,
             .processor = atoi(argv[7]),
             .load = strtoul(argv[8], NULL, 10),
             .heap_bytes = SIZE_MAX};
    move_heap(r.hand.random);
    r.own_code = draw_code();
    bool pinned = pin(r.processor);
    suite *work = find_suite(r.suite, r.load);
    if (r.samples == 0) fail(STATUS_USAGE, "ask for at least one sample, not ", argv[5]);
    open_counters();
    r.clock = flat_clock_calibrate();
    work(&r);
    require_no_heap(&r);
    if (!bench_backend.is_control && r.hand.balance != 0) fail(STATUS_FAILED, WRONG_BALANCE, "");
    print(&r, pinned);
    return 0;
}
