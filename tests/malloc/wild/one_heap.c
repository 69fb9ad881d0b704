/* One thread holds 160 GB in blocks of one size that are never written to: a heap ends only where the addresses do, and
 * the tables of so many blocks are small. Argument: bytes of a block. */
#include "wild.h"

#include <stdlib.h>

int main(int count, char **arguments) {
    size_t size = number(count, arguments, 1), most = 160000000000 / size, had = 0;
    char mode[8] = "";
    if (read_text("/proc/sys/vm/overcommit_memory", mode, sizeof mode) && mode[0] == '2')
        finish(NOT_HERE, "overcommit is off");
    void **block = malloc(most * sizeof *block);
    if (block == NULL) finish(WRONG, "the list is NULL");
    while (had < most && (block[had] = malloc(size)) != NULL) had++;
    if (had < most) finish(WRONG, "NULL after %zu GiB", had * size / GIB);
    purge();
    tell(&(point){.name = "held-purged", .live = had * sizeof *block, .threads = 1, .purged = true});
    for (size_t i = 0; i < had; i++) free(block[i]);
    purge();
    tell(&(point){.name = "freed-purged", .live = had * sizeof *block, .threads = 1, .purged = true});
    return RIGHT;
}
