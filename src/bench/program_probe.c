/* libflatline-probe.so: preloaded before an allocator, it counts the calls that a program makes and the time in them.
 *
 * Only calls from outside are counted. A call that an allocator or the C++ run time makes while it serves another one
 * belongs to that one. A call costs two readings of the clock and two atomic additions, so only the record's own times
 * are meaningful in such a process. */
#define _GNU_SOURCE
#include "program_probe.h"

#include "../preload/clock_ticks.h"
#include "../preload/next.h"
#include "../preload/thread_local.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* Counts until the file exists. If there is none, these counts are lost. */
static flatline_probe_record early;
static flatline_probe_record *record = &early;

/* The mean distance of two successive readings, without those between which something else ran. Not the median, since
 * the clock may move in steps that are longer than the distance. */
static double reading_ticks(void) {
    enum { SAMPLES = 10001, MOST = 1000 };
    uint64_t sum = 0, count = 0;
    for (int i = 0; i < SAMPLES; i++) {
        uint64_t begin = ticks_now(), apart = ticks_now() - begin;
        if (apart > MOST) continue;
        sum += apart;
        count++;
    }
    return count > 0 ? (double)sum / (double)count : 0;
}

static LOCAL_TO_THREAD bool inside; /* inside a call that is being timed */

typedef struct call {
    bool counted;
    uint64_t begin;
} call;

static inline call begin_call(void) {
    call c = {!inside, 0};
    inside = true;
    if (c.counted) c.begin = ticks_now();
    return c;
}

static inline void end_call(const call *c, uint64_t *counter) {
    if (!c->counted) return;
    uint64_t ticks = ticks_now() - c->begin;
    inside = false;
    __atomic_fetch_add(&record->ticks, ticks, __ATOMIC_RELAXED);
    __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static inline void *end_allocation(const call *c, void *block) {
    end_call(c, &record->allocations);
    return block;
}

EXPORT void *malloc(size_t size) {
    if (!next_is_ready()) return first_memory_take(size);
    call c = begin_call();
    return end_allocation(&c, next.malloc(size));
}

EXPORT void *calloc(size_t count, size_t size) {
    if (!next_is_ready()) return first_memory_take(count * size);
    call c = begin_call();
    return end_allocation(&c, next.calloc(count, size));
}

EXPORT void *realloc(void *block, size_t size) {
    void *moved;
    if (first_memory_resizes(block, size, &moved)) return moved;
    call c = begin_call();
    return end_allocation(&c, next.realloc(block, size));
}

EXPORT void free(void *block) {
    if (block == NULL || first_memory_owns(block) || !next_is_ready()) return;
    call c = begin_call();
    next.free(block);
    end_call(&c, &record->frees);
}

EXPORT int posix_memalign(void **block, size_t alignment, size_t size) {
    if (!next_is_ready()) return ENOMEM;
    call c = begin_call();
    int status = next.posix_memalign(block, alignment, size);
    end_call(&c, &record->allocations);
    return status;
}

/* Functions that return a block, and operators, which a program may call before its C++ library is known: then
 * `otherwise` serves. After a program has caught bad_alloc in a thread, that thread's calls are no longer counted. */
#define TAKES(name, member, parameters, arguments, otherwise)                                                          \
    EXPORT void *name parameters;                                                                                      \
    EXPORT void *name parameters {                                                                                     \
        if (!next_is_ready()) return NULL;                                                                             \
        call c = begin_call();                                                                                         \
        return end_allocation(&c, next.member != NULL ? next.member arguments : (otherwise));                          \
    }

#define GIVES(name, member, parameters, arguments)                                                                     \
    EXPORT void name parameters;                                                                                       \
    EXPORT void name parameters {                                                                                      \
        if (block == NULL || first_memory_owns(block) || !next_is_ready()) return;                                     \
        call c = begin_call();                                                                                         \
        if (next.member != NULL)                                                                                       \
            next.member arguments;                                                                                     \
        else                                                                                                           \
            next.free(block);                                                                                          \
        end_call(&c, &record->frees);                                                                                  \
    }

TAKES(aligned_alloc, aligned_alloc, (size_t alignment, size_t size), (alignment, size), NULL)
TAKES(memalign, memalign, (size_t alignment, size_t size), (alignment, size), NULL)
TAKES(_Znwm, new_one, (size_t size), (size), next.malloc(size))
TAKES(_Znam, new_array, (size_t size), (size), next.malloc(size))
TAKES(_ZnwmRKSt9nothrow_t, new_nothrow, (size_t size, const void *tag), (size, tag), next.malloc(size))
TAKES(_ZnamRKSt9nothrow_t, new_array_nothrow, (size_t size, const void *tag), (size, tag), next.malloc(size))
TAKES(_ZnwmSt11align_val_t, new_aligned, (size_t size, size_t alignment), (size, alignment),
      next.memalign(alignment, size))
GIVES(_ZdlPv, delete_one, (void *block), (block))
GIVES(_ZdaPv, delete_array, (void *block), (block))
GIVES(_ZdlPvm, delete_sized, (void *block, size_t size), (block, size))
GIVES(_ZdaPvm, delete_array_sized, (void *block, size_t size), (block, size))
GIVES(_ZdlPvSt11align_val_t, delete_aligned, (void *block, size_t alignment), (block, alignment))
GIVES(_ZdlPvmSt11align_val_t, delete_aligned_sized, (void *block, size_t size, size_t alignment),
      (block, size, alignment))

/* The mapped file, of the record's size; NULL iff it cannot be created. */
static flatline_probe_record *map_file(const char *folder) {
    char path[FLATLINE_PROBE_PATH];
    const int length = snprintf(path, sizeof path, "%s/%d", folder, (int)getpid());
    const int file = length < (int)sizeof path ? open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    if (file < 0) return NULL;
    void *start = MAP_FAILED;
    if (ftruncate(file, sizeof *record) == 0)
        start = mmap(NULL, sizeof *record, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return start == MAP_FAILED ? NULL : start;
}

__attribute__((constructor)) static void start_record(void) {
    const char *folder = getenv(FLATLINE_PROBE_VARIABLE);
    flatline_probe_record *shared = folder != NULL && next_is_ready() ? map_file(folder) : NULL;
    if (shared == NULL) return;
    inside = true; /* the calls below are not the program's */
    const flat_clock clock = flat_clock_calibrate();
    Dl_info about;
    void *address;
    memcpy(&address, &next.malloc, sizeof address);
    *shared = early;
    shared->ticks_per_ns = clock.ticks_per_ns;
    shared->cost_ns = reading_ticks() / clock.ticks_per_ns;
    if (dladdr(address, &about) != 0) strncpy(shared->library, about.dli_fname, sizeof shared->library - 1);
    record = shared;
    inside = false;
}
