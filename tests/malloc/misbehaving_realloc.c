/* A malloc library with a fault, to be preloaded: realloc changes one of the last bytes of a block that grows. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>

__attribute__((visibility("default"))) void *realloc(void *block, size_t size) {
    static void *(*next)(void *, size_t);
    union {
        void *symbol;
        void *(*function)(void *, size_t);
    } found;
    if (next == NULL) {
        found.symbol = dlsym(RTLD_NEXT, "realloc");
        next = found.function;
    }
    size_t before = block == NULL ? 0 : malloc_usable_size(block);
    char *larger = next(block, size);
    if (before > 64 && size > before && larger != NULL) larger[before - 17] ^= 1;
    return larger;
}
