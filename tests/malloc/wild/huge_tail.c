/* A large scratch block is allocated and freed before each result of somewhat more than a MiB, which stays. The scratch
 * block's memory behind the result is returned to the OS. Argument: bytes of a result. */
#include "wild.h"

#include <stdlib.h>

enum { RESULTS = 100, SCRATCH = 4000 << 10 };

int main(int count, char **arguments) {
    size_t size = number(count, arguments, 1);
    void *result[RESULTS];
    tell(&(point){.name = "start", .threads = 1});
    for (size_t i = 0; i < RESULTS; i++) {
        free(filled(SCRATCH));
        result[i] = filled(size);
    }
    point all = {.name = "live", .live = RESULTS * size, .peak = RESULTS * size + SCRATCH, .threads = 1};
    tell(&all);
    purge();
    all.name = "live-purged";
    all.purged = true;
    tell(&all);
    for (size_t i = 0; i < RESULTS; i++) free(result[i]);
    purge();
    tell(&(point){.name = "freed-purged", .threads = 1, .purged = true});
    return RIGHT;
}
