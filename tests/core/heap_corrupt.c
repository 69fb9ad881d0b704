#include "core/heap_corrupt.h"

#include "../../src/core/heap.h"

typedef struct corruption {
    const char *words;
    void (*act)(flat_heap *heap);
} corruption;

#define DAMAGE(name, statement)                                                                                        \
    static void name(flat_heap *heap) { statement; }

DAMAGE(fewer_cells, heap->cells--)
DAMAGE(other_bytes, heap->bytes += CELL_SIZE)
DAMAGE(other_granules, heap->granules--)
DAMAGE(other_alignment, heap->alignment *= 2)
DAMAGE(live_elsewhere, heap->live += FLAT_HEAP_GRANULE)
DAMAGE(high_water_below_live, heap->high_water = heap->live - 1)
DAMAGE(high_water_above_bytes, heap->high_water = heap->bytes + 1)
DAMAGE(list_not_marked, heap->lists &= ~((uint32_t)1 << CELL_ORDER))
DAMAGE(empty_list_marked, heap->lists |= (uint32_t)1 << 20)
DAMAGE(head_elsewhere, heap->heads[CELL_ORDER] = 3)
DAMAGE(head_outside, heap->heads[CELL_ORDER] = heap->cells + 1)
DAMAGE(empty_list_with_a_head, heap->heads[0] = 8)
DAMAGE(list_in_a_circle, heap->links[heap->links[heap->heads[CELL_ORDER]].next].next = heap->heads[CELL_ORDER])
DAMAGE(list_loses_a_piece, heap->links[heap->heads[CELL_ORDER]].next = heap->cells)
DAMAGE(list_leaves_the_heap, heap->links[heap->heads[CELL_ORDER]].next = heap->cells + 9)
DAMAGE(list_runs_into_a_live_piece, heap->links[heap->heads[CELL_ORDER]].next = 3)
DAMAGE(list_does_not_lead_back, heap->links[heap->links[heap->heads[CELL_ORDER]].next].previous = 5)
DAMAGE(list_of_slots_does_not_lead_back, heap->links[heap->links[heap->heads[1]].next].previous = 5)
DAMAGE(nothing_where_a_piece_starts, heap->states[3] = NONE)
DAMAGE(order_beyond_the_last, heap->states[3] = cell_state(ORDERS, 1))
DAMAGE(piece_inside_a_piece, heap->states[5] = cell_state(CELL_ORDER, 1))
DAMAGE(slots_inside_a_free_piece, heap->states[9] = cell_state(0, 1))
DAMAGE(slots_where_a_piece_is_live, heap->states[3] = cell_state(CELL_ORDER - 1, 1))
DAMAGE(piece_not_at_its_multiple, heap->states[3] = cell_state(CELL_ORDER + 1, 1))
DAMAGE(piece_beyond_the_end, heap->states[8] = all_free(CELL_ORDER + 4))
DAMAGE(free_piece_live, heap->states[2] = cell_state(CELL_ORDER, 1))
DAMAGE(live_piece_free, heap->states[3] = all_free(CELL_ORDER))
DAMAGE(halves_not_merged, heap->live -= CELL_SIZE; add_free_piece(heap, CELL_ORDER, 7))
DAMAGE(slots_as_large_as_a_cell, heap->states[0] += (uint32_t)(CELL_ORDER - 1) << ORDER_SHIFT)
DAMAGE(slots_of_another_order, heap->states[0] += (uint32_t)1 << ORDER_SHIFT)
DAMAGE(slot_inside_a_slot, heap->states[0] |= 2)
DAMAGE(no_live_slot, heap->states[0] = all_free(1))
DAMAGE(slot_live_and_not_counted, heap->states[0] &= heap->states[0] - 1)
DAMAGE(other_slots, heap->all_slots[1] ^= 4)

static const corruption kinds[] = {
    {"a cell less", fewer_cells},
    {"bytes that are not those of the cells", other_bytes},
    {"granules that are not those of the cells", other_granules},
    {"an alignment that the start does not have", other_alignment},
    {"live bytes that no block has", live_elsewhere},
    {"a high-water mark below what is live", high_water_below_live},
    {"a high-water mark above the region", high_water_above_bytes},
    {"a list that is not marked", list_not_marked},
    {"an empty list that is marked", empty_list_marked},
    {"a head that is another piece", head_elsewhere},
    {"a head outside the heap", head_outside},
    {"an empty list with a head", empty_list_with_a_head},
    {"a list that runs in a circle", list_in_a_circle},
    {"a list that ends before its last piece", list_loses_a_piece},
    {"a list that leaves the heap", list_leaves_the_heap},
    {"a list that runs into a live piece", list_runs_into_a_live_piece},
    {"a list that does not lead back", list_does_not_lead_back},
    {"a list of slots that does not lead back", list_of_slots_does_not_lead_back},
    {"nothing where a piece starts", nothing_where_a_piece_starts},
    {"an order beyond the last", order_beyond_the_last},
    {"a piece inside a live piece", piece_inside_a_piece},
    {"slots inside a free piece", slots_inside_a_free_piece},
    {"slots where a piece is live", slots_where_a_piece_is_live},
    {"a piece that is not at its multiple", piece_not_at_its_multiple},
    {"a piece that reaches beyond the end", piece_beyond_the_end},
    {"a free piece that is called live", free_piece_live},
    {"a live piece that is called free", live_piece_free},
    {"two free halves that are not merged", halves_not_merged},
    {"slots as large as a cell", slots_as_large_as_a_cell},
    {"slots of another order", slots_of_another_order},
    {"a free slot that starts inside a slot", slot_inside_a_slot},
    {"a cell of slots of which none is live", no_live_slot},
    {"a slot that is live and was not counted", slot_live_and_not_counted},
    {"slots that start elsewhere", other_slots},
};

size_t heap_corruptions(void) { return sizeof kinds / sizeof *kinds; }

const char *corrupt_heap(flat_heap *heap, size_t kind) {
    kinds[kind].act(heap);
    return kinds[kind].words;
}
