#define _GNU_SOURCE
#include <flatline/region.h>

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE ((size_t)2 << 20) /* bytes: of x86-64 and of aarch64 with 4 KiB base pages */

static size_t page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

static size_t round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

/* Every page written once. Since Linux 5.14 one call brings them all, and says where memory runs out; an emulator may
 * answer yes and do nothing, so they are written in any case. */
static bool make_resident(char *start, size_t size) {
#ifdef MADV_POPULATE_WRITE
    if (madvise(start, size, MADV_POPULATE_WRITE) != 0 && errno != EINVAL) return false;
#endif
    for (size_t at = 0; at < size; at += page_size()) ((volatile char *)start)[at] = 0;
    return true;
}

/* Fills the body of a mapping. Huge pages are asked for only while that happens: pages granted then stay as they are,
 * and the kernel does not collapse the others later, which would stop the program for the time it takes. */
static bool fill(char *start, size_t size, const flat_region_options *options) {
    if (options->lazy) return true;
    bool huge = !options->base_pages && size >= HUGE_PAGE;
    if (huge) (void)madvise(start, size, MADV_HUGEPAGE); /* refused where the kernel has none: base pages serve */
    bool resident = make_resident(start, size);
    (void)madvise(start, size, MADV_NOHUGEPAGE);
    return resident;
}

flat_status flat_region_create(flat_region *region, size_t size, size_t alignment, const flat_region_options *options) {
    static const flat_region_options defaults = {0};
    if (region == NULL || size == 0 || size > PTRDIFF_MAX / 2) return FLAT_INVALID_ARGUMENT;
    if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > HUGE_PAGE) return FLAT_INVALID_ARGUMENT;
    if (options == NULL) options = &defaults;
    size_t page = page_size();
    size_t body = round_up(round_up(size, alignment), page);
    /* Room to place the body's end at a multiple of `alignment`, and its start at one of a huge page where it has some.
     */
    size_t grain = body >= HUGE_PAGE ? HUGE_PAGE : alignment > page ? alignment : page;
    size_t mapping_size = body + grain + 2 * page;
    char *mapping = mmap(NULL, mapping_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) return FLAT_OUT_OF_MEMORY;
    char *start = (char *)round_up((uintptr_t)mapping + page, grain);
    char *end = start + body;
    if (mprotect(start, body, PROT_READ | PROT_WRITE) != 0 || !fill(start, body, options)) {
        (void)munmap(mapping, mapping_size);
        return FLAT_OUT_OF_MEMORY;
    }
    *region = (flat_region){
        .start = end - round_up(size, alignment), .size = size, .mapping = mapping, .mapping_size = mapping_size};
    return FLAT_OK;
}

void flat_region_destroy(flat_region *region) {
    if (region == NULL || region->mapping == NULL) return;
    (void)munmap(region->mapping, region->mapping_size);
    *region = (flat_region){0};
}
