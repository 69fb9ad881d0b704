#define _GNU_SOURCE
#include "mapping.h"

#include "runs.h"

#include <errno.h>
#include <sys/mman.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000 /* Linux 4.17; before, the address is only a hint */
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

/* The errors that a filter of system calls returns for a call that it does not let through. */
static bool was_not_tried(void) { return errno == EPERM || errno == EACCES || errno == ENOSYS; }

unmap_result flat_unmap(void *start, size_t bytes) {
    if (munmap(start, bytes) == 0) return UNMAP_DONE;
    return was_not_tried() ? UNMAP_NOT_TRIED : UNMAP_UNKNOWN;
}

bool flat_discard(void *start, size_t bytes) {
    for (size_t at = 0; at < bytes; at += DISCARDED_AT_ONCE) {
        size_t piece = bytes - at < DISCARDED_AT_ONCE ? bytes - at : DISCARDED_AT_ONCE;
        if (madvise((char *)start + at, piece, MADV_DONTNEED) != 0) return false;
    }
    return true;
}

typedef enum claim_result { CLAIM_EMPTY, CLAIM_NO_ROOM, CLAIM_LOST } claim_result;

/* Whether nothing is mapped in a range: found by mapping it, and then unmapping it again. */
static claim_result claim(void *start, size_t bytes) {
    void *at = mmap(start, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (at == MAP_FAILED) return errno == EEXIST ? CLAIM_LOST : CLAIM_NO_ROOM;
    bool unmapped = munmap(at, bytes) == 0;
    return at == start && unmapped ? CLAIM_EMPTY : CLAIM_LOST;
}

/* Under a limit on address space there may be room only for a part. */
static claim_result claim_in_pieces(char *start, size_t bytes) {
    static const size_t piece = (size_t)1 << 20;
    claim_result result = CLAIM_EMPTY;
    for (size_t at = 0; at < bytes && result == CLAIM_EMPTY; at += piece) {
        result = claim(start + at, bytes - at < piece ? bytes - at : piece);
    }
    return result;
}

/* The kernel unmaps what is at the new place before it knows that it can move anything, so the place must be empty. It
 * refuses pages of more than one mapping as long as they become more. Otherwise Linux 6.17 and newer would move one
 * mapping after the other, and stop in the middle at one that cannot be moved. */
bool flat_move_pages(void *from, size_t bytes, void *to, size_t new_bytes, bool *lost) {
    claim_result place = claim(to, new_bytes);
    if (place == CLAIM_NO_ROOM) place = claim_in_pieces(to, new_bytes);
    *lost = place == CLAIM_LOST;
    return new_bytes > bytes && place == CLAIM_EMPTY &&
           mremap(from, bytes, new_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to;
}

bool flat_lengthen(void *start, size_t bytes, size_t new_bytes) { return mremap(start, bytes, new_bytes, 0) == start; }

void *flat_map_anywhere(size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at != MAP_FAILED ? at : NULL;
}

bool flat_system_has(size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return false;
    (void)munmap(at, bytes); /* if this fails, addresses stay mapped, but no memory */
    return true;
}

void flat_make_resident(const void *start, size_t bytes) {
    uintptr_t end = (uintptr_t)start + bytes;
    for (uintptr_t at = (uintptr_t)start & ~(PAGE - 1); at < end; at += PAGE) {
        (void)__atomic_fetch_or((unsigned char *)at, 0, __ATOMIC_RELAXED); /* others may write next to this byte */
    }
}
