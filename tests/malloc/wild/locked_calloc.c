/* Parts of blocks are locked in memory, as crypto libraries do with keys, and the blocks are freed while locked:
 * madvise returns no locked pages to the OS. What calloc returns later is zero all the same. Argument: page (a page of
 * each fourth block is locked), whole (all of the block), fault (pages are locked when touched), all (mlockall, for a
 * while). */
#define _GNU_SOURCE
#include "wild.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BLOCKS = 16 };

static const size_t sizes[] = {3000, 100000, 256 << 10, 1100 << 10, 5 << 20};
static char *block[BLOCKS];

static void lock_some(const char *how, size_t size) {
    for (size_t i = 0; i < BLOCKS; i += 4) {
        uintptr_t from = ((uintptr_t)block[i] + PAGE - 1) / PAGE * PAGE;
        int error = 0;
        if (strcmp(how, "page") == 0) error = mlock((void *)(from + (size > 3 * PAGE ? PAGE : 0)), PAGE); /* NOLINT */
        if (strcmp(how, "whole") == 0) error = mlock(block[i], size);
        if (strcmp(how, "fault") == 0) error = mlock2(block[i], size, MLOCK_ONFAULT);
        if (error != 0) finish(NOT_HERE, "so much may not be locked here: ulimit -l");
    }
}

static void *free_all(void *unused) {
    for (size_t i = 0; i < BLOCKS; i++) free(block[i]);
    return unused;
}

/* Makes calls until the free memory beyond the limits has been returned to the OS. */
static void call_on(void) {
    for (size_t i = 0; i < 4000; i++) {
        void *volatile passing = malloc(100000);
        free(passing);
    }
}

static void require_zero(size_t size, const char *when) {
    for (size_t i = 0; i < BLOCKS; i++) {
        block[i] = calloc(1, size);
        if (block[i] == NULL) finish(WRONG, "calloc of %zu bytes is NULL", size);
        for (size_t at = 0; at < size; at++) {
            if (block[i][at] != 0) finish(WRONG, "calloc of %zu bytes %s: byte %zu is not 0", size, when, at);
        }
    }
    (void)free_all(NULL);
}

static void try_size(const char *how, size_t size, bool by_another_thread) {
    for (size_t i = 0; i < BLOCKS; i++) memset(block[i] = filled(size), 0xaa, size);
    lock_some(how, size);
    if (by_another_thread) {
        (void)pthread_join(must_begin_thread(free_all, NULL), NULL);
    } else {
        (void)free_all(NULL);
    }
    call_on();
    require_zero(size, "after some more calls");
    for (size_t i = 0; i < BLOCKS; i++) memset(block[i] = filled(size), 0xbb, size);
    (void)free_all(NULL);
    (void)malloc_trim(0);
    require_zero(size, "after malloc_trim");
}

int main(int count, char **arguments) {
    const char *how = count > 1 ? arguments[1] : "page";
    if (strcmp(how, "all") == 0 && mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        finish(NOT_HERE, "so much may not be locked here: ulimit -l");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        try_size(how, sizes[i], false);
        try_size(how, sizes[i], true);
    }
    if (strcmp(how, "all") == 0 && munlockall() != 0) finish(CANNOT_RUN, "munlockall fails");
    try_size("none", 256 << 10, false);
    return RIGHT;
}
