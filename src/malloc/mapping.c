#define _GNU_SOURCE
#include "mapping.h"

#include "runs.h"

#include <errno.h>
#include <sys/mman.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000 /* Linux 4.17; before, the address is a wish that may not be granted */
#endif

static map_result map(void *start, size_t bytes, int protection) {
    void *at = mmap(start, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (at == start) return MAP_MADE;
    if (at == MAP_FAILED) return errno == EEXIST ? MAP_OCCUPIED : MAP_REFUSED;
    (void)munmap(at, bytes); /* if this fails, addresses that nobody needs stay mapped */
    return MAP_OCCUPIED;
}

map_result flat_map(void *start, size_t bytes) { return map(start, bytes, PROT_READ | PROT_WRITE); }
map_result flat_map_zeros(void *start, size_t bytes) { return map(start, bytes, PROT_READ); }

/* Of a range of ours, parts of which may be mapped: all of it becomes so. */
static unmap_result map_again(void *start, size_t bytes) {
    void *at = mmap(start, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    return at == start ? UNMAP_STILL_MAPPED : UNMAP_UNKNOWN;
}

unmap_result flat_unmap(void *start, size_t bytes) {
    if (munmap(start, bytes) == 0) return UNMAP_DONE;
    /* This fails with ENOMEM where a page is not mapped, and with EINVAL where one is locked. */
    return madvise(start, bytes, MADV_DONTNEED) == 0 ? UNMAP_STILL_MAPPED : map_again(start, bytes);
}

bool flat_discard(void *start, size_t bytes) { return madvise(start, bytes, MADV_DONTNEED) == 0; }

/* The kernel unmaps what is at the new place before it knows that it can move anything, so the new place is claimed
 * first. Pages of more than one mapping are refused as long as they become more; otherwise Linux 6.17 and newer would
 * move one mapping after the other, and stop in the middle where one cannot be moved. */
bool flat_move_pages(void *from, size_t bytes, void *to, size_t new_bytes, unmap_result *left) {
    *left = UNMAP_DONE;
    if (new_bytes <= bytes) return false;
    void *claimed = mmap(to, new_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (claimed != MAP_FAILED && claimed != to) (void)munmap(claimed, new_bytes);
    if (claimed != to && (claimed != MAP_FAILED || errno == EEXIST)) {
        *left = UNMAP_UNKNOWN; /* another mapping is there */
        return false;
    }
    /* Under a limit of address space there may be no room for both, but for the one in place of the other. */
    if (mremap(from, bytes, new_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to) return true;
    if (munmap(to, new_bytes) != 0) *left = map_again(to, new_bytes);
    return false;
}

bool flat_lengthen(void *start, size_t bytes, size_t new_bytes) { return mremap(start, bytes, new_bytes, 0) == start; }

void *flat_map_anywhere(size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at != MAP_FAILED ? at : NULL;
}

bool flat_system_has(size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return false;
    (void)munmap(at, bytes); /* if this fails, addresses stay mapped, and no memory */
    return true;
}

void flat_make_resident(const void *start, size_t bytes) {
    uintptr_t end = (uintptr_t)start + bytes;
    for (uintptr_t at = (uintptr_t)start & ~(PAGE - 1); at < end; at += PAGE) {
        (void)__atomic_fetch_or((unsigned char *)at, 0, __ATOMIC_RELAXED); /* others may write beside this byte */
    }
}
