/* Under a memory limit one thread can have at least 0.8 of what the limit leaves to the program at its start.
 * Arguments: the limited resource (`as`: addresses, RLIMIT_AS; `data`: RLIMIT_DATA), the limit in MiB, when it is set
 * (`exec`: before this program starts; `late`: here, after the first malloc), the size of a block. Requested bytes
 * count. */
#define _GNU_SOURCE
#include "wild.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static size_t size, left; /* bytes: of a block; what the limit leaves */

/* Bytes that are mapped from files, and the stack, which are not the malloc's. For data, only writable file mappings.
 */
static size_t taken_at_start(bool data) {
    static char maps[64 << 10];
    size_t sum = 0;
    if (!read_text("/proc/self/maps", maps, sizeof maps)) finish(CANNOT_RUN, "/proc/self/maps cannot be read");
    for (char *line = maps, *next; *line != 0; line = next) {
        uintptr_t from, to;
        char rights[5], what[100] = "";
        next = line + strcspn(line, "\n");
        next += *next == '\n';
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %*[0-9]%*[ ]%99[^\n]", &from, &to, rights, what) < 3)
            finish(CANNOT_RUN, "/proc/self/maps is in another form");
        bool is_named = what[0] != 0 && strcmp(what, "[heap]") != 0;
        if (is_named && (!data || (rights[1] == 'w' && strcmp(what, "[stack]") != 0))) sum += to - from;
    }
    return sum;
}

/* Allocates blocks until there are no more, or clearly more than there may be. Each large one points to the one before
 * it. */
static size_t take_all(void **last) {
    size_t sum = 0;
    for (void **block; sum < left + left / 8 && (block = malloc(size)) != NULL; sum += size) {
        if (size < 100000) continue; /* there are too many to write to their pages */
        *block = *last;
        *last = (void *)block;
    }
    return sum;
}

static void give_all(void **last) {
    for (void *block = *last; block != NULL; block = *last) {
        *last = *(void **)block;
        free(block);
    }
}

int main(int count, char **arguments) {
    if (count != 5) finish(CANNOT_RUN, "wild_test.py has the arguments");
    bool data = strcmp(arguments[1], "data") == 0, late = strcmp(arguments[3], "late") == 0;
    size_t limit = number(count, arguments, 2) * MIB;
    size = number(count, arguments, 4);
    if (figure("/proc/meminfo", "MemAvailable") * 1024 < limit + 512 * MIB)
        finish(NOT_HERE, "so much memory is not available here");
    left = limit - taken_at_start(data);
    void *volatile first = malloc(10);
    if (first == NULL) finish(WRONG, "the first malloc is NULL");
    const struct rlimit all = {limit, limit};
    if (late && setrlimit(data ? RLIMIT_DATA : RLIMIT_AS, &all) != 0) finish(CANNOT_RUN, "setrlimit fails");
    void *last = NULL;
    for (int round = 0; round < 2; round++) {
        size_t had = take_all(&last);
        say("round %d: %zu MiB of %zu left, %.2f", round, had / MIB, left / MIB, (double)had / (double)left);
        if ((double)had < 0.8 * (double)left) finish(WRONG, "less than 0.8 of what the limit leaves");
        if (had > left + left / 50) finish(WRONG, "more than the limit leaves");
        if (size < 100000) break;
        give_all(&last);
    }
    return RIGHT;
}
