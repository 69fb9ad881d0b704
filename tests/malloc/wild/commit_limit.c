/* With overcommit off (2), at least 0.8 of what can still be committed is served, in blocks of the argument's size, and
 * what was served can be written. */
#include "wild.h"

#include <stdlib.h>

int main(int count, char **arguments) {
    char mode[8] = "";
    size_t size = number(count, arguments, 1), had = 0;
    if (!read_text("/proc/sys/vm/overcommit_memory", mode, sizeof mode) || mode[0] != '2')
        finish(NOT_HERE, "overcommit is on");
    size_t limit = figure("/proc/meminfo", "CommitLimit"), used = figure("/proc/meminfo", "Committed_AS");
    size_t left = limit > used ? (limit - used) * 1024 : 0;
    if (left < 64 * MIB || left > 8 * GIB) finish(NOT_HERE, "%zu MiB can be committed", left / MIB);
    for (char *block; (block = malloc(size)) != NULL; had += size) {
        for (size_t at = 0; at < size; at += PAGE) block[at] = 1;
    }
    say("%zu of %zu MiB were served", had / MIB, left / MIB);
    if ((double)had < 0.8 * (double)left) finish(WRONG, "less than 0.8 of what can be committed");
    return RIGHT;
}
