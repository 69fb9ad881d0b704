/* Many blocks of 1.5 MiB, with one written page each, grow one after the other, and every second one is freed: none is
 * refused for lack of mappings, and once all are free the process has few. Argument: how many blocks. */
#include "wild.h"

#include <stdlib.h>

static size_t blocks;
static char **block;

static void take(size_t i, size_t size) {
    block[i] = malloc(size);
    if (block[i] == NULL) finish(WRONG, "malloc(%zu) is NULL at %zu mappings", size, mappings());
    block[i][PAGE * (i % 300)] = 1;
}

static void grow_all(size_t size) {
    for (size_t i = 0; i < blocks; i++) {
        char *grown = realloc(block[i], size);
        if (grown == NULL) finish(WRONG, "realloc to %zu bytes is NULL at %zu mappings", size, mappings());
        block[i] = grown;
    }
}

static void use_small(void) {
    enum { SMALL = 20000 };
    static void *small[SMALL];
    for (size_t i = 0; i < SMALL; i++) small[i] = filled(1000);
    for (size_t i = 0; i < SMALL; i++) free(small[i]);
}

int main(int count, char **arguments) {
    blocks = number(count, arguments, 1);
    block = filled(blocks * sizeof *block);
    for (size_t i = 0; i < blocks; i++) take(i, 3 * MIB / 2);
    grow_all(9 * MIB);
    for (size_t i = 0; i < blocks; i += 2) free(block[i]);
    for (size_t i = 0; i < blocks; i += 2) take(i, 5 * MIB);
    grow_all(17 * MIB);
    use_small();
    say("%zu mappings at the most", mappings());
    for (size_t i = 0; i < blocks; i++) free(block[i]);
    purge();
    tell_mappings("freed-purged");
    return RIGHT;
}
