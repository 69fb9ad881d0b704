/* The bounded functions: alloc, aligned alloc, realloc and free. The usual path of alloc and free is a straight line;
 * what halves and merges is apart, one forward step for each order between two sizes, unrolled: at most STEPS. */
#include "heap.h"

#include "instrument.h"

#define STEPS (ORDERS - CELL_ORDER) /* 28 */
#define APART __attribute__((noinline))
#define RARE(condition) __builtin_expect(condition, 0)

void *memcpy(void *restrict to, const void *restrict from, size_t size);

static inline void *address_of(const flat_heap *heap, uint32_t cell) {
    return (void *)(heap->start + (size_t)cell * CELL_SIZE);
}

static inline void count_live(flat_heap *heap, size_t bytes) {
    heap->live += bytes;
    heap->high_water = heap->live > heap->high_water ? heap->live : heap->high_water;
}

/* Makes a cell of slots of the piece at `cell`, whose first slot is live. */
static inline void open_cell(flat_heap *heap, unsigned order, uint32_t cell) {
    heap->tags[cell] = (uint8_t)(SLOTS | order);
    heap->slots[cell] = (uint16_t)(all_slots(order) - 1);
    list_push(heap, order, cell);
}

/* A piece of `order`, cut from the smallest free one that holds it; `cells` where there is none. The smallest: that is
 * what the bound rests on. */
static APART uint32_t cut_piece(flat_heap *heap, unsigned order) {
    uint32_t enough = heap->lists >> order << order;
    if (enough == 0) return heap->cells;
    unsigned at = (unsigned)__builtin_ctz(enough);
    uint32_t cell = heap->heads[at];
    list_pop(heap, at, cell);
#pragma GCC unroll 28
    for (unsigned step = 0; step < STEPS; step++) {
        if (at == order) break;
        at--;
        add_free_piece(heap, at, cell + piece_cells(at));
    }
    return cell;
}

static APART void *refuse(flat_heap *heap) {
    heap->refused++;
    return NULL;
}

/* A block of `order` where its list is empty: of a larger piece. */
static APART void *take_rarely(flat_heap *heap, unsigned order, size_t size) {
    uint32_t cell = cut_piece(heap, order < CELL_ORDER ? CELL_ORDER : order);
    if (cell == heap->cells) return refuse(heap);
    if (order < CELL_ORDER) {
        open_cell(heap, order, cell);
    } else {
        heap->tags[cell] = (uint8_t)(LIVE | order);
    }
    count_live(heap, block_bytes(order));
    instrument_alloc(heap, address_of(heap, cell), size);
    return address_of(heap, cell);
}

/* The first free slot of the first cell of the list of `order`. */
static inline void *take_slot(flat_heap *heap, unsigned order, uint32_t cell) {
    uint32_t slots = heap->slots[cell];
    uint32_t rest = slots & (slots - 1);
    heap->slots[cell] = (uint16_t)rest;
    if (rest == 0) list_pop(heap, order, cell);
    return (char *)address_of(heap, cell) + (size_t)__builtin_ctz(slots) * FLAT_HEAP_GRANULE;
}

/* The first piece of the list of `order`. */
static inline void *take_piece(flat_heap *heap, unsigned order, uint32_t cell) {
    list_pop(heap, order, cell);
    heap->tags[cell] = (uint8_t)(LIVE | order);
    return address_of(heap, cell);
}

void *flat_heap_alloc(flat_heap *heap, size_t size) {
    if (RARE(size > heap->bytes)) return refuse(heap);
    unsigned order = order_of(size);
    uint32_t cell = heap->heads[order];
    if (RARE(cell == heap->cells)) return take_rarely(heap, order, size);
    count_live(heap, block_bytes(order));
    void *block = order < CELL_ORDER ? take_slot(heap, order, cell) : take_piece(heap, order, cell);
    instrument_alloc(heap, block, size);
    return block;
}

void *flat_heap_aligned_alloc(flat_heap *heap, size_t alignment, size_t size) {
    bool possible = alignment != 0 && (alignment & (alignment - 1)) == 0 && alignment <= heap->alignment;
    if (!possible) return refuse(heap);
    size_t least = size > alignment ? size : alignment; /* a block is aligned to its size */
    void *block = flat_heap_alloc(heap, least);
    if (block != NULL) instrument_resize(heap, block, least, size);
    return block;
}

/* Whether a free piece of `order` starts at `cell`. */
static inline bool is_free_piece(const flat_heap *heap, unsigned order, uint32_t cell) {
    return cell < heap->cells && heap->tags[cell] == (FREE | order);
}

/* Adds a piece to the free ones whose other half is free as well. */
static APART flat_status merge_piece(flat_heap *heap, unsigned order, uint32_t cell) {
#pragma GCC unroll 28
    for (unsigned step = 0; step < STEPS; step++) {
        uint32_t size = piece_cells(order);
        uint32_t half = cell ^ size;
        if (!is_free_piece(heap, order, half)) break;
        list_remove(heap, order, half);
        heap->tags[cell | size] = 0;
        cell &= ~size;
        order++;
    }
    add_free_piece(heap, order, cell);
    return FLAT_OK;
}

static inline flat_status give_piece(flat_heap *heap, unsigned order, uint32_t cell) {
    if (RARE(is_free_piece(heap, order, cell ^ piece_cells(order)))) return merge_piece(heap, order, cell);
    add_free_piece(heap, order, cell);
    return FLAT_OK;
}

/* Why no live block starts at `address`. */
static APART flat_status refusal(const flat_heap *heap, const void *address) {
    size_t offset = (uintptr_t)address - heap->start;
    if (address == NULL) return FLAT_OK;
    if (offset >= heap->bytes) return FLAT_FOREIGN_POINTER;
    size_t granule = offset / FLAT_HEAP_GRANULE;
    uint32_t cell = (uint32_t)(granule / CELL_GRANULES);
    unsigned tag = heap->tags[cell];
    if ((tag & SLOTS) != 0) {
        uint32_t slot = (uint32_t)1 << (granule % CELL_GRANULES >> (tag & ORDER_MASK) << (tag & ORDER_MASK));
        return (heap->slots[cell] & slot) != 0 ? FLAT_DOUBLE_FREE : FLAT_INTERIOR_POINTER;
    }
    /* The piece that holds the cell starts at a multiple of its size; between its start and the cell there is no tag.
     */
#pragma GCC unroll 28
    for (unsigned step = 1; step < STEPS; step++) {
        if (tag != 0) break;
        tag = heap->tags[cell >> step << step];
    }
    return (tag & FREE) != 0 ? FLAT_DOUBLE_FREE : FLAT_INTERIOR_POINTER;
}

/* The number of the granule at which `address` lies; at or above `granules` iff none starts there: one rotation asks
 * both whether it is a start and whether it is one of ours. */
static inline size_t granule_of(const flat_heap *heap, const void *address) {
    size_t offset = (uintptr_t)address - heap->start;
    return offset / FLAT_HEAP_GRANULE | offset * (SIZE_MAX / FLAT_HEAP_GRANULE + 1);
}

/* Closes a cell whose last live slot was freed; it is in its list iff it had a free one `before`. */
static APART flat_status close_cell(flat_heap *heap, unsigned order, uint32_t cell, uint32_t before) {
    if (before != 0) list_remove(heap, order, cell);
    return give_piece(heap, CELL_ORDER, cell);
}

static inline flat_status give_slot(flat_heap *heap, unsigned order, uint32_t cell, unsigned granule) {
    uint32_t before = heap->slots[cell];
    uint32_t now = before | (uint32_t)1 << granule;
    if (RARE(now == all_slots(order))) return close_cell(heap, order, cell, before);
    heap->slots[cell] = (uint16_t)now;
    if (before == 0) list_push(heap, order, cell);
    return FLAT_OK;
}

/* Whether a live slot starts at the granule, whose cell has slots of `order`. */
static inline bool is_live_slot(const flat_heap *heap, unsigned order, size_t granule) {
    uint32_t live = all_slots(order) & ~(uint32_t)heap->slots[granule / CELL_GRANULES];
    return (live >> granule % CELL_GRANULES & 1) != 0;
}

flat_status flat_heap_free(flat_heap *heap, void *block) {
    size_t granule = granule_of(heap, block);
    if (RARE(granule >= heap->granules)) return refusal(heap, block);
    uint32_t cell = (uint32_t)(granule / CELL_GRANULES);
    unsigned tag = heap->tags[cell], order = tag & ORDER_MASK;
    if ((tag & LIVE) != 0) {
        if (RARE(granule % CELL_GRANULES != 0)) return refusal(heap, block);
        heap->live -= block_bytes(order);
        instrument_free(heap, block, block_bytes(order));
        return give_piece(heap, order, cell);
    }
    if (RARE((tag & SLOTS) == 0 || !is_live_slot(heap, order, granule))) return refusal(heap, block);
    heap->live -= block_bytes(order);
    instrument_free(heap, block, block_bytes(order));
    return give_slot(heap, order, cell, granule % CELL_GRANULES);
}

/* The order of the live block that starts at `address`; ORDERS where none does. */
static inline unsigned live_order(const flat_heap *heap, const void *address) {
    size_t granule = granule_of(heap, address);
    if (granule >= heap->granules) return ORDERS;
    unsigned tag = heap->tags[granule / CELL_GRANULES], order = tag & ORDER_MASK;
    if ((tag & LIVE) != 0) return granule % CELL_GRANULES == 0 ? order : ORDERS;
    return (tag & SLOTS) != 0 && is_live_slot(heap, order, granule) ? order : ORDERS;
}

size_t flat_heap_usable_size(const flat_heap *heap, const void *block) {
    unsigned order = live_order(heap, block);
    if (order == ORDERS) return 0;
    instrument_widen(heap, block, block_bytes(order));
    return block_bytes(order);
}

/* Moves the first `size` bytes of the live block of `order` to a new one. NULL: there is none. */
static APART void *move(flat_heap *heap, void *from, unsigned order, size_t size) {
    void *block = flat_heap_alloc(heap, size);
    if (block == NULL) return NULL;
    instrument_widen(heap, from, block_bytes(order));
    memcpy(block, from, size < block_bytes(order) ? size : block_bytes(order));
    (void)flat_heap_free(heap, from);
    return block;
}

/* Makes the piece of `order` at `cell` twice as large, if it is a lower half and the upper one is free. */
static inline bool grow_piece(flat_heap *heap, unsigned order, uint32_t cell) {
    uint32_t half = cell ^ piece_cells(order);
    if (half < cell || !is_free_piece(heap, order, half)) return false;
    list_remove(heap, order, half);
    heap->tags[half] = 0;
    heap->tags[cell] = (uint8_t)(LIVE | (order + 1));
    count_live(heap, block_bytes(order));
    return true;
}

/* Makes the live piece of `order` at `cell` a block of the smaller order `to`. */
static APART void cut_back(flat_heap *heap, unsigned order, uint32_t cell, unsigned to) {
    unsigned last = to < CELL_ORDER ? CELL_ORDER : to;
    heap->live -= block_bytes(order) - block_bytes(to);
#pragma GCC unroll 28
    for (unsigned step = 0; step < STEPS; step++) {
        if (order == last) break;
        order--;
        add_free_piece(heap, order, cell + piece_cells(order));
    }
    if (to >= CELL_ORDER) {
        heap->tags[cell] = (uint8_t)(LIVE | to);
    } else {
        open_cell(heap, to, cell);
    }
}

/* Whether a new block of `to` would come from something smaller than a piece of `order`. A block that shrinks must then
 * move there: else small blocks could come to lie where no request places them, and the bound would not hold. */
static inline bool has_smaller(const flat_heap *heap, unsigned to, unsigned order) {
    uint32_t pieces = ((uint32_t)1 << order) - ((uint32_t)1 << (to < CELL_ORDER ? CELL_ORDER : to));
    return (heap->lists & (pieces | (uint32_t)1 << to)) != 0;
}

static inline void *shrink(flat_heap *heap, void *block, unsigned order, unsigned to, size_t size) {
    if (order < CELL_ORDER || has_smaller(heap, to, order)) {
        uint64_t refused = heap->refused;
        void *moved = move(heap, block, order, size);
        if (moved != NULL) return moved;
        heap->refused = refused; /* it stays as it is, and nothing was refused */
    } else {
        cut_back(heap, order, (uint32_t)(granule_of(heap, block) / CELL_GRANULES), to);
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
        stays = grow_piece(heap, order, (uint32_t)(granule_of(heap, *block) / CELL_GRANULES));
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
