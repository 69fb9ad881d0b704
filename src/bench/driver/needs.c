/* The allocator that counts the requests of a round of `containers`. */
#include "containers.h"
#include "driver.h"

enum { GRANULE = 16, ROOM = 4 << 20 /* bytes: a round requests less than a quarter of a MiB */ };

bench_needs bench_work_needs;

static char *room;
static size_t used;

static size_t rounded(size_t size) { return size == 0 ? GRANULE : (size + GRANULE - 1) / GRANULE * GRANULE; }

/* Live blocks of each size, in the order of bench_work_needs.sizes. */
static size_t live_of[MOST_SIZES];

static size_t place_of(size_t size) {
    bench_needs *all = &bench_work_needs;
    size_t at = 0;
    while (at < all->size_count && all->sizes[at].size < size) at++;
    if (at < all->size_count && all->sizes[at].size == size) return at;
    if (all->size_count == MOST_SIZES)
        fail(STATUS_FAILED, "a workload asks for more sizes than a pool has classes", "");
    size_t above = all->size_count - at;
    memmove(&all->sizes[at + 1], &all->sizes[at], above * sizeof *all->sizes);
    memmove(&live_of[at + 1], &live_of[at], above * sizeof *live_of);
    all->sizes[at] = (bench_class){size, 0};
    live_of[at] = 0;
    all->size_count++;
    return at;
}

void *bench_count_alloc(size_t size) {
    bench_needs *all = &bench_work_needs;
    const size_t bytes = rounded(size), at = place_of(bytes);
    if (room == NULL) room = own(ROOM);
    if (bytes > ROOM - used) fail(STATUS_FAILED, "a workload asks for more memory than the count has room for", "");
    if (++live_of[at] > all->sizes[at].count) all->sizes[at].count = live_of[at];
    if (all->requests == 0 || size < all->smallest) all->smallest = size;
    if (size > all->largest) all->largest = size;
    all->requests++;
    all->total += bytes;
    all->live += size;
    if (all->live > all->peak) all->peak = all->live;
    used += bytes;
    return room + used - bytes;
}

void bench_count_free(void *block, size_t size) {
    if (block == NULL) return;
    live_of[place_of(rounded(size))]--;
    bench_work_needs.live -= size;
}
