/* One request larger than memory and swap together gets NULL from every function, unless overcommit is set to always;
 * the process goes on and has nothing more mapped. A large request below that size is served. */
#define _GNU_SOURCE
#include "wild.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

static void require_null(void *block, const char *what, size_t size) {
    if (block != NULL) finish(WRONG, "%s of %zu GiB is served, and there is not so much memory", what, size / GIB);
}

static void refuse(size_t size) {
    void *aligned = NULL, *kept = malloc(100);
    errno = 0;
    require_null(malloc(size), "malloc", size);
    if (errno != ENOMEM) finish(WRONG, "malloc fails without ENOMEM");
    require_null(calloc(size / 1000 + 1, 1000), "calloc", size);
    require_null(realloc(kept, size), "realloc of a small block", size);
    free(kept);
    kept = malloc(3 * MIB);
    require_null(realloc(kept, size), "realloc of a huge block", size);
    free(kept);
    if (posix_memalign(&aligned, 64, size) == 0) require_null(aligned, "posix_memalign", size);
    require_null(aligned_alloc(PAGE, size), "aligned_alloc", size);
    require_null(memalign(MIB, size), "memalign", size);
}

int main(void) {
    char mode[8] = "";
    size_t memory = (figure("/proc/meminfo", "MemTotal") + figure("/proc/meminfo", "SwapTotal")) * 1024;
    if (memory == 0 || !read_text("/proc/sys/vm/overcommit_memory", mode, sizeof mode))
        finish(CANNOT_RUN, "/proc does not tell how much memory there is");
    if (mode[0] == '1') finish(NOT_HERE, "overcommit is set to always");
    free(filled(10));
    size_t addresses = mapped();
    refuse(memory + memory / 64);
    refuse(2 * memory);
    refuse(GIB * 1024);
    refuse(3 * GIB * 1024);
    refuse((size_t)1 << 46);
    if (mapped() > addresses + 64 * MIB)
        finish(WRONG, "refused requests left %zu MiB mapped", (mapped() - addresses) / MIB);
    if (mode[0] == '2') return RIGHT;
    void *most = malloc(memory / 4 * 3);
    if (most == NULL) finish(WRONG, "a request of three quarters of memory and swap is NULL");
    free(most);
    return RIGHT;
}
