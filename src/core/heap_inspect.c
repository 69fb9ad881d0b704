/* What a heap tells about itself. */
#include "heap.h"

bool flat_heap_owns(const flat_heap *heap, const void *address) {
    return (uintptr_t)address - heap->start < heap->bytes;
}

void flat_heap_get_stats(const flat_heap *heap, flat_heap_stats *stats) {
    unsigned pieces = heap->lists >> CELL_ORDER;
    unsigned largest = pieces != 0 ? 31 - (unsigned)__builtin_clz(heap->lists) : 0;
    *stats = (flat_heap_stats){.bytes = heap->bytes,
                               .live = heap->live,
                               .high_water = heap->high_water,
                               .largest_free = pieces != 0 ? block_bytes(largest) : 0,
                               .refused = heap->refused};
}

/* Bits that are set: counted here, for lack of an instruction some targets call a library. */
static size_t count_bits(uint32_t bits) {
    size_t count = 0;
    for (; bits != 0; bits &= bits - 1) count++;
    return count;
}

/* Cells from one start to the next. */
static uint32_t cells_of(unsigned tag) {
    unsigned order = tag & ORDER_MASK;
    return (tag & SLOTS) != 0 ? 1 : piece_cells(order);
}

static size_t visit_slots(const flat_heap *heap, uint32_t cell, void (*visit)(void *, void *, size_t), void *context) {
    unsigned order = heap->tags[cell] & ORDER_MASK;
    uint32_t live = all_slots(order) & ~(uint32_t)heap->slots[cell];
    for (uint32_t left = live; left != 0 && visit != NULL; left &= left - 1) {
        size_t granule = cell * CELL_GRANULES + (size_t)__builtin_ctz(left);
        visit(context, (void *)(heap->start + granule * FLAT_HEAP_GRANULE), block_bytes(order));
    }
    return count_bits(live);
}

size_t flat_heap_visit(const flat_heap *heap, void (*visit)(void *context, void *block, size_t block_size),
                       void *context) {
    size_t live = 0;
    for (uint32_t cell = 0; cell < heap->cells;) {
        unsigned tag = heap->tags[cell];
        if ((tag & SLOTS) != 0) live += visit_slots(heap, cell, visit, context);
        if ((tag & LIVE) != 0) {
            live++;
            if (visit != NULL) {
                visit(context, (void *)(heap->start + cell * CELL_SIZE), block_bytes(tag & ORDER_MASK));
            }
        }
        cell += cells_of(tag);
    }
    return live;
}

/* What the tags tell, for check(): members of each list, live bytes. */
typedef struct census {
    uint32_t members[ORDERS];
    size_t live;
} census;

/* Whether cells `from` to `to - 1` have no tag. */
static bool is_inside(const flat_heap *heap, uint32_t from, uint32_t to) {
    for (uint32_t cell = from; cell < to; cell++) {
        if (heap->tags[cell] != 0) return false;
    }
    return true;
}

static bool count_piece(const flat_heap *heap, uint32_t cell, census *found) {
    unsigned tag = heap->tags[cell], order = tag & ORDER_MASK;
    if (order < CELL_ORDER || (cell & (piece_cells(order) - 1)) != 0) return false;
    if (heap->cells - cell < piece_cells(order) || !is_inside(heap, cell + 1, cell + piece_cells(order))) return false;
    if ((tag & LIVE) != 0) {
        found->live += block_bytes(order);
        return true;
    }
    uint32_t half = cell ^ piece_cells(order);
    found->members[order]++;
    return half >= heap->cells || heap->tags[half] != tag;
}

static bool count_cell(const flat_heap *heap, uint32_t cell, census *found) {
    unsigned order = heap->tags[cell] & ORDER_MASK;
    if (order >= CELL_ORDER) return false;
    uint32_t free_slots = heap->slots[cell];
    if ((free_slots & ~all_slots(order)) != 0 || free_slots == all_slots(order)) return false;
    found->live += count_bits(all_slots(order) & ~free_slots) * block_bytes(order);
    if (free_slots != 0) found->members[order]++;
    return true;
}

static bool count_all(const flat_heap *heap, census *found) {
    for (uint32_t cell = 0; cell < heap->cells;) {
        unsigned tag = heap->tags[cell], kind = tag & ~(unsigned)ORDER_MASK;
        if (kind != LIVE && kind != FREE && kind != SLOTS) return false;
        if (kind == SLOTS ? !count_cell(heap, cell, found) : !count_piece(heap, cell, found)) return false;
        cell += cells_of(tag);
    }
    return true;
}

static bool is_member(const flat_heap *heap, unsigned order, uint32_t cell) {
    if (cell >= heap->cells) return false;
    unsigned tag = heap->tags[cell];
    return order < CELL_ORDER ? tag == (SLOTS | order) && heap->slots[cell] != 0 : tag == (FREE | order);
}

/* A walk of as many steps as the list has members, back along the links each time, that ends at the end cannot have met
 * a member twice. */
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
