/* stopwatch FILE: times calls of malloc and free that take 1, 5, 20 and 200 us, each at a line of its own, and writes
 * what it has measured. Each line of the file has a name, the line of the call, and the durations in ns:
 *
 *     malloc of 1 us|LINE|1034 1029 ...
 *
 * It needs the allocator stopwatch_malloc.c, which works for as long as it is told to. The calls of the last name come
 * from 50 depths of recursion, once from each: no stack of theirs has been seen before. `nothing` is the stopwatch
 * around no call. */
#define _GNU_SOURCE
#include "stopwatch.h"
#include "scenarios/scenario.h"

#include <dlfcn.h>
#include <string.h>

enum { ROUNDS = 1000, DEPTHS = 50, BLOCK = 64, NEW_NS = 5000 };

typedef struct timed {
    const char *name;
    int line, count;
    uint64_t ns[ROUNDS];
} timed;

static uint64_t begun;
static void start(void) { begun = scenario_now(); }
static void stop(timed *of, int line) {
    of->ns[of->count++] = scenario_now() - begun;
    of->line = line;
}

/* `call` on a line of its own, so that the audit has a site of its own for it. */
#define TIME(of, call)                                                                                                 \
    do {                                                                                                               \
        start();                                                                                                       \
        call;                                                                                                          \
        stop(of, __LINE__);                                                                                            \
    } while (0)

typedef void round_function(timed *taking, timed *freeing);

static void *block;

static void round_of_1_us(timed *taking, timed *freeing) {
    TIME(taking, block = malloc(BLOCK));
    TIME(freeing, free(block));
}

static void round_of_5_us(timed *taking, timed *freeing) {
    TIME(taking, block = malloc(BLOCK));
    TIME(freeing, free(block));
}

static void round_of_20_us(timed *taking, timed *freeing) {
    TIME(taking, block = malloc(BLOCK));
    TIME(freeing, free(block));
}

static void round_of_200_us(timed *taking, timed *freeing) {
    TIME(taking, block = malloc(BLOCK));
    TIME(freeing, free(block));
}

static const struct {
    uint64_t ns;
    round_function *run;
    const char *taking, *freeing;
} kinds[] = {
    {1000, round_of_1_us, "malloc of 1 us", "free of 1 us"},
    {5000, round_of_5_us, "malloc of 5 us", "free of 5 us"},
    {20000, round_of_20_us, "malloc of 20 us", "free of 20 us"},
    {200000, round_of_200_us, "malloc of 200 us", "free of 200 us"},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static timed taking[KINDS], freeing[KINDS], first = {.name = "malloc of 5 us, the first of its stack"},
                                            empty = {.name = "nothing"};

static void *blocks[DEPTHS];

static void recurse(int depth) {
    if (depth > 0) recurse(depth - 1);
    TIME(&first, blocks[depth] = malloc(BLOCK));
}

static void write_durations(FILE *list, const timed *of) {
    fprintf(list, "%s|%d|", of->name, of->line);
    for (int i = 0; i < of->count; i++) fprintf(list, "%llu ", (unsigned long long)of->ns[i]);
    fputc('\n', list);
}

int main(int argc, char **argv) {
    if (argc != 2) scenario_stop("usage: stopwatch FILE");
    stopwatch_spin_function *spin;
    *(void **)&spin = dlsym(RTLD_DEFAULT, STOPWATCH_SPIN);
    if (spin == NULL) scenario_stop("it needs its own malloc");
    scenario_begin();
    for (int i = 0; i < ROUNDS; i++) TIME(&empty, );
    for (int kind = 0; kind < KINDS; kind++) {
        taking[kind].name = kinds[kind].taking;
        freeing[kind].name = kinds[kind].freeing;
        spin(kinds[kind].ns);
        for (int i = 0; i < ROUNDS; i++) kinds[kind].run(&taking[kind], &freeing[kind]);
    }
    spin(NEW_NS);
    recurse(DEPTHS - 1);
    spin(0);
    for (int i = 0; i < DEPTHS; i++) free(blocks[i]);
    FILE *list = fopen(argv[1], "w");
    if (list == NULL) scenario_stop("the list cannot be written");
    write_durations(list, &empty);
    for (int kind = 0; kind < KINDS; kind++) {
        write_durations(list, &taking[kind]);
        write_durations(list, &freeing[kind]);
    }
    write_durations(list, &first);
    if (fclose(list) != 0) scenario_stop("the list cannot be written");
    return 0;
}
