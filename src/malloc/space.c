#define _GNU_SOURCE
#include "space.h"

#include "policy.h"
#include "thread_heap.h"

#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

flat_space space = {.lock = PTHREAD_MUTEX_INITIALIZER};

#define SPACE_MAX ((size_t)1 << 42)
#define SPACE_MIN ((size_t)64 << 20)
#define OPENED_AT_ONCE ((size_t)1 << 30) /* bytes of blocks: then the tables' next pages are made usable */
#define HEAP_MAX ((uint32_t)1 << 14)     /* threads at a time */

/* What `bytes` of blocks take of each table. Each begins a page, and no two at the same place of one: a load whose
 * address ends as that of a store just before it, in its last 12 bits, waits for that store. */
enum { TABLES = 11, OWNERS_TABLES = 4 /* the first ones, which serve a chunk's owner with every block */ };
typedef struct table {
    size_t pointer; /* where in `space` */
    size_t unit;    /* bytes of blocks for each entry */
    size_t entry;   /* bytes */
} table;

#define TABLE(name, bytes_of_blocks) {offsetof(flat_space, name), bytes_of_blocks, sizeof *space.name}
static const table tables[TABLES] = {
    TABLE(live, 32 * GRANULE),
    TABLE(free, 64 * GRANULE),
    TABLE(tags, PAGE),
    TABLE(pages, PAGE),
    TABLE(returned, 64 * GRANULE),
    TABLE(page_marks, 64 * PAGE),
    TABLE(chunk_marks, CHUNK),
    TABLE(slots, CHUNK),
    TABLE(chunks, CHUNK),
    TABLE(dirty_pages, 64 * PAGE),
    TABLE(dirty_chunks, 64 * CHUNK),
};
#define APART_BYTES ((size_t)320) /* from a table's place in its first page to that of the next */

static char *table_start(const table *of) {
    char *start;
    memcpy(&start, (char *)&space + of->pointer, sizeof start);
    return start;
}

static void set_table_start(const table *of, char *start) {
    memcpy((char *)&space + of->pointer, &start, sizeof start);
}

static size_t whole_pages(size_t bytes) { return (bytes + PAGE - 1) & ~(PAGE - 1); }

static size_t table_bytes(const table *of, size_t bytes) { return bytes / of->unit * of->entry; }

/* With room for its distance from the page's start. */
static size_t table_room(const table *of, size_t bytes) { return whole_pages(table_bytes(of, bytes)) + PAGE; }

static uint32_t heaps_for(size_t bytes) {
    size_t room = bytes / 16 / THREAD_HEAP_BYTES;
    return room < HEAP_MAX ? (uint32_t)room : HEAP_MAX;
}

bool flat_make_usable(void *start, size_t bytes) { return mprotect(start, bytes, PROT_READ | PROT_WRITE) == 0; }

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

void flat_make_resident(const void *start, size_t bytes) {
    uintptr_t first = (uintptr_t)start & ~(PAGE - 1), end = whole_pages((uintptr_t)start + bytes);
    (void)madvise((void *)first, end - first, MADV_POPULATE_WRITE);
}

void flat_make_tables_resident(uint32_t chunk) {
    for (unsigned i = 0; i < OWNERS_TABLES; i++) {
        const char *start = table_start(&tables[i]) + table_bytes(&tables[i], (size_t)chunk << CHUNK_SHIFT);
        flat_make_resident(start, table_bytes(&tables[i], CHUNK));
    }
}

static size_t opened_bytes(void) { return space.granules * GRANULE; }

/* Makes the tables usable for the blocks from `opened` on up to `to`. */
static bool open_tables(size_t to) {
    for (unsigned i = 0; i < TABLES; i++) {
        uintptr_t from = (uintptr_t)table_start(&tables[i]);
        uintptr_t first = (from + table_bytes(&tables[i], opened_bytes())) & ~(PAGE - 1);
        uintptr_t end = whole_pages(from + table_bytes(&tables[i], to));
        if (!flat_make_usable((void *)first, end - first)) return false;
    }
    __atomic_store_n(&space.granules, to / GRANULE, __ATOMIC_RELEASE);
    return true;
}

/* What a limit on address space leaves for us: half of it, a power of two. */
static size_t wanted_bytes(void) {
    struct rlimit limit;
    size_t bytes = SPACE_MAX;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return bytes;
    while (bytes > limit.rlim_cur / 2 && bytes > SPACE_MIN) bytes /= 2;
    return bytes;
}

static bool reserve(size_t bytes) {
    uint32_t heaps = heaps_for(bytes);
    size_t room = bytes + CHUNK + (heaps + 1) * THREAD_HEAP_BYTES;
    for (unsigned i = 0; i < TABLES; i++) room += table_room(&tables[i], bytes);
    char *at = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return false;
    for (unsigned i = 0; i < TABLES; i++) {
        set_table_start(&tables[i], at + i * APART_BYTES);
        at += table_room(&tables[i], bytes);
    }
    at =
        (char *)(((uintptr_t)at + THREAD_HEAP_BYTES - 1) & ~(THREAD_HEAP_BYTES - 1)); /* the spare one is room for it */
    space.heaps = at;
    space.heap_limit = heaps;
    at += heaps * THREAD_HEAP_BYTES;
    space.start = ((uintptr_t)at + CHUNK - 1) & ~(CHUNK - 1);
    space.live_bias = (uintptr_t)space.live - space.start / (32 * GRANULE) * sizeof *space.live;
    return true;
}

/* Whether the system's pages are those that the tables count in; says so on standard error where they are not. */
static bool has_our_pages(void) {
    unsigned long bytes = getauxval(AT_PAGESZ);
    if (bytes == PAGE) return true;
    char line[160];
    int length =
        snprintf(line, sizeof line,
                 "flatline-malloc: the pages of this system have %lu bytes, and only %zu are supported: there is "
                 "no memory to be had; run the program without it\n",
                 bytes, PAGE);
    (void)!write(STDERR_FILENO, line, (size_t)length);
    return false;
}

bool flat_space_open(void) {
    if (!has_our_pages()) return false;
    flat_policy_init();
    flat_size_classes_init(flat_policy.kept_at_hand);
    size_t bytes = wanted_bytes();
    while (!reserve(bytes)) {
        bytes /= 2;
        if (bytes < SPACE_MIN) return false;
    }
    space.bytes = bytes;
    flat_runs_init(&space.free_chunks, space.chunks, space.dirty_chunks);
    if (mprotect(space.heaps, PAGE, PROT_READ) != 0) return false; /* bins that are nobody's: see page_tag */
    return open_tables(bytes < OPENED_AT_ONCE ? bytes : OPENED_AT_ONCE);
}

/* Chunks that nobody ever had: NO_UNIT iff the address space is used up, or the system refuses. */
static uint32_t begin_chunks(uint32_t count) {
    uint32_t head = space.begun;
    size_t end = (size_t)(head + count) << CHUNK_SHIFT;
    if (end > space.bytes) return NO_UNIT;
    if (end > opened_bytes()) {
        size_t to = (end + OPENED_AT_ONCE - 1) / OPENED_AT_ONCE * OPENED_AT_ONCE;
        if (to > space.bytes) to = space.bytes;
        if (!open_tables(to)) return NO_UNIT;
    }
    if (!flat_make_usable(page_address((size_t)head * CHUNK_PAGES), (size_t)count << CHUNK_SHIFT)) return NO_UNIT;
    space.begun += count;
    space.chunks[head].count = count;
    space.credit += count * CHUNK_CREDIT * CREDIT_OF_GROWTH;
    if (flat_policy.kept_chunks != UINT32_MAX) space.owed = least(space.owed + count, space.free_chunks.dirty);
    return head;
}

static run_bounds all_chunks(void) { return (run_bounds){0, space.begun}; }

static uint32_t take_chunks(uint32_t count, unit_state *state) {
    uint32_t head = flat_runs_take(&space.free_chunks, count, state);
    if (head != NO_UNIT) return head;
    *state = UNIT_CLEAN;
    return begin_chunks(count);
}

static void lock_space(void) { (void)pthread_mutex_lock(&space.lock); }

static void unlock_space(void) {
    const run_set *chunks = &space.free_chunks;
    uint32_t of_heaps = __atomic_load_n(&space.heap_chunks, __ATOMIC_RELAXED);
    __atomic_store_n(&space.seen.dirty, chunks->dirty, __ATOMIC_RELAXED);
    __atomic_store_n(&space.seen.used, space.begun - chunks->free - of_heaps, __ATOMIC_RELAXED);
    __atomic_store_n(&space.seen.owed, space.owed, __ATOMIC_RELAXED);
    __atomic_store_n(&space.seen.credit, space.credit, __ATOMIC_RELAXED);
    (void)pthread_mutex_unlock(&space.lock);
}

uint32_t flat_chunks_take(uint32_t count, uint32_t alignment, unit_state *state) {
    uint64_t room = (uint64_t)count + alignment - 1;
    if (room > RUN_MAX) return NO_UNIT;
    lock_space();
    uint32_t head = take_chunks((uint32_t)room, state);
    space.credit++;
    if (head != NO_UNIT) {
        size_t place = (space.start >> CHUNK_SHIFT) + head;
        uint32_t before = (uint32_t)(-place & (alignment - 1));
        flat_runs_cut(&space.free_chunks, head, (run_cut){before, count, *state}, all_chunks());
        head += before;
    }
    unlock_space();
    return head;
}

bool flat_chunks_extend(uint32_t head, uint32_t more) {
    lock_space();
    bool done = flat_runs_extend(&space.free_chunks, head, more, all_chunks());
    if (!done && head + space.chunks[head].count == space.begun && begin_chunks(more) != NO_UNIT) {
        space.chunks[head].count += more;
        done = true;
    }
    unlock_space();
    return done;
}

void flat_chunks_cut(uint32_t head, uint32_t count) {
    lock_space();
    flat_runs_cut(&space.free_chunks, head, (run_cut){0, count, UNIT_DIRTY}, all_chunks());
    unlock_space();
}

void flat_chunks_give(uint32_t head, unit_state state) {
    lock_space();
    run_given given = {space.chunks[head].count, state};
    flat_runs_give(&space.free_chunks, head, given, all_chunks());
    unlock_space();
}

/* One free chunk that may hold memory, or none; `space.lock` is held. */
static run_part take_dirty_chunk(void) { return flat_runs_take_dirty(&space.free_chunks, 1); }

static bool may_clean_chunk(void) {
    if (space.owed != 0)
        space.owed--;
    else if (space.credit >= CHUNK_CREDIT)
        space.credit -= CHUNK_CREDIT;
    else
        return false;
    return true;
}

static bool clean_chunk(run_part part) {
    if (part.count == 0) return false;
    flat_pages_discard((run_part){part.first * CHUNK_PAGES, CHUNK_PAGES});
    flat_chunks_give(part.first, UNIT_CLEAN);
    return true;
}

bool flat_chunks_clean(void) {
    lock_space();
    run_part part = may_clean_chunk() ? take_dirty_chunk() : (run_part){0, 0};
    unlock_space();
    return clean_chunk(part);
}

void flat_chunks_clean_all(void) {
    run_part part;
    do {
        lock_space();
        part = take_dirty_chunk();
        space.credit = (uint64_t)space.begun * CHUNK_CREDIT * CREDIT_OF_GROWTH;
        space.owed = 0;
        unlock_space();
    } while (clean_chunk(part));
}

void flat_pages_discard(run_part pages) {
    (void)madvise(page_address(pages.first), (size_t)pages.count * PAGE, MADV_DONTNEED);
    (void)__atomic_fetch_add(&space.discarded, pages.count, __ATOMIC_RELAXED);
}
