/* libflatline-probe.so: preloaded before an allocator, it counts the calls that a program makes and the time in them.
 *
 * Only calls from outside are counted. A call that an allocator or the C++ run time makes while it serves another one
 * belongs to that one. A call costs two readings of the clock and two atomic additions, so only the record's own times
 * are meaningful in such a process. */
#define _GNU_SOURCE
#include "program_probe.h"

#include "../os/clock.h"

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
#define LOCAL_TO_THREAD static __thread __attribute__((tls_model("initial-exec")))

/* Counts until the file exists. If there is none, these counts are lost. */
static flatline_probe_record early;
static flatline_probe_record *record = &early;

/* The clock without its fences. Work in a program overlaps with what comes before and after it. Fences would charge a
 * call for waiting until all of that is done, which is several times its cost in an unobserved program. */
static inline uint64_t ticks_now(void) {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return flat_clock_begin();
#endif
}

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

LOCAL_TO_THREAD bool inside; /* inside a call that is being timed */

/* The next definition of each function after this library's: the allocator's, or the C or C++ library's. */
static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*new_one)(size_t);
    void *(*new_array)(size_t);
    void *(*new_quiet)(size_t, const void *);
    void *(*new_array_quiet)(size_t, const void *);
    void *(*new_aligned)(size_t, size_t);
    void (*delete_one)(void *);
    void (*delete_array)(void *);
    void (*delete_sized)(void *, size_t);
    void (*delete_array_sized)(void *, size_t);
    void (*delete_aligned)(void *, size_t);
    void (*delete_aligned_sized)(void *, size_t, size_t);
} next;

static void look_up(void *function, const char *name) {
    void *address = dlsym(RTLD_NEXT, name);
    memcpy(function, &address, sizeof address);
}

static void look_up_all(void) {
    look_up(&next.calloc, "calloc");
    look_up(&next.realloc, "realloc");
    look_up(&next.free, "free");
    look_up(&next.posix_memalign, "posix_memalign");
    look_up(&next.aligned_alloc, "aligned_alloc");
    look_up(&next.memalign, "memalign");
    look_up(&next.new_one, "_Znwm");
    look_up(&next.new_array, "_Znam");
    look_up(&next.new_quiet, "_ZnwmRKSt9nothrow_t");
    look_up(&next.new_array_quiet, "_ZnamRKSt9nothrow_t");
    look_up(&next.new_aligned, "_ZnwmSt11align_val_t");
    look_up(&next.delete_one, "_ZdlPv");
    look_up(&next.delete_array, "_ZdaPv");
    look_up(&next.delete_sized, "_ZdlPvm");
    look_up(&next.delete_array_sized, "_ZdaPvm");
    look_up(&next.delete_aligned, "_ZdlPvSt11align_val_t");
    look_up(&next.delete_aligned_sized, "_ZdlPvmSt11align_val_t");
    look_up(&next.malloc, "malloc"); /* last: once it is set, all are known */
}

/* Memory for the lookup itself, before there is an allocator. It is never freed. */
static _Alignas(16) char first_memory[4096];
static size_t first_used;

static void *take_first(size_t size) {
    void *block = first_memory + first_used;
    size = (size + 15) / 16 * 16;
    if (size > sizeof first_memory - first_used) return NULL;
    first_used += size;
    return block;
}

static bool is_first(const void *block) {
    return (const char *)block >= first_memory && (const char *)block < first_memory + sizeof first_memory;
}

/* False while the lookup runs, which is before there is a second thread. Volatile, since the compiler assumes that
 * dlsym never calls back into this file, but dlsym does when it formats an error message. */
static bool is_ready(void) {
    static volatile bool looking;
    if (next.malloc != NULL) return true;
    if (looking) return false;
    looking = true;
    look_up_all();
    looking = false;
    return next.malloc != NULL;
}

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
    if (!is_ready()) return take_first(size);
    call c = begin_call();
    return end_allocation(&c, next.malloc(size));
}

EXPORT void *calloc(size_t count, size_t size) {
    if (!is_ready()) return take_first(count * size);
    call c = begin_call();
    return end_allocation(&c, next.calloc(count, size));
}

/* The size of a first block is not known. It lies in the first memory, and only that is read. */
static void *outgrow_first(void *block, size_t size) {
    size_t rest = (size_t)(first_memory + sizeof first_memory - (char *)block);
    void *larger = malloc(size);
    if (larger != NULL) memcpy(larger, block, size < rest ? size : rest);
    return larger;
}

EXPORT void *realloc(void *block, size_t size) {
    if (!is_ready()) return block == NULL ? take_first(size) : NULL;
    if (is_first(block)) return outgrow_first(block, size);
    call c = begin_call();
    return end_allocation(&c, next.realloc(block, size));
}

EXPORT void free(void *block) {
    if (block == NULL || is_first(block) || !is_ready()) return;
    call c = begin_call();
    next.free(block);
    end_call(&c, &record->frees);
}

EXPORT int posix_memalign(void **block, size_t alignment, size_t size) {
    if (!is_ready()) return ENOMEM;
    call c = begin_call();
    int status = next.posix_memalign(block, alignment, size);
    end_call(&c, &record->allocations);
    return status;
}

/* A function that returns a block and that an allocator may lack: then `otherwise` serves. */
#define TAKES(name, member, parameters, arguments, otherwise)                                                          \
    EXPORT void *name parameters;                                                                                      \
    EXPORT void *name parameters {                                                                                     \
        if (!is_ready()) return NULL;                                                                                  \
        call c = begin_call();                                                                                         \
        return end_allocation(&c, next.member != NULL ? next.member arguments : (otherwise));                          \
    }

#define GIVES(name, member, parameters, arguments)                                                                     \
    EXPORT void name parameters;                                                                                       \
    EXPORT void name parameters {                                                                                      \
        if (block == NULL || is_first(block) || !is_ready()) return;                                                   \
        call c = begin_call();                                                                                         \
        if (next.member != NULL)                                                                                       \
            next.member arguments;                                                                                     \
        else                                                                                                           \
            next.free(block);                                                                                          \
        end_call(&c, &record->frees);                                                                                  \
    }

TAKES(aligned_alloc, aligned_alloc, (size_t alignment, size_t size), (alignment, size), NULL)
TAKES(memalign, memalign, (size_t alignment, size_t size), (alignment, size), NULL)

/* operator new and delete. After a program has caught bad_alloc in a thread, that thread's calls are no longer
 * counted. */
TAKES(_Znwm, new_one, (size_t size), (size), next.malloc(size))
TAKES(_Znam, new_array, (size_t size), (size), next.malloc(size))
TAKES(_ZnwmRKSt9nothrow_t, new_quiet, (size_t size, const void *tag), (size, tag), next.malloc(size))
TAKES(_ZnamRKSt9nothrow_t, new_array_quiet, (size_t size, const void *tag), (size, tag), next.malloc(size))
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
    flatline_probe_record *shared = folder != NULL && is_ready() ? map_file(folder) : NULL;
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
