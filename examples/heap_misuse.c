/* What a heap answers to frees that are wrong, and what a resize does. */
#include <flatline/heap.h>
#include <stdio.h>
#include <string.h>

/* Which part of its life the program is in. Only the tests read it: they require that the heap is not called while it
 * is STEADY. */
volatile enum { STARTING, STEADY, ENDING } phase;

static bool all_right = true;

static void expect(const char *what, flat_status got, flat_status expected) {
    (void)printf("%-36s %s\n", what, flat_status_string(got));
    if (got != expected) all_right = false;
}

int main(void) {
    flat_heap *heap;
    if (flat_heap_create(&heap, 1 << 20, NULL) != FLAT_OK) return 1;
    char on_the_stack = 0;
    char *block = flat_heap_alloc(heap, 700);
    char *slot = flat_heap_aligned_alloc(heap, 64, 40);
    if (block == NULL || slot == NULL) return 1;
    (void)printf("%-36s %s\n", "a free or a resize of", "gets");

    phase = STEADY;
    expect("an address inside a block", flat_heap_free(heap, block + 512), FLAT_INTERIOR_POINTER);
    expect("an odd address", flat_heap_free(heap, block + 1), FLAT_INTERIOR_POINTER);
    expect("an address on the stack", flat_heap_free(heap, &on_the_stack), FLAT_FOREIGN_POINTER);
    expect("a block that is live", flat_heap_free(heap, slot), FLAT_OK);
    expect("the same block again", flat_heap_free(heap, slot), FLAT_DOUBLE_FREE);
    expect("memory that was never handed out", flat_heap_free(heap, block + (512 << 10)), FLAT_DOUBLE_FREE);
    expect("NULL", flat_heap_free(heap, NULL), FLAT_OK);

    void *text = block;
    memcpy(text, "flat", 5);
    expect("more than the region holds", flat_heap_realloc(heap, &text, 2 << 20), FLAT_OUT_OF_MEMORY);
    if (text != block) return 1; /* a refused call leaves the block and the pointer as they were */
    expect("a larger block", flat_heap_realloc(heap, &text, 5000), FLAT_OK);
    expect("a smaller one, which cannot fail", flat_heap_realloc(heap, &text, 5), FLAT_OK);
    if (strcmp(text, "flat") != 0) return 1;
    expect("the block", flat_heap_free(heap, text), FLAT_OK);
    phase = ENDING;
    flat_heap_destroy(heap);
    return all_right ? 0 : 1;
}
