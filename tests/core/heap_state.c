#include "core/heap_state.h"

#include "../../src/core/heap.h"

size_t heap_state(const flat_heap *heap, uint32_t *to) {
    size_t count = 0;
    for (uint32_t cell = 0; cell < heap->cells; cell++) to[count++] = heap->states[cell];
    for (unsigned order = 0; order < ORDERS; order++) {
        for (uint32_t cell = heap->heads[order]; cell != heap->cells; cell = heap->links[cell].next) to[count++] = cell;
        to[count++] = heap->cells;
    }
    return count;
}
