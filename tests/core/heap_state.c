#include "core/heap_state.h"

#include "../../src/core/heap.h"

size_t heap_state(const flat_heap *heap, uint32_t *to) {
    size_t count = 0;
    for (uint32_t cell = 0; cell < heap->cells; cell++) {
        bool has_slots = (heap->tags[cell] & SLOTS) != 0;
        to[count++] = heap->tags[cell] | (has_slots ? (uint32_t)heap->slots[cell] << 8 : 0);
    }
    for (unsigned order = 0; order < ORDERS; order++) {
        for (uint32_t cell = heap->heads[order]; cell != heap->cells; cell = heap->links[cell].next) to[count++] = cell;
        to[count++] = heap->cells;
    }
    return count;
}
