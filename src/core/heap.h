/* The heap as it lies in memory, and the steps that its parts share.
 *
 * A block's size is a power of two, 32 << order bytes. From CELL_ORDER on a block is a piece of the region in a binary
 * buddy system (Knuth, The Art of Computer Programming, 2.5): it starts at a multiple of its size, a larger piece is
 * halved until it fits, and a free piece merges with the other half of what it came from as soon as that is free.
 * Below, a cell of 512 bytes holds 16, 8, 4 or 2 slots of one order.
 *
 *     cells    | c | c + 1 | c + 2 | c + 3 | ...
 *     pieces   [  LIVE | 5 ][FREE|4][SLOTS|0: 16 slots of 32 bytes] ...
 *
 * For each order there is a list: of the free pieces, or of the cells with a free slot. All of it is in the metadata:
 *
 *     tags[c]    what starts at cell c: FREE, LIVE or SLOTS and the order; 0 in the middle of a piece
 *     slots[c]   of a cell of slots: bit g is set iff a free slot starts at granule g of the cell
 *     links[c]   of a free piece, or a cell with a free slot: its neighbours in the list
 *
 * links[cells] belongs to no cell: a list ends there, and writing to it does no harm.
 *
 *     bit o of `lists` is set iff heads[o] != cells iff list o has a member
 *     no two halves of one piece are both free; a cell of slots has at least one live slot
 *     live + bytes in free pieces and free slots == cells * CELL_SIZE */
#ifndef FLATLINE_CORE_HEAP_H
#define FLATLINE_CORE_HEAP_H

#include "memory.h"

#include <flatline/heap.h>
#include <stdint.h>

#define ORDERS 32    /* 32 << 31 bytes are FLAT_HEAP_MAX_BYTES */
#define CELL_ORDER 4 /* larger cells: less metadata, more memory for the first small block */
#define CELL_SIZE ((size_t)FLAT_HEAP_GRANULE << CELL_ORDER)
#define CELL_GRANULES ((size_t)1 << CELL_ORDER)

enum { ORDER_MASK = 31, LIVE = 32, FREE = 64, SLOTS = 128 };

typedef struct heap_link {
    uint32_t next, previous;
} heap_link;

struct flat_heap {
    heap_link *links;
    uint16_t *slots;
    uint8_t *tags;
    uintptr_t start; /* of cell 0 */
    size_t bytes;    /* cells * CELL_SIZE */
    size_t granules; /* cells * CELL_GRANULES */
    uint32_t cells;
    uint32_t lists;
    size_t alignment; /* the largest power of two that divides `start` */
    size_t live, high_water;
    uint64_t refused;
    void *backing; /* what flat_heap_create mapped; NULL of a heap made by flat_heap_init */
    uint32_t heads[ORDERS];
};

static inline size_t block_bytes(unsigned order) { return (size_t)FLAT_HEAP_GRANULE << order; }

static inline uint32_t piece_cells(unsigned order) { return (uint32_t)1 << (order - CELL_ORDER); }

/* A bit for each granule of a cell at which a slot of `order` starts. */
static inline uint32_t all_slots(unsigned order) { return (uint16_t)(0x010111115555FFFFu >> (order * 16)); }

/* The order of the smallest block that holds `size` bytes, 0 counting as 1. */
static inline unsigned order_of(size_t size) {
    size_t last = size - (size != 0); /* the last byte's offset; its bits from 16 on up make the order */
    return (unsigned)(sizeof(unsigned long long) * 8 - 1) -
           (unsigned)__builtin_clzll(last / (FLAT_HEAP_GRANULE / 2) | 1);
}

static inline void list_push(flat_heap *heap, unsigned order, uint32_t cell) {
    uint32_t next = heap->heads[order];
    heap->heads[order] = cell;
    if (next == heap->cells) heap->lists |= (uint32_t)1 << order;
    heap->links[next].previous = cell;
    heap->links[cell].next = next;
}

/* `cell` is the head of its list, whose `previous` means nothing. */
static inline void list_pop(flat_heap *heap, unsigned order, uint32_t cell) {
    uint32_t next = heap->links[cell].next;
    heap->heads[order] = next;
    if (next == heap->cells) heap->lists &= ~((uint32_t)1 << order);
}

static inline void list_remove(flat_heap *heap, unsigned order, uint32_t cell) {
    if (heap->heads[order] == cell) {
        list_pop(heap, order, cell);
        return;
    }
    heap_link around = heap->links[cell];
    heap->links[around.previous].next = around.next;
    heap->links[around.next].previous = around.previous;
}

static inline void add_free_piece(flat_heap *heap, unsigned order, uint32_t cell) {
    heap->tags[cell] = (uint8_t)(FREE | order);
    list_push(heap, order, cell);
}

#endif
