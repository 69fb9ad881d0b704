/* How a region is mapped and settled, shared by the files that make regions.
 *
 *   plan     what is mapped, how large, of which pages          region.c, region_file.c
 *   map      guards and body between them                       region_map.c
 *   settle   bind, make resident, lock, verify                  region_settle.c
 *   room     how large a file is, and what it has room for      region_room.c */
#ifndef FLATLINE_OS_REGION_H
#define FLATLINE_OS_REGION_H

#include <flatline/region.h>

#define HUGE_PAGE_LOG 21 /* 2 MiB: of x86-64 and of aarch64 with 4 KiB base pages */
#define HUGE_PAGE ((size_t)1 << HUGE_PAGE_LOG)

typedef struct region_plan {
    size_t size;         /* bytes asked for */
    size_t alignment;    /* of the start, at least; a power of two */
    size_t body;         /* bytes between the guards: whole pages */
    flat_pages pages;    /* the kind to try, or FLAT_PAGES_DEFAULT: as the system is set */
    flat_pages required; /* the least that will do */
    bool from_file;      /* false: private memory */
    int descriptor;      /* of the file */
    size_t file_size;    /* bytes, of a file that is made: what those who open it by name will map */
    uint64_t offset;     /* in the file, of the body */
    bool is_memory;      /* every page is memory of the kernel's, which touching does not change. Not so a device's */
    const flat_region_options *options;
} region_plan;

/* The same options for memory that nobody else needs to see: an allocator's bookkeeping. */
static inline flat_region_options flat_private_options(const flat_region_options *options) {
    flat_region_options own = options != NULL ? *options : (flat_region_options){.lazy = false};
    own.shared = false;
    own.name = NULL;
    return own;
}

static inline size_t flat_round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

size_t flat_base_page(void);

/* What an error of the system means, in words. */
const char *flat_error_text(int error);

/* Writes the line that the caller of a refused function gets, and returns `status`. */
flat_status flat_refuse(const flat_region_options *options, flat_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The soft limit that the process has of `resource`, in words: `text`, or a constant. */
const char *flat_limit_text(int resource, char *text, size_t size);

/* The same for a call of the system that failed with `error`: forbidden, short of something, or not to be had. */
flat_status flat_refuse_call(const flat_region_options *options, const char *call, int error);

/* FLAT_OK iff the kinds of pages make sense; `*most` gets the best kind to try, `*least` the least that will do. */
flat_status flat_choose_pages(const flat_region_options *options, flat_pages *most, flat_pages *least);

/* Maps and settles what is planned; on failure nothing stays mapped. */
flat_status flat_map_plan(flat_region *region, const region_plan *plan);

/* Gives a mapping back, guards and all. */
void flat_unmap_region(char *mapping, size_t mapping_size, char *body, size_t body_size);

/* Makes the body between the guards what the plan says. On failure it may be so in part. */
flat_status flat_settle(char *body, const region_plan *plan);

/* Locks the body in memory. */
flat_status flat_lock(char *body, size_t size, const flat_region_options *options);

/* The pages of the body, now and to come, lie on the node that the options name. */
flat_status flat_bind(char *body, size_t size, const flat_region_options *options);

/* A file without a name that nobody can cut or extend, of `plan->file_size` bytes. Sets `plan->descriptor`. */
flat_status flat_make_memory_file(region_plan *plan);

/* The shared memory object that the options name, of `plan->file_size` bytes. Sets `plan->descriptor`. */
flat_status flat_make_named_file(region_plan *plan);

/* Makes a new file `size` bytes long. Returns 0, or the error; what exceeds RLIMIT_FSIZE is one (EFBIG) and no signal.
 */
int flat_set_file_size(int file, uint64_t size);

/* Makes the file system hold room ready for `size` bytes that lie in the file. Returns 0, or the error. */
int flat_reserve_room(int file, uint64_t offset, uint64_t size);

/* FLAT_OK iff `name` is what a shared memory object can be called. */
flat_status flat_judge_name(const char *name, const flat_region_options *options);

#endif
