/* The sizes of small blocks: each multiple of 16 bytes up to 512, each of 32 up to 2 KiB, then 32 for each doubling up
 * to 16 KiB. Above 512 bytes at most a seventeenth of a block is more than was asked for. Eight classes for each
 * doubling, as other allocators have, cost sqlite 6 % of its peak (its blocks of 1,032 and 4,368 bytes) and jq 3 %. No
 * program that was examined uses more than twice as many classes because of the 32. */
#ifndef FLATLINE_MALLOC_SIZE_CLASS_H
#define FLATLINE_MALLOC_SIZE_CLASS_H

#include <stddef.h>
#include <stdint.h>

#define GRANULE ((size_t)16) /* bytes; every block starts at a multiple, as malloc must promise */
#define SMALL_MAX ((size_t)16 << 10)
#define CLASS_COUNT 177                    /* 1 to 176; 0 is no class of small blocks */
#define REQUESTS (SMALL_MAX / GRANULE + 1) /* requests for small blocks, in granules */

typedef struct size_class {
    uint32_t size;     /* bytes of a block: a multiple of GRANULE */
    uint16_t pages;    /* of a span: at most SPAN_PAGES */
    uint16_t capacity; /* blocks of a span */
    uint16_t kept;     /* free blocks in a thread cache: at most KEPT_MAX */
    uint16_t taken;    /* blocks that spans give a thread at once: half of `kept`, at most `capacity` */
    uint16_t given;    /* blocks that it returns: half of `kept`, at most GIVEN_MAX */
    uint16_t slots;    /* the table that has their states, see states.h: 0 to SLOT_TABLES - 1 */
    uint32_t kept_at;  /* start of the cached blocks, see thread_heap.h: entries before them */
} size_class;

#define SLOT_TABLES 5
#define SLOT_SHIFT(table) ((table) < 2 ? 4 + (table) : 2 + 2 * (table)) /* 4, 5, 6, 8, 10 */
#define SLOT_BYTES(table) ((size_t)1 << SLOT_SHIFT(table))

#define SPAN_PAGES 16 /* 64 KiB: a 64-bit word has a bit for each word of 64 granules */
#define KEPT_MAX 128  /* with 64, remote frees take a sixth longer; 512 is no faster */
#define GIVEN_MAX 8   /* with 16, more frees take over 1 us; 4 makes programs 1 % slower: docs/experiments/malloc.md */

/* What a thread cache keeps of one class: blocks of this many bytes in total, at most KEPT_MAX of them, but at least
 * `blocks`. */
typedef struct at_hand {
    size_t bytes;
    size_t blocks; /* at least 2 */
} at_hand;

#pragma GCC visibility push(hidden)
/* All classes; 0 before flat_size_classes_init(). */
extern size_class flat_size_classes[CLASS_COUNT];

/* The class that serves a request of (i - 1) * GRANULE + 1 to i * GRANULE bytes. */
extern uint8_t flat_class_of_granules[REQUESTS];
#pragma GCC visibility pop

/* Entries that a thread needs for all classes, one more than are kept for each: this many with 64 KiB and 8 blocks, the
 * most that a policy has. A test counts them. */
#define KEPT_ENTRIES 8318

static inline size_t granules_in(size_t size) { return (size + GRANULE - 1) / GRANULE; }

/* size: at most SMALL_MAX */
static inline size_t size_class_for(size_t size) { return flat_class_of_granules[granules_in(size)]; }

/* Fills the tables. */
void flat_size_classes_init(at_hand kept);

#endif
