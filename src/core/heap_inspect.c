/* Queries about a heap. */
#include "heap.h"

#include <flatline/bounded.h>

bool flat_heap_owns(const flat_heap *heap, const void *address) {
    return (uintptr_t)address - heap->start < heap->bytes;
}
FLAT_BOUNDED("flat_heap_owns");

void flat_heap_get_stats(const flat_heap *heap, flat_heap_stats *stats) {
    unsigned pieces = heap->lists >> CELL_ORDER;
    unsigned largest = pieces != 0 ? 31 - (unsigned)__builtin_clz(heap->lists) : 0;
    *stats = (flat_heap_stats){.bytes = heap->bytes,
                               .live = heap->live,
                               .high_water = heap->high_water,
                               .largest_free = pieces != 0 ? block_bytes(largest) : 0,
                               .refused = heap->refused};
}
FLAT_BOUNDED("flat_heap_get_stats");

/* Counts the bits that are set, by a loop: without an instruction for it some targets call a library. */
static size_t count_bits(uint32_t bits) {
    size_t count = 0;
    for (; bits != 0; bits &= bits - 1) count++;
    return count;
}

/* Cells from one start to the next. */
static uint32_t cells_of(uint32_t state) {
    return order_in(state) < CELL_ORDER ? 1 : (uint32_t)piece_cells(order_in(state));
}

size_t flat_heap_visit(const flat_heap *heap, void (*visit)(void *context, void *block, size_t block_size),
                       void *context) {
    size_t count = 0;
    for (uint32_t cell = 0; cell < heap->cells; cell += cells_of(heap->states[cell])) {
        uint32_t state = heap->states[cell], live = live_slots_in(state);
        count += count_bits(live);
        for (uint32_t left = live; left != 0 && visit != NULL; left &= left - 1) {
            size_t granule = cell * CELL_GRANULES + (size_t)__builtin_ctz(left);
            visit(context, (void *)(heap->start + granule * FLAT_HEAP_GRANULE), block_bytes(order_in(state)));
        }
    }
    return count;
}

/* Counts from the states, for check(): members of each list, live bytes. */
typedef struct census {
    uint32_t members[ORDERS];
    size_t live;
} census;

/* Whether a piece of `order` may start at `cell`, and nothing starts inside it. */
static bool is_whole(const flat_heap *heap, unsigned order, uint32_t cell) {
    uint32_t size = (uint32_t)piece_cells(order);
    if ((cell & (size - 1)) != 0 || heap->cells - cell < size) return false;
    for (uint32_t inside = 1; inside < size; inside++) {
        if (heap->states[cell + inside] != NONE) return false;
    }
    return true;
}

/* Whether the cell, or the other half of its piece, should have been merged. */
static bool is_unmerged(const flat_heap *heap, unsigned order, uint32_t cell) {
    size_t half = cell ^ piece_cells(order);
    uint32_t state = heap->states[cell];
    return state == all_free(order) && half < heap->cells && heap->states[half] == state;
}

static bool count_cell(const flat_heap *heap, uint32_t cell, census *found) {
    uint32_t state = heap->states[cell];
    unsigned order = order_in(state);
    if (order >= ORDERS || (live_slots_in(state) & ~heap->all_slots[order]) != 0) return false;
    if (order >= CELL_ORDER && !is_whole(heap, order, cell)) return false;
    if (is_unmerged(heap, order, cell)) return false;
    found->live += count_bits(live_slots_in(state)) * block_bytes(order);
    if (free_slots_in(heap, state) != 0) found->members[order]++;
    return true;
}

static bool count_all(const flat_heap *heap, census *found) {
    for (uint32_t cell = 0; cell < heap->cells; cell += cells_of(heap->states[cell])) {
        if (!count_cell(heap, cell, found)) return false;
    }
    return true;
}

static bool is_member(const flat_heap *heap, unsigned order, uint32_t cell) {
    if (cell >= heap->cells) return false;
    uint32_t state = heap->states[cell];
    return order_in(state) == order && free_slots_in(heap, state) != 0 && state != NONE;
}

/* Walks as many steps as the list has members, and checks the link back each time. If the walk ends at the end of the
 * list, it cannot have met a member twice. */
static bool check_list(const flat_heap *heap, unsigned order, uint32_t members) {
    bool marked = (heap->lists >> order & 1) != 0;
    uint32_t cell = heap->heads[order];
    if (marked != (members != 0)) return false;
    for (uint32_t left = members; left > 0; left--) {
        if (!is_member(heap, order, cell)) return false;
        uint32_t next = heap->links[cell].next;
        if (next < heap->cells && heap->links[next].previous != cell) return false;
        cell = next;
    }
    return cell == heap->cells;
}

static bool check_header(const flat_heap *heap) {
    for (unsigned order = 0; order < ORDERS; order++) {
        if (heap->all_slots[order] != slots_of_cell(order)) return false;
    }
    return heap->bytes == heap->cells * CELL_SIZE && heap->granules == heap->cells * CELL_GRANULES &&
           heap->alignment == (size_t)(heap->start & (0 - heap->start));
}

flat_status flat_heap_check(const flat_heap *heap) {
    census found = {{0}, 0};
    if (!check_header(heap)) return FLAT_CORRUPTED;
    if (!count_all(heap, &found) || found.live != heap->live) return FLAT_CORRUPTED;
    if (heap->live > heap->high_water || heap->high_water > heap->bytes) return FLAT_CORRUPTED;
    for (unsigned order = 0; order < ORDERS; order++) {
        if (!check_list(heap, order, found.members[order])) return FLAT_CORRUPTED;
    }
    return FLAT_OK;
}
