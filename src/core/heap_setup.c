/* The layout and construction of a heap, and the region that never runs out. Nothing here is on the path of an alloc or
 * a free. Sizes are computed in 64 bits. */
#include "heap.h"

#include "instrument.h"

/* Byte offsets into the metadata; the heap itself comes first. */
typedef struct layout {
    uint64_t links_at, states_at, metadata_bytes;
    uint32_t cells;
} layout;

/* False iff no heap has `bytes`. */
static bool lay_out(layout *to, uint64_t bytes) {
    if (bytes < CELL_SIZE || bytes > FLAT_HEAP_MAX_BYTES || bytes > MOST_BYTES) return false;
    to->cells = (uint32_t)(bytes / CELL_SIZE);
    to->links_at = round_up(sizeof(flat_heap), CACHE_LINE);
    to->states_at = to->links_at + (to->cells + (uint64_t)1) * sizeof(heap_link);
    to->metadata_bytes = to->states_at + to->cells * sizeof(uint32_t);
    return true;
}

static flat_footprint footprint_of(const layout *place) {
    return (flat_footprint){.metadata_bytes = (size_t)place->metadata_bytes,
                            .metadata_alignment = CACHE_LINE,
                            .block_bytes = place->cells * CELL_SIZE,
                            .block_alignment = CELL_SIZE};
}

flat_status flat_heap_footprint(size_t bytes, flat_footprint *footprint) {
    layout place;
    if (footprint == NULL || !lay_out(&place, bytes)) return FLAT_INVALID_ARGUMENT;
    *footprint = footprint_of(&place);
    return FLAT_OK;
}

/* Makes everything free: a piece for each bit that is set in the number of cells, the largest first. */
static void make_pieces(flat_heap *heap) {
    size_t cell = 0;
    for (unsigned order = ORDERS; order-- > CELL_ORDER;) {
        if ((heap->cells & piece_cells(order)) == 0) continue;
        add_free_piece(heap, order, cell);
        cell += piece_cells(order);
    }
}

static void clear(flat_heap *heap) {
    for (unsigned order = 0; order < ORDERS; order++) heap->heads[order] = heap->cells;
    for (uint32_t cell = 0; cell < heap->cells; cell++) heap->states[cell] = NONE;
    heap->lists = 0;
    heap->live = 0;
    heap->high_water = 0;
    make_pieces(heap);
}

flat_status flat_heap_init(flat_heap **heap, flat_memory metadata, flat_memory blocks) {
    layout place;
    if (heap == NULL) return FLAT_INVALID_ARGUMENT;
    *heap = NULL;
    if (!lay_out(&place, blocks.size)) return FLAT_INVALID_ARGUMENT;
    flat_footprint need = footprint_of(&place);
    flat_status status = judge_memories(metadata, blocks, &need);
    if (status != FLAT_OK) return status;
    char *at = metadata.start;
    flat_heap *made = metadata.start;
    made->links = (heap_link *)(at + place.links_at);
    made->states = (uint32_t *)(at + place.states_at);
    made->start = (uintptr_t)blocks.start;
    made->cells = place.cells;
    made->bytes = need.block_bytes;
    made->granules = need.block_bytes / FLAT_HEAP_GRANULE;
    made->alignment = (size_t)(made->start & (0 - made->start));
    made->refused = 0;
    made->backing = NULL;
    for (unsigned order = 0; order < ORDERS; order++) made->all_slots[order] = slots_of_cell(order);
    for (uint32_t cell = 0; cell <= made->cells; cell++) made->links[cell] = (heap_link){0, 0};
    clear(made);
    instrument_begin(made, blocks.start, need.block_bytes);
    *heap = made;
    return FLAT_OK;
}

void flat_heap_reset(flat_heap *heap) {
    clear(heap);
    instrument_end(heap, (void *)heap->start, heap->bytes);
    instrument_begin(heap, (void *)heap->start, heap->bytes);
}

/* The requests that a program within its demand can make. */
typedef struct requests {
    uint64_t live, smallest, alignment; /* bytes */
    unsigned first, last;               /* orders of its blocks */
} requests;

/* The fewest bytes that a request for a block of `order` can ask for: the smallest request may be aligned to any power
 * of two up to the largest alignment. */
static uint64_t least(const requests *of, unsigned order) {
    bool any = order == of->first || block_bytes(order) <= of->alignment;
    return any ? of->smallest : block_bytes(order - 1) + 1;
}

/* The most cells that can be in use without being part of a larger block. Each order takes its cells with the bytes
 * that the smaller ones leave, which keep one live slot in each of their cells; the last cell of an order may hold a
 * single slot. */
static uint64_t most_cells(const requests *of) {
    uint64_t bytes = 0, left = of->live;
    for (unsigned order = of->first; order <= CELL_ORDER && order <= of->last; order++) {
        uint64_t needed = least(of, order);
        bytes += (left * block_bytes(order) + needed - 1) / needed + CELL_SIZE - block_bytes(order);
        left -= left >> (CELL_ORDER - order);
    }
    return bytes / CELL_SIZE;
}

/* The most windows of `order` that can be in use without being part of a larger block, from the same figure for the
 * order below. Windows that hold something smaller keep at least the smallest request live; blocks of `order` take the
 * rest. */
static uint64_t most_windows(const requests *of, unsigned order, uint64_t before) {
    uint64_t scattered = (before + 1) / 2;
    uint64_t pins = scattered * of->smallest;
    return scattered + (pins < of->live ? (of->live - pins) / least(of, order) : 0);
}

/* While a block moves, its old copy and the new one are both live: beyond the demand, the smaller request of the two.
 * That one has a block of a smaller order, unless the old block is larger than its size because of its alignment. */
static uint64_t most_twice(const flat_heap_demand *demand, const requests *of) {
    unsigned order = order_of(demand->largest);
    if (block_bytes(of->first) < of->alignment) return demand->largest;
    return order > of->first ? block_bytes(order - 1) : 0;
}

/* docs/heap.md proves it. */
flat_status flat_heap_bound(const flat_heap_demand *demand, size_t *bytes) {
    if (demand == NULL || bytes == NULL) return FLAT_INVALID_ARGUMENT;
    size_t alignment = demand->alignment != 0 ? demand->alignment : 1;
    if ((alignment & (alignment - 1)) != 0 || demand->smallest == 0) return FLAT_INVALID_ARGUMENT;
    if (demand->smallest > demand->largest || demand->largest > demand->live) return FLAT_INVALID_ARGUMENT;
    requests of = {.live = demand->live, .smallest = demand->smallest, .alignment = alignment};
    of.first = order_of(demand->smallest);
    of.last = order_of(demand->largest > alignment ? demand->largest : alignment);
    if (of.last >= ORDERS || of.live > 2 * FLAT_HEAP_MAX_BYTES) return FLAT_OUT_OF_MEMORY;
    if (demand->reallocates) of.live += most_twice(demand, &of);
    bool cells = of.first < CELL_ORDER;
    uint64_t windows = cells ? most_cells(&of) : of.live / of.smallest;
    unsigned order = cells ? CELL_ORDER : of.first;
    while (order < of.last) windows = most_windows(&of, ++order, windows);
    uint64_t most = FLAT_HEAP_MAX_BYTES < MOST_BYTES ? FLAT_HEAP_MAX_BYTES : MOST_BYTES;
    if (windows > most / FLAT_HEAP_GRANULE >> order) return FLAT_OUT_OF_MEMORY;
    *bytes = (size_t)windows * block_bytes(order);
    return FLAT_OK;
}
