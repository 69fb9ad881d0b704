/* Calls of malloc and free in a known rhythm, by its own clock, for scripts/audit-cost.
 *
 *     calls COUNT WORK: COUNT pairs, with WORK steps of arithmetic before each call. Prints the ns that a call took,
 *     its WORK included. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t arithmetic(uint64_t x, long steps) {
    for (long i = 0; i < steps; i++) x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return x;
}

static double now_ns(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) abort();
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    const long pairs = atol(arguments[1]), work = atol(arguments[2]);
    uint64_t x = 1;
    const double begin = now_ns();
    for (long i = 0; i < pairs; i++) {
        x = arithmetic(x, work);
        char *block = malloc(64);
        if (block == NULL) return 1;
        *(volatile char *)block = (char)x;
        x = arithmetic(x, work);
        free(block);
    }
    printf("%.3f\n", (now_ns() - begin) / (2.0 * (double)pairs));
    return x == 0; /* it is used */
}
