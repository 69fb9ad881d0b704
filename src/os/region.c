/* Regions of new memory: decides from the options what to map. */
#define _GNU_SOURCE
#include "region_file.h"
#include "region_map.h"
#include "region_refusal.h"

#include <sys/mman.h>
#include <unistd.h>

static const flat_region_options defaults = {0};

/* FLAT_OK iff the arguments are in their ranges and do not contradict one another. */
static flat_status judge(size_t size, size_t alignment, const flat_region_options *options) {
    if (size == 0 || size > PTRDIFF_MAX / 2)
        return flat_refuse(options, FLAT_INVALID_ARGUMENT, "a region of %zu bytes: 1 to PTRDIFF_MAX / 2 are possible",
                           size);
    if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > HUGE_PAGE)
        return flat_refuse(options, FLAT_INVALID_ARGUMENT, "alignment %zu: powers of two up to %zu are possible",
                           alignment, HUGE_PAGE);
    if (options->name == NULL) return FLAT_OK;
    if (options->shared)
        return flat_refuse(options, FLAT_INVALID_ARGUMENT, "a region has a name or a descriptor: unset one of the two");
    flat_status status = flat_judge_name(options->name, options);
    if (status != FLAT_OK) return status;
    if (options->required_pages == FLAT_PAGES_EXPLICIT)
        return flat_refuse(options, FLAT_INVALID_ARGUMENT,
                           "explicit huge pages have no name: set shared instead, and pass the descriptor on");
    return FLAT_OK;
}

/* Makes a region of one kind of pages, in a new file if the options ask for one. */
static flat_status build(flat_region *region, size_t size, size_t alignment, flat_pages pages, flat_pages required,
                         const flat_region_options *options) {
    bool in_file = options->shared || options->name != NULL;
    /* A region that must be on huge pages consists of whole ones. */
    bool whole = pages == FLAT_PAGES_EXPLICIT || required == FLAT_PAGES_TRANSPARENT;
    region_plan plan = {
        .size = size,
        .alignment = alignment,
        .body = flat_round_up(in_file ? size : flat_round_up(size, alignment), whole ? HUGE_PAGE : flat_base_page()),
        .pages = pages,
        .required = required,
        .from_file = in_file,
        .descriptor = -1,
        .is_memory = true,
        .options = options};
    plan.file_size = whole ? plan.body : size;
    flat_status status = FLAT_OK;
    if (options->shared) status = flat_make_memory_file(&plan);
    if (options->name != NULL) status = flat_make_named_file(&plan);
    if (status != FLAT_OK) return status;
    status = flat_map_plan(region, &plan);
    if (status != FLAT_OK && options->name != NULL) (void)shm_unlink(options->name);
    bool keeps = status == FLAT_OK && options->shared;
    if (keeps) region->descriptor = plan.descriptor;
    if (plan.from_file && !keeps) (void)close(plan.descriptor);
    return status;
}

flat_status flat_region_create(flat_region *region, size_t size, size_t alignment, const flat_region_options *options) {
    flat_pages most, least;
    if (options == NULL) options = &defaults;
    if (region == NULL) return flat_refuse(options, FLAT_INVALID_ARGUMENT, "no region to describe the memory in");
    flat_status status = judge(size, alignment, options);
    if (status == FLAT_OK) status = flat_choose_pages(options, &most, &least);
    if (status != FLAT_OK) return status;
    if (most == FLAT_PAGES_EXPLICIT) {
        bool worth_it = size >= HUGE_PAGE && options->name == NULL;
        if (least == FLAT_PAGES_EXPLICIT || worth_it) {
            status = build(region, size, alignment, FLAT_PAGES_EXPLICIT, least, options);
            if (status == FLAT_OK || least == FLAT_PAGES_EXPLICIT) return status;
        }
        most = FLAT_PAGES_TRANSPARENT;
    }
    return build(region, size, alignment, most, least, options);
}

flat_status flat_region_from_memory(flat_region *region, flat_memory memory) {
    if (region == NULL || memory.start == NULL || memory.size == 0) return FLAT_INVALID_ARGUMENT;
    if ((uintptr_t)memory.start > UINTPTR_MAX - memory.size) return FLAT_INVALID_ARGUMENT;
    *region = (flat_region){.start = memory.start, .size = memory.size, .descriptor = -1};
    return FLAT_OK;
}

void flat_region_destroy(flat_region *region) {
    if (region == NULL || region->start == NULL) return;
    if (region->mapping != NULL) {
        size_t page = flat_base_page();
        uintptr_t start = (uintptr_t)region->start / page * page;
        size_t size = flat_round_up((uintptr_t)region->start + region->size, page) - start;
        flat_unmap_region(region->mapping, region->mapping_size, (char *)start, size);
        if (region->descriptor >= 0) (void)close(region->descriptor); /* no data is left to be written */
    }
    *region = (flat_region){0};
}
