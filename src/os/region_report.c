/* The pages of a region, as the kernel reports them. */
#define _GNU_SOURCE
#include "region_plan.h"
#include "smaps.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BATCH 512                   /* pages per system call */
#define PRESENT ((uint64_t)1 << 63) /* in an entry of /proc/self/pagemap */

typedef struct walk {
    size_t resident; /* bytes */
    int node;        /* as in flat_region_facts */
    bool any;        /* a page was found on `node` */
    int pagemap;     /* descriptor, or -1: the kernel reports nodes */
} walk;

static void see_node(walk *seen, int node) {
    if (seen->any && seen->node != node) node = FLAT_NODE_SEVERAL;
    seen->node = node;
    seen->any = true;
}

/* Adds the nodes of `count` pages; false iff the kernel does not report them. */
static bool ask_nodes(walk *seen, uintptr_t from, size_t count, size_t page) {
    void *pages[BATCH];
    int nodes[BATCH];
    for (size_t i = 0; i < count; i++) pages[i] = (void *)(from + i * page);
    if (syscall(SYS_move_pages, 0, count, pages, NULL, nodes, 0) != 0) return false;
    for (size_t i = 0; i < count; i++) {
        if (nodes[i] < 0) continue; /* not resident, or the shared zero page, which a write replaces */
        seen->resident += page;
        see_node(seen, nodes[i]);
    }
    return true;
}

/* Adds those of `count` pages that are resident; false iff the kernel does not report it. */
static bool ask_presence(walk *seen, uintptr_t from, size_t count, size_t page) {
    uint64_t entries[BATCH];
    size_t bytes = count * sizeof *entries;
    if (pread(seen->pagemap, entries, bytes, (off_t)(from / page * sizeof *entries)) != (ssize_t)bytes) return false;
    for (size_t i = 0; i < count; i++) {
        if ((entries[i] & PRESENT) != 0) seen->resident += page;
    }
    return true;
}

/* Walks the pages of [from, to). A system that forbids the query for nodes does so the first time. */
static bool walk_pages(walk *seen, uintptr_t from, uintptr_t to) {
    size_t page = flat_base_page();
    while (from < to) {
        size_t count = (to - from) / page < BATCH ? (to - from) / page : BATCH;
        if (seen->pagemap < 0 && !ask_nodes(seen, from, count, page)) {
            seen->pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
            if (seen->pagemap < 0) return false;
        }
        if (seen->pagemap >= 0 && !ask_presence(seen, from, count, page)) return false;
        from += count * page;
    }
    return true;
}

/* Bytes of [from, to) in which a mapping can have huge pages: those of [start, end) rounded inwards. */
static size_t room_for_huge(uint64_t start, uint64_t end, uint64_t from, uint64_t to) {
    uint64_t first = flat_round_up(start, HUGE_PAGE), last = end / HUGE_PAGE * HUGE_PAGE;
    if (first < from) first = from;
    if (last > to) last = to;
    return first < last ? last - first : 0;
}

/* The bytes of the mapping's huge pages that must be in [from, to): those that do not fit in the rest of it. */
static size_t certain_huge(const smaps_mapping *mapping, uint64_t from, uint64_t to) {
    size_t room = room_for_huge(mapping->start, mapping->end, mapping->start, mapping->end);
    size_t elsewhere = room - room_for_huge(mapping->start, mapping->end, from, to);
    return mapping->huge > elsewhere ? mapping->huge - elsewhere : 0;
}

/* Adds one mapping's share of the pages [from, to). */
static bool add_mapping(flat_region_facts *facts, walk *seen, const smaps_mapping *mapping, uint64_t from,
                        uint64_t to) {
    if (mapping->start >= to || mapping->end <= from) return true;
    if (from < mapping->start) from = mapping->start;
    if (to > mapping->end) to = mapping->end;
    size_t before = seen->resident;
    if (!walk_pages(seen, from, to)) return false;
    if (mapping->locked) facts->locked += seen->resident - before;
    facts->huge += certain_huge(mapping, from, to);
    if (facts->page_size == 0 || mapping->page_size < facts->page_size) facts->page_size = mapping->page_size;
    return true;
}

flat_status flat_region_report(const flat_region *region, flat_region_facts *facts) {
    if (region == NULL || facts == NULL || region->start == NULL) return FLAT_INVALID_ARGUMENT;
    size_t page = flat_base_page();
    uintptr_t from = (uintptr_t)region->start / page * page;
    uintptr_t to = flat_round_up((uintptr_t)region->start + region->size, page);
    flat_region_facts found = {.bytes = to - from};
    walk seen = {.node = FLAT_NODE_UNKNOWN, .pagemap = -1};
    smaps_reader reader;
    smaps_mapping mapping;
    int file = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
    if (file < 0) return FLAT_UNAVAILABLE;
    flat_smaps_begin(&reader, file);
    bool told = true;
    while (told && flat_smaps_next(&reader, &mapping)) told = add_mapping(&found, &seen, &mapping, from, to);
    (void)close(file);
    if (seen.pagemap >= 0) (void)close(seen.pagemap);
    if (!told || reader.failed || found.page_size == 0) return FLAT_UNAVAILABLE;
    found.resident = seen.resident;
    found.node = seen.pagemap >= 0 ? FLAT_NODE_UNKNOWN : seen.node;
    *facts = found;
    return FLAT_OK;
}
