/* The heap's layout in memory, and the steps that its parts share.
 *
 * A block's size is a power of two, 32 << order bytes. From CELL_ORDER on, a block is a piece of the region in a binary
 * buddy system (Knuth, The Art of Computer Programming, 2.5). It starts at a multiple of its size, a larger piece is
 * halved until it fits, and a free piece merges with the other half of its parent piece as soon as that is free. Below
 * CELL_ORDER, a cell of 512 bytes holds 16, 8, 4 or 2 slots of one order. A piece counts as a cell with one slot, so
 * that the fast path of an alloc or a free need not distinguish the two.
 *
 *     cells    |   c   | c + 1 | c + 2 | c + 3  | ...
 *     states   [ 5 | 1 | NONE ][ 4 | 0 ][ 0 | 0xF ] ...     order | live slots
 *                live 1024      free 512  4 live slots of 32
 *
 * For each order there is a list of the cells with a free slot; from CELL_ORDER on, these are the free pieces. All of
 * it is in the metadata:
 *
 *     states[c]  what starts at cell c: the order, and a bit for each granule at which a live slot starts; NONE in the
 *                middle of a piece
 *     links[c]   of a cell with a free slot: its neighbours in the list
 *
 * links[cells] belongs to no cell: a list ends there, and writing to it has no effect.
 *
 *     bit o of `lists` is set iff heads[o] != cells iff list o has a member
 *     no two halves of one piece are both free; a cell of slots below CELL_ORDER has at least one live slot
 *     live + bytes in free slots == cells * CELL_SIZE */
#ifndef FLATLINE_CORE_HEAP_H
#define FLATLINE_CORE_HEAP_H

#include "memory.h"

#include <flatline/heap.h>
#include <stdint.h>

#define ORDERS 32    /* 32 << 31 bytes are FLAT_HEAP_MAX_BYTES */
#define CELL_ORDER 4 /* larger cells: less metadata, more memory for the first small block */
#define CELL_SIZE ((size_t)FLAT_HEAP_GRANULE << CELL_ORDER)
#define CELL_GRANULES ((size_t)1 << CELL_ORDER)

enum {
    ORDER_SHIFT = 16,
    NONE = 0, /* a cell of order 0 without a live slot: no cell stays in this state */
};

typedef struct heap_link {
    uint32_t next, previous;
} heap_link;

/* The members that are seldom used come first, and those that an alloc or a free needs come after them. The heap starts
 * a page, and so do blocks of a page or more. All those blocks compete with the first line of the heap's page in a
 * cache that has a set for each line of a page, so that this line is the least likely to stay cached. */
struct flat_heap {
    void *backing; /* what flat_heap_create mapped; NULL for a heap made by flat_heap_init */
    uint64_t refused;
    size_t alignment; /* the largest power of two that divides `start` */
    _Alignas(CACHE_LINE) uint32_t *states;
    heap_link *links;
    uintptr_t start; /* of cell 0 */
    size_t bytes;    /* cells * CELL_SIZE */
    size_t granules; /* cells * CELL_GRANULES */
    uint32_t cells;
    uint32_t lists;
    size_t live, high_water;
    uint32_t heads[ORDERS];
    uint16_t all_slots[ORDERS]; /* slots_of_cell(order), in memory that a cache can keep */
};

static inline size_t block_bytes(unsigned order) { return (size_t)FLAT_HEAP_GRANULE << order; }

/* The cells of a piece; 0 below CELL_ORDER. */
static inline size_t piece_cells(unsigned order) { return (uint32_t)1 << order >> CELL_ORDER; }

/* A bit for each granule of a cell at which a slot of `order` starts. */
static inline uint16_t slots_of_cell(unsigned order) {
    return (uint16_t)(order < CELL_ORDER ? 0x010111115555FFFFu >> (order * 16) : 1);
}

static inline uint32_t cell_state(unsigned order, uint32_t live_slots) {
    return (uint32_t)order << ORDER_SHIFT | live_slots;
}

/* The state of a free piece, or of a cell without a live slot. */
static inline uint32_t all_free(unsigned order) { return cell_state(order, 0); }

static inline unsigned order_in(uint32_t state) { return state >> ORDER_SHIFT; }

static inline uint32_t live_slots_in(uint32_t state) { return (uint16_t)state; }

static inline uint32_t free_slots_in(const flat_heap *heap, uint32_t state) {
    return heap->all_slots[order_in(state)] & ~state;
}

/* The order of the smallest block that holds `size` bytes, 0 counting as 1. */
static inline unsigned order_of(size_t size) {
    size_t last = size - (size != 0); /* the last byte's offset; its bits from 16 on up make the order */
    return (unsigned)(sizeof(unsigned long long) * 8 - 1) -
           (unsigned)__builtin_clzll(last / (FLAT_HEAP_GRANULE / 2) | 1);
}

static inline void list_push(flat_heap *heap, unsigned order, size_t cell) {
    uint32_t next = heap->heads[order];
    heap->heads[order] = (uint32_t)cell;
    if (next == heap->cells) heap->lists |= (uint32_t)1 << order;
    heap->links[next].previous = (uint32_t)cell;
    heap->links[cell].next = next;
}

/* `cell` is the head of its list; the `previous` of a head is undefined. */
static inline void list_pop(flat_heap *heap, unsigned order, size_t cell) {
    uint32_t next = heap->links[cell].next;
    heap->heads[order] = next;
    if (next == heap->cells) heap->lists &= ~((uint32_t)1 << order);
}

static inline void list_remove(flat_heap *heap, unsigned order, size_t cell) {
    if (heap->heads[order] == cell) {
        list_pop(heap, order, cell);
        return;
    }
    heap_link around = heap->links[cell];
    heap->links[around.previous].next = around.next;
    heap->links[around.next].previous = around.previous;
}

static inline void add_free_piece(flat_heap *heap, unsigned order, size_t cell) {
    heap->states[cell] = all_free(order);
    list_push(heap, order, cell);
}

#endif
