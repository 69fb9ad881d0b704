/* The sizes that small blocks come in: each multiple of 16 bytes up to 512, each of 32 up to 2 KiB, then 32 for each
 * doubling up to 16 KiB. Above 512 bytes at most a seventeenth of a block is more than was asked for. Eight classes for
 * each doubling, as others have, cost sqlite 6 % of its peak (its blocks of 1,032 and 4,368 bytes) and jq 3 %, while no
 * program that was looked at uses more than twice as many of these. */
#ifndef FLATLINE_MALLOC_SIZE_CLASS_H
#define FLATLINE_MALLOC_SIZE_CLASS_H

#include <stddef.h>
#include <stdint.h>

#define GRANULE ((size_t)16) /* bytes: every block starts at a multiple, as malloc must promise */
#define SMALL_MAX ((size_t)16 << 10)
#define CLASS_COUNT 177                    /* 1 to 176; 0 is no class of small blocks */
#define REQUESTS (SMALL_MAX / GRANULE + 1) /* of small blocks, by granules */

typedef struct size_class {
    uint32_t size;     /* bytes of a block: a multiple of GRANULE */
    uint16_t pages;    /* of a span: at most SPAN_PAGES */
    uint16_t capacity; /* blocks of a span */
    uint16_t kept;     /* free blocks that a thread keeps at hand: at most KEPT_MAX */
    uint16_t taken;    /* blocks that go from spans to a thread at once: half of these, `capacity` at most */
    uint16_t given;    /* and back: half of these, GIVEN_MAX at most */
    uint16_t slots;    /* in which of the tables their states are, see states.h: 0 to SLOT_TABLES - 1 */
    uint32_t kept_at;  /* where they lie, see thread_heap.h: entries before them */
} size_class;

#define SLOT_TABLES 5
#define SLOT_SHIFT(table) ((table) < 2 ? 4 + (table) : 2 + 2 * (table)) /* 4, 5, 6, 8, 10 */
#define SLOT_BYTES(table) ((size_t)1 << SLOT_SHIFT(table))

#define SPAN_PAGES 16 /* 64 KiB: a word of 64 bits has one for each word of 64 granules */
#define KEPT_MAX 128  /* with 64, what other threads free takes a sixth longer; 512 are no faster */
#define GIVEN_MAX 8   /* 16 make more frees take over 1 us, 4 make programs 1 % slower: docs/experiments/malloc.md */

/* What a thread keeps at hand of one class: blocks of so many bytes in all, KEPT_MAX at most, but so many blocks. */
typedef struct at_hand {
    size_t bytes;
    size_t blocks; /* 2 at least */
} at_hand;

#pragma GCC visibility push(hidden)
/* Of all classes; 0 before flat_size_classes_init(). */
extern size_class flat_size_classes[CLASS_COUNT];

/* The class that serves a request of (i - 1) * GRANULE + 1 to i * GRANULE bytes. */
extern uint8_t flat_class_of_granules[REQUESTS];
#pragma GCC visibility pop

/* Entries that a thread needs for all classes, one more than are kept for each: so many with 64 KiB and 8 blocks, the
 * most that a policy has. A test counts them. */
#define KEPT_ENTRIES 8318

static inline size_t granules_in(size_t size) { return (size + GRANULE - 1) / GRANULE; }

/* size: at most SMALL_MAX */
static inline size_t size_class_for(size_t size) { return flat_class_of_granules[granules_in(size)]; }

/* Fills the tables. */
void flat_size_classes_init(at_hand kept);

#endif
