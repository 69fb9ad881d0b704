/* Under a small limit malloc serves what there is room for, and a call that fails leaves nothing behind: neither
 * addresses nor mappings. */
#include "wild.h"

#include <stdlib.h>

int main(void) {
    static const size_t sizes[] = {2 << 20, 100000, 1000, 100};
    for (int i = 0; i < 40; i++) {
        void *volatile block = malloc(100);
        if (block == NULL) finish(WRONG, "malloc(100) is NULL");
        free(block);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (size_t had = 0; malloc(sizes[i]) != NULL; had += sizes[i]) {
            if (had > GIB) finish(WRONG, "a GiB is served under a limit that is far less");
        }
        size_t addresses = mapped(), maps = mappings();
        for (int k = 0; k < 1000; k++) {
            if (malloc(sizes[i]) != NULL || calloc(64, sizes[i]) != NULL) finish(WRONG, "NULL is followed by a block");
        }
        if (mapped() > addresses || mappings() > maps)
            finish(WRONG, "calls that failed left %zu KiB and %zu mappings behind", (mapped() - addresses) / 1024,
                   mappings() - maps);
    }
    return RIGHT;
}
