/* What the malloc asks the system for: to map memory at a chosen address, and to take memory back. A system call that
 * fails may have acted on a part of its range: munmap and madvise on their first pages, a mapping at a fixed address by
 * unmapping what was there. So each function here says what is known of the range afterwards.
 *
 * The only advice given to madvise is MADV_DONTNEED: a program may at any time install a filter of system calls that
 * kills it for any other. Pages become resident by being touched. */
#ifndef FLATLINE_MALLOC_MAPPING_H
#define FLATLINE_MALLOC_MAPPING_H

#include <stdbool.h>
#include <stddef.h>

typedef enum map_result {
    MAP_MADE,     /* the whole range can be read and written, and reads as 0 */
    MAP_OCCUPIED, /* another mapping is in the range: nothing has changed */
    MAP_REFUSED   /* the system has no memory, or a limit is reached: nothing has changed */
} map_result;

/* Maps pages where nothing is mapped. */
map_result flat_map(void *start, size_t bytes);

/* Maps pages at an address that the system chooses; NULL: it has no memory. */
void *flat_map_anywhere(size_t bytes);

/* As flat_map(), but read-only: the pages stay 0, and need no memory. */
map_result flat_map_zeros(void *start, size_t bytes);

typedef enum unmap_result {
    UNMAP_DONE,
    UNMAP_NOT_TRIED, /* the system refuses the call as such: all pages are as they were */
    UNMAP_UNKNOWN    /* some may be mapped and others not, or be another's by now: never use the range again */
} unmap_result;

/* Unmaps mapped pages. Discard their memory before: it would stay if the result is not known. */
unmap_result flat_unmap(void *start, size_t bytes);

/* Returns the memory behind mapped pages to the OS, so that they read as 0. False: refused, for example for locked
 * pages; each page then has its bytes, or reads as 0. Threads that map or unmap something meanwhile wait for at most
 * one piece of DISCARDED_AT_ONCE bytes, about 60 us. */
#define DISCARDED_AT_ONCE ((size_t)1 << 20)
bool flat_discard(void *start, size_t bytes);

/* Moves pages to `to`, where none of our mappings lies, and makes them more. True: they are there, the new ones read as
 * 0, and nothing is mapped at `from`. False: they are where they were, and at `to` there is still no mapping of ours;
 * if `*lost`, addresses there must never be used again. */
bool flat_move_pages(void *from, size_t bytes, void *to, size_t new_bytes, bool *lost);

/* Extends mapped pages where nothing is mapped behind them. False: nothing has changed. */
bool flat_lengthen(void *start, size_t bytes, size_t new_bytes);

/* Whether the system would grant that many bytes to one request. */
bool flat_system_has(size_t bytes);

/* Touches each page of a range, so that it is resident; the content stays. A page fault for each that was not. */
void flat_make_resident(const void *start, size_t bytes);

#endif
