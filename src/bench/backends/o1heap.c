/* o1heap: any size, in one region, in bounded time. Its library is preloaded like a peer's, and its functions are
 * looked up by symbol: the driver is built whether the library is installed or not. */
#define _GNU_SOURCE
#include "../backend.h"

#include <dlfcn.h>
#include <sys/mman.h>

typedef struct O1HeapInstance O1HeapInstance;

static O1HeapInstance *heap;
static union {
    void *symbol;
    void *(*call)(O1HeapInstance *, size_t);
} allocate;
static union {
    void *symbol;
    void (*call)(O1HeapInstance *, void *);
} release;

const bench_traits bench_backend = {.driver = "o1heap", .prefaults = true, .any_size = true};

enum {
    HEADER = 32, /* bytes before each block; the sum is rounded up to a power of two */
    REGION = 2,  /* times that sum: room for fragmentation */
};

bool bench_prepare(const bench_class *classes, size_t count, bench_pages pages) {
    union {
        void *symbol;
        O1HeapInstance *(*call)(void *, size_t);
    } make = {dlsym(RTLD_DEFAULT, "o1heapInit")};
    allocate.symbol = dlsym(RTLD_DEFAULT, "o1heapAllocate");
    release.symbol = dlsym(RTLD_DEFAULT, "o1heapFree");
    if (make.symbol == NULL || allocate.symbol == NULL || release.symbol == NULL) return false;
    size_t bytes = 0;
    for (size_t c = 0; c < count; c++) {
        size_t block = HEADER;
        while (block < classes[c].size + HEADER) block *= 2;
        bytes += REGION * block * classes[c].count;
    }
    int populate = pages == BENCH_PREFAULTED ? MAP_POPULATE : 0;
    void *region = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | populate, -1, 0);
    if (region == MAP_FAILED) return false;
    heap = make.call(region, bytes);
    return heap != NULL;
}

void *bench_alloc(size_t size) { return allocate.call(heap, size); }

void bench_free(void *block, size_t size) {
    (void)size;
    release.call(heap, block);
}

bench_function *bench_code(void) { return (bench_function *)allocate.call; }

/* The version that peers/build.sh stored in it. */
const char *bench_version(void) {
    const char *version = dlsym(RTLD_DEFAULT, "flatline_peer_version");
    return version != NULL ? version : "unknown";
}
