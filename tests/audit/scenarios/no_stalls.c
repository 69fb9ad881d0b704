/* The control: a program in which no call of the allocator stalls, but for what other programs and the machine do. All
 * memory is there and resident before the first call that an audit sees: the warm-up calls glibc by its other names,
 * which nobody interposes. stalls: none */
#define _GNU_SOURCE
#include "scenario.h"

#include <malloc.h>
#include <string.h>

enum { ROUNDS = 2000, BLOCKS = 64 };

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void __libc_free(void *block);

static stopwatch calls;

static size_t size_of(int number) { return (size_t)(16 + number % 32 * 32); }

/* Every function, every size and the heap's memory, once. */
static void warm_up(void) {
    void *blocks[BLOCKS];
    char *memory = scenario_block(__libc_malloc(4 * MIB));
    scenario_fill(memory, 4 * MIB);
    memset(memory, 1, 4 * MIB);
    __libc_free(memory);
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = scenario_block(i % 2 == 0 ? __libc_malloc(size_of(i)) : __libc_calloc(1, size_of(i)));
    for (int i = 0; i < BLOCKS; i++) blocks[i] = scenario_block(__libc_realloc(blocks[i], size_of(i) + 64));
    for (int i = 0; i < BLOCKS; i++) __libc_free(blocks[i]);
}

static void work(void) {
    void *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        stopwatch_start(&calls);
        blocks[i] = i % 2 == 0 ? malloc(size_of(i)) : calloc(1, size_of(i));
        stopwatch_stop(&calls);
        scenario_block(blocks[i]);
    }
    for (int i = 0; i < BLOCKS; i++) blocks[i] = scenario_block(realloc(blocks[i], size_of(i) + 64));
    for (int i = 0; i < BLOCKS; i++) free(blocks[i]);
}

int main(void) {
    scenario_begin();
    if (mallopt(M_MMAP_MAX, 0) == 0 || mallopt(M_TRIM_THRESHOLD, -1) == 0) scenario_stop("mallopt refused");
    warm_up();
    for (int i = 0; i < ROUNDS; i++) work();
    stopwatch_say(&calls, "calls without a stall");
    return 0;
}
