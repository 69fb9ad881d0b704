/* The plan of a region, before it is mapped:
 *
 *   plan      what is mapped, how large, of which pages         region.c, region_file.c
 *   map       guards and body between them                      region_map.c
 *   settle    bind, make resident, lock, verify                 region_settle.c
 *   room      how large a file is, and what it has room for     region_room.c
 *   refusal   what the caller is told if that fails             region_refusal.c */
#ifndef FLATLINE_OS_REGION_PLAN_H
#define FLATLINE_OS_REGION_PLAN_H

#include <flatline/region.h>

#define HUGE_PAGE_LOG 21 /* 2 MiB: of x86-64 and of aarch64 with 4 KiB base pages */
#define HUGE_PAGE ((size_t)1 << HUGE_PAGE_LOG)

typedef struct region_plan {
    size_t size;         /* bytes requested */
    size_t alignment;    /* of the start, at least; a power of two */
    size_t body;         /* bytes between the guards: whole pages */
    flat_pages pages;    /* the kind to try, or FLAT_PAGES_DEFAULT: the system's setting */
    flat_pages required; /* the lowest acceptable kind */
    bool from_file;      /* false: private memory */
    int descriptor;      /* of the file */
    size_t file_size;    /* bytes of a new file: what processes that open it by name will map */
    uint64_t offset;     /* in the file, of the body */
    bool is_memory;      /* every page is the kernel's memory, and touching does not change it. False for a device */
    const flat_region_options *options;
} region_plan;

/* The same options for memory that no other process needs to see: an allocator's metadata. */
static inline flat_region_options flat_private_options(const flat_region_options *options) {
    flat_region_options own = options != NULL ? *options : (flat_region_options){.lazy = false};
    own.shared = false;
    own.name = NULL;
    return own;
}

static inline size_t flat_round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

size_t flat_base_page(void);

/* FLAT_OK iff the kinds of pages make sense; `*most` gets the best kind to try, `*least` the lowest acceptable one. */
flat_status flat_choose_pages(const flat_region_options *options, flat_pages *most, flat_pages *least);

#endif
