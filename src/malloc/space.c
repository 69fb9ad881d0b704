#define _GNU_SOURCE
#include "space.h"

#include "policy.h"
#include "say.h"

#include <flatline/sanitizer.h>

#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

address_space flat_space;

#define HEAP_MAX ((uint32_t)1 << 14) /* threads that have a heap of their own at a time */

/* What `bytes` of blocks take of each table. Each table begins in a page of its own, and no two at the same place in
 * one: a load waits for a store just before it if the last 12 bits of their addresses are equal. */
typedef struct table {
    size_t pointer; /* where in `flat_space` */
    size_t unit;    /* bytes of blocks for each entry */
    size_t entry;   /* bytes */
} table;

#define TABLE(name, bytes_of_blocks) {offsetof(address_space, name), bytes_of_blocks, sizeof *flat_space.name}
#define STATES(number) TABLE(states[number], SLOT_BYTES(number))
static const table tables[] = {
    TABLE(free, 64 * GRANULE),
    TABLE(tags, PAGE),
    TABLE(pages, PAGE),
    STATES(2),
    STATES(3),
    STATES(4),
    TABLE(dirty_pages, 64 * PAGE),
    TABLE(large, 64 * PAGE),
    TABLE(returned, 64 * PAGE),
    TABLE(page_marks, 64 * PAGE),
    TABLE(long_runs, LONG_RUN *PAGE),
    TABLE(chunk_marks, CHUNK),
    TABLE(chunk_heaps, CHUNK),
    TABLE(opened_states, CHUNK),
};
enum {
    TABLES = sizeof tables / sizeof *tables,
    OWNERS_TABLES = 3,  /* the first ones, which a chunk's owner uses for every block */
    UNITS = 2,          /* of these, the one that also has runs that are not long */
    BLOCKS_TABLES = 6,  /* the first ones, which mean nothing while nobody owns the chunk */
    DIRTY_PAGES = 6,    /* the first of those that have little for each chunk, */
    CHUNKS_TABLES = 11, /* and the first of those that have almost nothing */
};
#define APART_BYTES ((size_t)320) /* distance of the places in their first pages of one table and the next */

static char *mapped_end[TABLES]; /* of each table: whole pages */

static char *table_start(unsigned number) {
    char *start;
    memcpy(&start, (char *)&flat_space + tables[number].pointer, sizeof start);
    return start;
}

static void set_table_start(unsigned number, char *start) {
    memcpy((char *)&flat_space + tables[number].pointer, &start, sizeof start);
    mapped_end[number] = (char *)((uintptr_t)start & ~(PAGE - 1));
}

static size_t whole_pages(size_t bytes) { return (bytes + PAGE - 1) & ~(PAGE - 1); }

static size_t table_bytes(unsigned number, size_t bytes) { return bytes / tables[number].unit * tables[number].entry; }

/* With room for the table's place in its first page. */
static size_t table_room(unsigned number, size_t bytes) { return whole_pages(table_bytes(number, bytes)) + PAGE; }

static bool map_table(unsigned number, size_t bytes) {
    char *end = (char *)whole_pages((uintptr_t)table_start(number) + table_bytes(number, bytes));
    if (end <= mapped_end[number]) return true;
    if (flat_map(mapped_end[number], (size_t)(end - mapped_end[number])) != MAP_MADE) return false;
    mapped_end[number] = end;
    return true;
}

bool flat_open_tables(uint32_t to) {
    size_t bytes = ((size_t)to * PAGE + CHUNK - 1) & ~(CHUNK - 1);
    if (bytes <= flat_space.halves * HALF) return true;
    for (unsigned i = 0; i < TABLES; i++) {
        if (!map_table(i, bytes)) return false;
    }
    __atomic_store_n(&flat_space.halves, bytes / HALF, __ATOMIC_RELEASE);
    return true;
}

/* A chunk's part of a table. */
typedef struct table_part {
    char *start;
    size_t bytes;
} table_part;

static table_part part_of_chunk(unsigned number, uint32_t chunk) {
    return (table_part){table_start(number) + table_bytes(number, (size_t)chunk << CHUNK_SHIFT),
                        table_bytes(number, CHUNK)};
}

void flat_make_tables_resident(run_part pages) {
    for (unsigned i = 0; i < OWNERS_TABLES; i++) {
        const char *start = table_start(i) + table_bytes(i, (size_t)pages.first * PAGE);
        flat_make_resident(start, table_bytes(i, (size_t)pages.count * PAGE));
    }
}

/* A chunk's part of a table of states is mapped by quarters, and becomes resident by eighths. */
#define QUARTERS 4u
#define EIGHTHS 8u

/* What a table of states has for one of the pieces of which each chunk has so many. */
static table_part states_of_piece(unsigned number, uint32_t piece, uint32_t pieces) {
    size_t bytes = CHUNK / pieces / SLOT_BYTES(number);
    return (table_part){(char *)flat_space.states[number] + piece * bytes, bytes};
}

/* Bits in the chunk's word: which quarters are mapped, of the tables that are mapped as needed, and which eighths were
 * made resident. */
#define MAPPED_BITS (QUARTERS * MAPPED_AS_NEEDED)
_Static_assert(MAPPED_BITS + EIGHTHS * SLOT_TABLES <= 64, "a bit for each");
static uint64_t mapped_bit(unsigned number, uint32_t quarter) {
    return (uint64_t)1 << (QUARTERS * number + quarter % QUARTERS);
}
static uint64_t resident_bit(unsigned number, uint32_t eighth) {
    return (uint64_t)1 << (MAPPED_BITS + EIGHTHS * number + eighth % EIGHTHS);
}

static bool map_quarter(unsigned number, uint32_t quarter) {
    uint64_t *opened = &flat_space.opened_states[quarter / QUARTERS];
    if ((*opened & mapped_bit(number, quarter)) != 0) return true;
    table_part part = states_of_piece(number, quarter, QUARTERS);
    if (flat_map(part.start, part.bytes) != MAP_MADE) return false;
    *opened |= mapped_bit(number, quarter);
    return true;
}

static void make_eighth_resident(unsigned number, uint32_t eighth) {
    uint64_t *opened = &flat_space.opened_states[eighth / EIGHTHS];
    if ((*opened & resident_bit(number, eighth)) != 0) return;
    table_part part = states_of_piece(number, eighth, EIGHTHS);
    flat_make_resident(part.start, part.bytes);
    *opened |= resident_bit(number, eighth);
}

static uint32_t piece_of(uint32_t page, uint32_t pieces) { return page / (CHUNK_PAGES / pieces); }

bool flat_open_states(unsigned number, run_part pages, bool resident) {
    uint32_t first = pages.first, last = first + pages.count - 1;
    if (number < MAPPED_AS_NEEDED) {
        if (!map_quarter(number, piece_of(first, QUARTERS)) || !map_quarter(number, piece_of(last, QUARTERS)))
            return false;
    }
    if (!resident) return true;
    make_eighth_resident(number, piece_of(first, EIGHTHS));
    make_eighth_resident(number, piece_of(last, EIGHTHS));
    return true;
}

static void discard_mapped_states(uint32_t chunk) {
    uint64_t *opened = &flat_space.opened_states[chunk];
    *opened &= ((uint64_t)1 << MAPPED_BITS) - 1;
    for (uint64_t bits = *opened; bits != 0; bits &= bits - 1) {
        uint32_t bit = (uint32_t)__builtin_ctzll(bits);
        table_part part = states_of_piece(bit / QUARTERS, QUARTERS * chunk + bit % QUARTERS, QUARTERS);
        (void)flat_discard(part.start, part.bytes); /* refused: the memory stays, and means nothing */
    }
}

void flat_discard_tables(uint32_t chunk) {
    discard_mapped_states(chunk);
    for (unsigned i = 0; i < BLOCKS_TABLES; i++) {
        table_part part = part_of_chunk(i, chunk);
        char *first = (char *)whole_pages((uintptr_t)part.start);
        char *end = (char *)((uintptr_t)(part.start + part.bytes) & ~(PAGE - 1));
        (void)flat_discard(first, (size_t)(end - first)); /* refused: the memory stays, and means nothing */
    }
}

static uintptr_t page_before(uintptr_t address) { return address & ~(PAGE - 1); }

/* The pages of a table that describe only the inside of a run, and a part of it or a page next to that part. */
static table_part inside_of_run(unsigned number, run_part run, run_part part) {
    size_t each = tables[number].unit / PAGE, entry = tables[number].entry;
    size_t last_of_run = run.first + run.count - 1, last = part.first + part.count - 1;
    uintptr_t base = (uintptr_t)table_start(number);
    uintptr_t start = whole_pages(base + (run.first / each + 1) * entry),
              end = page_before(base + last_of_run / each * entry);
    /* While the part was in use, one run ended just before it, and another began just behind it. */
    size_t from = part.first == run.first ? part.first : part.first - 1, until = last == last_of_run ? last : last + 1;
    uintptr_t part_start = page_before(base + from / each * entry);
    uintptr_t part_end = whole_pages(base + (until / each + 1) * entry);
    if (start < part_start) start = part_start;
    if (end > part_end) end = part_end;
    return (table_part){(char *)start, start < end ? end - start : 0};
}

/* Whether a page of `dirty_pages` says that all are clean. */
static bool says_clean(const run_set *free, const char *page) {
    uint32_t first = (uint32_t)(page - (const char *)flat_space.dirty_pages) * 8, end = first + PAGE * 8;
    return flat_runs_clean_part(free, first, end).count == end - first;
}

void flat_discard_inside(const run_set *free, run_part run, run_part part) {
    table_part units = inside_of_run(UNITS, run, part);
    (void)flat_discard(units.start, units.bytes); /* refused: it stays, and means nothing; as below */
    for (unsigned i = DIRTY_PAGES; i < CHUNKS_TABLES; i++) {
        table_part inside = inside_of_run(i, run, part);
        for (char *page = inside.start; page != inside.start + inside.bytes; page += PAGE) {
            if (i != DIRTY_PAGES || says_clean(free, page)) (void)flat_discard(page, PAGE);
        }
    }
}

bool flat_pages_discard(run_part pages) {
    if (!flat_discard(page_address(pages.first), (size_t)pages.count * PAGE)) return false;
    (void)__atomic_fetch_add(&flat_space.discarded, pages.count, __ATOMIC_RELAXED);
    return true;
}

/* Lays the parts out from an address on, for `bytes` of blocks in total, and tries whether there is memory. */
static bool lay_out(uintptr_t base, size_t bytes) {
    char *at = (char *)(base & ~(CHUNK - 1));
    for (unsigned i = 0; i < TABLES; i++) {
        set_table_start(i, at + i * APART_BYTES);
        at += table_room(i, bytes);
    }
    for (unsigned i = 0; i < MAPPED_AS_NEEDED; i++) {
        flat_space.states[i] = (uint8_t *)whole_pages((uintptr_t)at);
        at = (char *)flat_space.states[i] + bytes / SLOT_BYTES(i);
    }
    flat_space.heaps = (char *)(((uintptr_t)at + THREAD_HEAP_BYTES - 1) & ~(THREAD_HEAP_BYTES - 1));
    uintptr_t end_of_heaps = (uintptr_t)flat_space.heaps + HEAP_MAX * THREAD_HEAP_BYTES;
    flat_space.heap_limit = HEAP_MAX;
    flat_space.start = (end_of_heaps + CHUNK - 1) & ~(CHUNK - 1);
    flat_space.origin = flat_space.start - HALF;
    flat_space.bytes = bytes;
    /* The last page shows that the addresses exist; a page of zeros stays in the place of heap 0. */
    void *last = (void *)(flat_space.start + bytes - PAGE);
    if (flat_map(last, PAGE) != MAP_MADE) return false;
    (void)flat_unmap(last, PAGE); /* if this is refused, it is in no one's way for long */
    return flat_map_zeros(flat_space.heaps, PAGE) == MAP_MADE;
}

#define TIB ((size_t)1 << 40)

/* Where the system puts a mapping that may lie anywhere; 0: it has no memory. Programs' own mappings lie near it, and
 * the place differs from one process to the next. */
static uintptr_t usual_place(void) {
    static const size_t least = (size_t)64 << 10;
    char *at = flat_map_anywhere(least);
    if (at == NULL) return 0;
    (void)flat_unmap(at, least);
    return (uintptr_t)at;
}

/* On x86-64 and most of aarch64, programs and the system's mappings next to them lie above 2^46 or below 2^40, whether
 * the system places these upwards or downwards. If the addresses between do not exist or are another's, an address well
 * below the usual place comes next. */
static bool find_addresses(void) {
    uintptr_t usual = usual_place();
    if (usual == 0) return false;
#if !defined(FLAT_THREAD_SANITIZER) /* ThreadSanitizer keeps all that is far from the usual place to itself */
    uintptr_t differing = (usual >> PAGE_SHIFT) % (4 * TIB / CHUNK) * CHUNK;
    if (lay_out(16 * TIB + differing, 4 * TIB) || lay_out(22 * TIB + differing, 4 * TIB)) return true;
#endif
    return (usual > 4 * TIB && lay_out(usual - TIB, TIB / 2)) || lay_out(usual / 2, TIB / 16);
}

/* Whether the system's pages have the size that the tables assume. If not, this is reported on stderr. */
static bool has_our_pages(void) {
    unsigned long bytes = getauxval(AT_PAGESZ);
    if (bytes == PAGE) return true;
    char line[160];
    int length =
        snprintf(line, sizeof line,
                 "flatline-malloc: the pages of this system have %lu bytes, and only %zu are supported: there is "
                 "no memory to be had; run the program without it\n",
                 bytes, PAGE);
    flat_say(line, (size_t)length);
    return false;
}

bool flat_space_open(void) {
    static bool open;
    if (open) return true;
    if (!has_our_pages() || !find_addresses()) return false;
    open = true;
    flat_policy_init();
    flat_size_classes_init(flat_policy.kept_at_hand);
    return true;
}
