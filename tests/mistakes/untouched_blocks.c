/* usage: untouched_blocks DESIGN TOUCH
 *
 * A small version of the laboratory's churn: of 200,000 blocks of 64 bytes 150,000 are live, and each round frees a
 * random one and allocates another. DESIGN is how the pool finds a free block:
 *
 *   list     the block freed last, from a list of indices beside the blocks
 *   bitmap   the next free block after the one handed out last, from one bit a block
 *
 * TOUCH is "touched" (a block is written after alloc and read before free, as in programs) or "untouched". Under a
 * cache simulator this shows why the laboratory touches every block: the bitmap is small and stays in the cache, but
 * hands out cold blocks. Status 2: wrong arguments; 1: the pool failed. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 200000, SIZE = 64, LIVE = 150000, ROUNDS = 400000, WORDS = BLOCKS / 64 };

static _Alignas(SIZE) char blocks[BLOCKS][SIZE];

static size_t index_of(const void *block) { return (size_t)((const char *)block - blocks[0]) / SIZE; }

#define TAKEN UINT32_MAX
static uint32_t after[BLOCKS]; /* the free block after this one, or TAKEN */
static uint32_t first;

static void *list_alloc(void) {
    uint32_t index = first;
    if (index == BLOCKS) return NULL;
    first = after[index];
    after[index] = TAKEN;
    return blocks[index];
}

static bool list_free(void *block) {
    size_t index = index_of(block);
    if (index >= BLOCKS || after[index] != TAKEN) return false;
    after[index] = first;
    first = (uint32_t)index;
    return true;
}

static uint64_t is_free[WORDS];
static uint32_t cursor; /* the word of the last block handed out */

static void *bitmap_alloc(void) {
    uint32_t at = cursor;
    while (is_free[at] == 0) {
        at = at + 1 == WORDS ? 0 : at + 1;
        if (at == cursor) return NULL;
    }
    cursor = at;
    uint32_t bit = (uint32_t)__builtin_ctzll(is_free[at]);
    is_free[at] &= is_free[at] - 1;
    return blocks[at * 64 + bit];
}

static bool bitmap_free(void *block) {
    size_t index = index_of(block);
    uint64_t bit = UINT64_C(1) << index % 64;
    if (index >= BLOCKS || (is_free[index / 64] & bit) != 0) return false;
    is_free[index / 64] |= bit;
    return true;
}

int main(int argc, char **argv) {
    if (argc != 3 || (strcmp(argv[1], "list") != 0 && strcmp(argv[1], "bitmap") != 0) ||
        (strcmp(argv[2], "touched") != 0 && strcmp(argv[2], "untouched") != 0)) {
        (void)fprintf(stderr, "usage: untouched_blocks list|bitmap touched|untouched\n");
        return 2;
    }
    const bool bitmap = strcmp(argv[1], "bitmap") == 0, touch = strcmp(argv[2], "touched") == 0;
    static void *live[LIVE];
    uint64_t random = 1, balance = 0;
    for (uint32_t i = 0; i < BLOCKS; i++) after[i] = i + 1;
    memset(is_free, 0xff, sizeof is_free);
    for (size_t i = 0; i < LIVE; i++) live[i] = bitmap ? bitmap_alloc() : list_alloc();
    for (uint64_t round = 0; round < ROUNDS; round++) {
        random = random * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX constants */
        size_t at = (size_t)((random >> 32) * LIVE >> 32);
        if (touch) balance += *(volatile uint64_t *)live[at];
        if (!(bitmap ? bitmap_free(live[at]) : list_free(live[at]))) return 1;
        live[at] = bitmap ? bitmap_alloc() : list_alloc();
        if (live[at] == NULL) return 1;
        if (touch) *(volatile uint64_t *)live[at] = round;
    }
    return balance == UINT64_MAX;
}
