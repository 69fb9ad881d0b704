/* glibc's malloc with a fault that the programs here must detect. FAULT in the environment names it:
 *
 *   dirty    calloc returns memory of which a byte is not 0
 *   lost     a realloc to a MiB or more changes a byte of the content
 *   leak     each thread leaks 16 KiB
 *   few      malloc returns NULL from the 16,000th thread on
 *   end      malloc returns NULL from the 100,000th MiB on
 *   hoard    half of the limit of addresses, or of data, is mapped at the start
 *   blind    more than the machine's memory is served, and later limits are ignored
 *   stray    a failed call leaves a mapping behind
 *   pinned   64 MiB are mapped at the start */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);

enum { MIB = 1 << 20, THREADS = 16000, LEFT_BEHIND = 16 << 10 };

static atomic_size_t threads, served; /* threads that have called; bytes */
static _Thread_local bool is_known;
static char *reserve; /* what `blind` serves from: enough addresses that no later limit matters */
static const size_t reserved = (size_t)1 << 42;
static atomic_size_t used;

static bool does(const char *fault) {
    const char *wanted = getenv("FAULT");
    return wanted != NULL && strcmp(wanted, fault) == 0;
}

static void *map(size_t bytes, int rights) {
    void *made = mmap(NULL, bytes, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return made == MAP_FAILED ? NULL : made;
}

__attribute__((constructor)) static void begin(void) {
    struct rlimit as, data;
    if (getrlimit(RLIMIT_AS, &as) != 0 || getrlimit(RLIMIT_DATA, &data) != 0) abort();
    if (does("hoard") && as.rlim_cur != RLIM_INFINITY) (void)map(as.rlim_cur / 2, PROT_NONE);
    if (does("hoard") && data.rlim_cur != RLIM_INFINITY) (void)map(data.rlim_cur / 2, PROT_READ | PROT_WRITE);
    if (does("pinned")) (void)map((size_t)64 * MIB, PROT_READ | PROT_WRITE);
    if (does("blind")) reserve = map(reserved, PROT_READ | PROT_WRITE);
}

static void begin_thread(void) {
    is_known = true;
    (void)atomic_fetch_add(&threads, 1);
    if (!does("leak")) return;
    char *left = __libc_malloc(LEFT_BEHIND);
    if (left != NULL) memset(left, 1, LEFT_BEHIND);
}

void *malloc(size_t size) {
    if (!is_known) begin_thread();
    if (does("few") && atomic_load(&threads) > THREADS) return NULL;
    if (does("end") && atomic_fetch_add(&served, size) / MIB >= 100000) return NULL;
    if (reserve != NULL && size >= (size_t)512 * MIB) {
        size_t at = atomic_fetch_add(&used, size);
        return at + size <= reserved ? reserve + at : NULL;
    }
    void *block = __libc_malloc(size);
    if (block == NULL && does("stray")) (void)map(4096, PROT_READ);
    return block;
}

void *calloc(size_t count, size_t size) {
    char *block = __libc_calloc(count, size);
    if (block != NULL && count * size > 4096 && does("dirty")) block[count * size / 2] = 1;
    return block;
}

void *realloc(void *block, size_t size) {
    char *moved = __libc_realloc(block, size);
    if (moved != NULL && block != NULL && size >= MIB && does("lost")) moved[0] ^= 1;
    return moved;
}
