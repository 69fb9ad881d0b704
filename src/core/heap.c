/* The bounded functions: alloc, aligned alloc, realloc and free. The fast path of alloc and free is straight-line code.
 * The code that halves and merges is separate. It takes one forward step for each order between two sizes, unrolled: at
 * most STEPS. */
#include "heap.h"

#include "compiler.h"
#include "instrument.h"

#include <flatline/bounded.h>

#define STEPS (ORDERS - CELL_ORDER) /* 28 */

void *memcpy(void *restrict to, const void *restrict from, size_t size);

static inline void *address_of(const flat_heap *heap, size_t granule) {
    return (void *)(heap->start + granule * FLAT_HEAP_GRANULE);
}

static inline void count_live(flat_heap *heap, size_t bytes) {
    heap->live += bytes;
    if (UNLIKELY(heap->live > heap->high_water)) heap->high_water = heap->live;
}

/* Gives `order` to a cell whose first slot is live and whose other slots, if it has any, are free. */
static inline void open_cell(flat_heap *heap, unsigned order, size_t cell) {
    heap->states[cell] = cell_state(order, 1);
    if (order < CELL_ORDER) list_push(heap, order, cell);
}

/* A piece of `order`, cut from the smallest free one that holds it; `cells` if there is none. The bound depends on
 * taking the smallest, and so does the fact that each upper half is alone in its list. */
static inline size_t cut_piece(flat_heap *heap, unsigned order) {
    uint32_t enough = heap->lists >> order << order;
    if (enough == 0) return heap->cells;
    unsigned at = (unsigned)__builtin_ctz(enough);
    size_t cell = heap->heads[at];
    list_pop(heap, at, cell);
    heap->lists |= ((uint32_t)1 << at) - ((uint32_t)1 << order);
#pragma GCC unroll 28
    for (unsigned step = 0; step < STEPS; step++) {
        if (at == order) break;
        at--;
        size_t half = cell + piece_cells(at);
        heap->states[half] = all_free(at);
        heap->heads[at] = (uint32_t)half;
        heap->links[half].next = heap->cells;
    }
    return cell;
}

static NOINLINE void *refuse(flat_heap *heap) {
    heap->refused++;
    return NULL;
}

/* Allocates a block of `order` from a larger piece, because the order's list is empty. */
static NOINLINE void *take_rarely(flat_heap *heap, unsigned order, size_t size) {
    size_t cell = cut_piece(heap, order < CELL_ORDER ? CELL_ORDER : order);
    if (cell == heap->cells) return refuse(heap);
    open_cell(heap, order, cell);
    count_live(heap, block_bytes(order));
    void *block = address_of(heap, cell * CELL_GRANULES);
    instrument_alloc(heap, block, size);
    return block;
}

/* Takes the first free slot of `cell`, the head of the list of `order`. */
static inline void *take_slot(flat_heap *heap, unsigned order, size_t cell) {
    uint32_t state = heap->states[cell];
    uint32_t slots = heap->all_slots[order] & ~state;
    heap->states[cell] = state | (slots & (0 - slots));
    if ((slots & (slots - 1)) == 0) list_pop(heap, order, cell);
    return address_of(heap, cell * CELL_GRANULES + (size_t)__builtin_ctz(slots));
}

void *flat_heap_alloc(flat_heap *heap, size_t size) {
    if (UNLIKELY(size > heap->bytes)) return refuse(heap);
    unsigned order = order_of(size);
    size_t cell = heap->heads[order];
    if (UNLIKELY(cell == heap->cells)) return take_rarely(heap, order, size);
    count_live(heap, block_bytes(order));
    void *block = take_slot(heap, order, cell);
    instrument_alloc(heap, block, size);
    return block;
}
FLAT_BOUNDED("flat_heap_alloc");

void *flat_heap_aligned_alloc(flat_heap *heap, size_t alignment, size_t size) {
    bool possible = alignment != 0 && (alignment & (alignment - 1)) == 0 && alignment <= heap->alignment;
    if (!possible) return refuse(heap);
    size_t least = size > alignment ? size : alignment; /* a block is aligned to its size */
    void *block = flat_heap_alloc(heap, least);
    if (block != NULL) instrument_resize(heap, block, least, size);
    return block;
}
FLAT_BOUNDED("flat_heap_aligned_alloc");

/* Whether the other half of the parent of the piece at `cell` is free; below CELL_ORDER, whether the cell itself is. */
static inline bool is_half_free(const flat_heap *heap, unsigned order, size_t cell) {
    size_t half = cell ^ piece_cells(order);
    return half < heap->cells && heap->states[half] == all_free(order);
}

/* Adds the cell, which has no live slot, to the free pieces, and merges it as far as possible. */
static NOINLINE flat_status merge(flat_heap *heap, size_t cell) {
    unsigned order = order_in(heap->states[cell]);
    if (order < CELL_ORDER) {
        list_remove(heap, order, cell);
        order = CELL_ORDER;
    }
#pragma GCC unroll 28
    for (unsigned step = 0; step < STEPS; step++) {
        if (!is_half_free(heap, order, cell)) break;
        size_t size = piece_cells(order);
        list_remove(heap, order, cell ^ size);
        heap->states[cell | size] = NONE;
        cell &= ~size;
        order++;
    }
    add_free_piece(heap, order, cell);
    return FLAT_OK;
}

/* Why no live block starts at `address`. */
static NOINLINE flat_status refusal(const flat_heap *heap, const void *address) {
    size_t offset = (uintptr_t)address - heap->start;
    if (address == NULL) return FLAT_OK;
    if (offset >= heap->bytes) return FLAT_FOREIGN_POINTER;
    size_t granule = offset / FLAT_HEAP_GRANULE;
    uint32_t cell = (uint32_t)(granule / CELL_GRANULES);
    uint32_t state = heap->states[cell];
    /* The piece that holds the cell starts at a multiple of its size; the cells between its start and this cell are
     * NONE. */
#pragma GCC unroll 28
    for (unsigned step = 1; step < STEPS; step++) {
        if (state != NONE) break;
        state = heap->states[cell >> step << step];
    }
    uint32_t slot = (uint32_t)1 << (granule % CELL_GRANULES >> order_in(state) << order_in(state));
    return (state & slot) == 0 ? FLAT_DOUBLE_FREE : FLAT_INTERIOR_POINTER;
}

/* The number of the granule at `address`; at or above `granules` iff none starts there. One rotation answers whether it
 * is a start and whether it is in this heap. */
static inline size_t granule_of(const flat_heap *heap, const void *address) {
    size_t offset = (uintptr_t)address - heap->start;
    return offset / FLAT_HEAP_GRANULE | offset * (SIZE_MAX / FLAT_HEAP_GRANULE + 1);
}

/* Whether a live slot starts at the granule, in a cell with this state. */
static inline bool slot_is_live(uint32_t state, size_t granule) { return (state >> granule % CELL_GRANULES & 1) != 0; }

flat_status flat_heap_free(flat_heap *heap, void *block) {
    size_t granule = granule_of(heap, block);
    if (UNLIKELY(granule >= heap->granules)) return refusal(heap, block);
    size_t cell = granule / CELL_GRANULES;
    uint32_t state = heap->states[cell];
    if (UNLIKELY(!slot_is_live(state, granule))) return refusal(heap, block);
    unsigned order = order_in(state);
    heap->live -= block_bytes(order);
    instrument_free(heap, block, block_bytes(order));
    heap->states[cell] = state & ~((uint32_t)1 << granule % CELL_GRANULES);
    if (UNLIKELY(is_half_free(heap, order, cell))) return merge(heap, cell);
    if (live_slots_in(state) == heap->all_slots[order]) list_push(heap, order, cell);
    return FLAT_OK;
}
FLAT_BOUNDED("flat_heap_free");

/* The order of the live block that starts at `address`; ORDERS if none does. */
static inline unsigned live_order(const flat_heap *heap, const void *address) {
    size_t granule = granule_of(heap, address);
    if (granule >= heap->granules) return ORDERS;
    uint32_t state = heap->states[granule / CELL_GRANULES];
    return slot_is_live(state, granule) ? order_in(state) : ORDERS;
}

size_t flat_heap_usable_size(const flat_heap *heap, const void *block) {
    unsigned order = live_order(heap, block);
    if (order == ORDERS) return 0;
    instrument_widen(heap, block, block_bytes(order));
    return block_bytes(order);
}
FLAT_BOUNDED("flat_heap_usable_size");

/* Moves the first `size` bytes of the live block of `order` to a new block. NULL: the heap has none. */
static NOINLINE void *move(flat_heap *heap, void *from, unsigned order, size_t size) {
    void *block = flat_heap_alloc(heap, size);
    if (block == NULL) return NULL;
    instrument_widen(heap, from, block_bytes(order));
    memcpy(block, from, size < block_bytes(order) ? size : block_bytes(order));
    (void)flat_heap_free(heap, from);
    return block;
}

/* Makes the piece of `order` at `cell` twice as large, if it is a lower half and the upper one is free. */
static inline bool grow_piece(flat_heap *heap, unsigned order, size_t cell) {
    size_t half = cell | piece_cells(order);
    if (half == cell || !is_half_free(heap, order, cell)) return false;
    list_remove(heap, order, half);
    heap->states[half] = NONE;
    heap->states[cell] = cell_state(order + 1, 1);
    count_live(heap, block_bytes(order));
    return true;
}

/* Makes the live piece of `order` at `cell` a block of the smaller order `to`. */
static NOINLINE void cut_back(flat_heap *heap, unsigned order, size_t cell, unsigned to) {
    unsigned last = to < CELL_ORDER ? CELL_ORDER : to;
    heap->live -= block_bytes(order) - block_bytes(to);
#pragma GCC unroll 28
    for (unsigned step = 0; step < STEPS; step++) {
        if (order == last) break;
        order--;
        add_free_piece(heap, order, cell + piece_cells(order));
    }
    open_cell(heap, to, cell);
}

/* Whether a new block of `to` would come from something smaller than a piece of `order`. A block that shrinks must then
 * move there. Otherwise small blocks could be at places where no request puts them, and the bound would not hold. */
static inline bool has_smaller(const flat_heap *heap, unsigned to, unsigned order) {
    uint32_t pieces = ((uint32_t)1 << order) - ((uint32_t)1 << (to < CELL_ORDER ? CELL_ORDER : to));
    return (heap->lists & (pieces | (uint32_t)1 << to)) != 0;
}

static inline void *shrink(flat_heap *heap, void *block, unsigned order, unsigned to, size_t size) {
    if (order < CELL_ORDER || has_smaller(heap, to, order)) {
        uint64_t refused = heap->refused;
        void *moved = move(heap, block, order, size);
        if (moved != NULL) return moved;
        heap->refused = refused; /* the block stays as it is, and nothing was refused */
    } else {
        cut_back(heap, order, granule_of(heap, block) / CELL_GRANULES, to);
    }
    instrument_resize(heap, block, block_bytes(order), size);
    return block;
}

flat_status flat_heap_realloc(flat_heap *heap, void **block, size_t size) {
    if (block == NULL) return FLAT_INVALID_ARGUMENT;
    size += size == 0; /* 0 counts as 1, whose content is kept */
    if (*block == NULL) {
        *block = flat_heap_alloc(heap, size);
        return *block != NULL ? FLAT_OK : FLAT_OUT_OF_MEMORY;
    }
    unsigned order = live_order(heap, *block);
    if (order == ORDERS) return refusal(heap, *block);
    unsigned to = size > heap->bytes ? ORDERS : order_of(size);
    if (to < order) {
        *block = shrink(heap, *block, order, to, size);
        return FLAT_OK;
    }
    bool stays = to == order;
    if (to == order + 1 && order >= CELL_ORDER) {
        stays = grow_piece(heap, order, granule_of(heap, *block) / CELL_GRANULES);
    }
    if (stays) {
        instrument_resize(heap, *block, block_bytes(to), size);
        return FLAT_OK;
    }
    void *moved = move(heap, *block, order, size);
    if (moved == NULL) return FLAT_OUT_OF_MEMORY;
    *block = moved;
    return FLAT_OK;
}
FLAT_BOUNDED("flat_heap_realloc apart=memcpy");
