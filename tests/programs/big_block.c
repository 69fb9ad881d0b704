/* Prints whether a block of a megabyte is in the brk heap or has its own mapping. */
#define _DEFAULT_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(void) {
    char *first = malloc(16), *big = malloc(1 << 20);
    const uintptr_t at = (uintptr_t)big;
    if (first == NULL || big == NULL) return 3;
    puts(at >= (uintptr_t)first && at < (uintptr_t)sbrk(0) ? "heap" : "mapping");
    free(big);
    free(first);
    return 0;
}
