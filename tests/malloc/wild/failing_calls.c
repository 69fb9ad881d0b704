/* Under a small limit malloc serves what there is room for, and calls that fail leave neither addresses nor mappings
 * behind. What the first of them repaired or kept for the next does not count. */
#include "wild.h"

#include <stdlib.h>

enum { FAILURES = 1000, KEPT_BYTES = 2 << 20, KEPT_MAPPINGS = 8 };

/* Allocates blocks until there are no more, and then calls on. What a call frees before it fails may serve a later one:
 * failures are counted from the last call that was served. */
static void exhaust(size_t size) {
    size_t had = 0, addresses = 0, maps = 0;
    for (int failed = 0; failed < FAILURES;) {
        if (malloc(size) != NULL) {
            had += size;
            failed = 0;
        } else if (failed++ == 0) {
            addresses = mapped();
            maps = mappings();
        }
        if (failed > 0 && calloc(64, size) != NULL) failed = 0;
        if (had > GIB) finish(WRONG, "a GiB is served under a limit that is far less");
    }
    if (mapped() > addresses + KEPT_BYTES || mappings() > maps + KEPT_MAPPINGS)
        finish(WRONG, "calls that failed left %zu KiB and %zu mappings behind", (mapped() - addresses) / 1024,
               mappings() - maps);
}

int main(void) {
    static const size_t sizes[] = {2 << 20, 100000, 1000, 100};
    for (int i = 0; i < 40; i++) {
        void *volatile block = malloc(100);
        if (block == NULL) finish(WRONG, "malloc(100) is NULL");
        free(block);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) exhaust(sizes[i]);
    return RIGHT;
}
