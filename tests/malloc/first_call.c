/* first_call FUNCTION: a process's first call of the malloc works, whichever function it is. This program is in C
 * alone, since the C++ library may allocate before main. Exit status 0: it worked; 1: it did not. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 4874, ALIGNMENT = 512, OTHERS = 64 };

static void *by_posix_memalign(void) {
    void *block = NULL;
    return posix_memalign(&block, ALIGNMENT, BYTES) == 0 ? block : NULL;
}

static void *first(const char *function) {
    if (strcmp(function, "malloc") == 0) return malloc(BYTES);
    if (strcmp(function, "calloc") == 0) return calloc(BYTES, 1);
    if (strcmp(function, "realloc") == 0) return realloc(NULL, BYTES);
    if (strcmp(function, "reallocarray") == 0) return reallocarray(NULL, BYTES, 1);
    if (strcmp(function, "aligned_alloc") == 0) return aligned_alloc(ALIGNMENT, BYTES);
    if (strcmp(function, "memalign") == 0) return memalign(ALIGNMENT, BYTES);
    if (strcmp(function, "posix_memalign") == 0) return by_posix_memalign();
    if (strcmp(function, "valloc") == 0) return valloc(BYTES);
    if (strcmp(function, "pvalloc") == 0) return pvalloc(BYTES);
    /* These return no block: an aligned_alloc follows. */
    if (strcmp(function, "free") == 0) free(NULL);
    if (strcmp(function, "malloc_usable_size") == 0 && malloc_usable_size(NULL) != 0) return NULL;
    if (strcmp(function, "malloc_trim") == 0) (void)malloc_trim(0);
    if (strcmp(function, "mallinfo2") == 0 && mallinfo2().uordblks != 0) return NULL;
    volatile size_t too_much = SIZE_MAX / 2 + 1;
    if (strcmp(function, "too_much") == 0 && (malloc(too_much) != NULL || errno != ENOMEM)) return NULL;
    return aligned_alloc(ALIGNMENT, BYTES);
}

static int wrong(const char *function, const char *what) {
    fprintf(stderr, "first_call: %s: %s\n", function, what);
    return 1;
}

int main(int count, char **arguments) {
    if (count != 2) return wrong("usage", "first_call FUNCTION");
    const char *function = arguments[1];
    unsigned char *block = first(function), *others[OTHERS];
    if (block == NULL) return wrong(function, "there is no memory");
    if (malloc_usable_size(block) < BYTES) return wrong(function, "the block is too small");
    memset(block, 7, BYTES);
    for (size_t i = 0; i < OTHERS; i++) {
        others[i] = malloc(BYTES);
        if (others[i] == NULL) return wrong(function, "there is no memory afterwards");
        memset(others[i], 1, BYTES);
    }
    for (size_t i = 0; i < BYTES; i++) {
        if (block[i] != 7) return wrong(function, "another block lies in this one");
    }
    for (size_t i = 0; i < OTHERS; i++) free(others[i]);
    free(block);
    return 0;
}
