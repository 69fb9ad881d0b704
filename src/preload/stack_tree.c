#include "stack_tree.h"

#define SPARED (INTERNED_WORDS / 8)

static uint32_t put(interned_table *table, const uint64_t *frames, size_t count, uint32_t spare) {
    uint32_t stack = 0;
    for (size_t i = count; i-- > 0;) {
        const uint32_t frame = interned_put_sparing(table, &frames[i], 1, spare);
        if (frame == 0) return 0;
        const uint64_t word = (uint64_t)stack << 32 | frame;
        stack = interned_put_sparing(table, &word, 1, spare);
        if (stack == 0) return 0;
    }
    return stack;
}

uint32_t stack_put(interned_table *table, const uint64_t *frames, size_t count) {
    const uint32_t stack = put(table, frames, count, SPARED);
    if (stack != 0) return stack;
    (void)__atomic_fetch_add(&table->shortened, 1, __ATOMIC_RELAXED);
    return put(table, frames, count < STACK_SHORT ? count : STACK_SHORT, 0);
}

static uint64_t word_of(const interned_table *table, uint32_t entry) {
    size_t count = 0;
    const uint64_t *words = interned_get(table, entry, &count);
    return words != NULL && count == 1 ? *words : 0;
}

size_t stack_get(const interned_table *table, uint32_t stack, uint64_t frames[UNWIND_DEPTH]) {
    size_t count = 0;
    for (uint64_t word; count < UNWIND_DEPTH && (word = word_of(table, stack)) != 0; stack = stack_callers(word))
        frames[count++] = word_of(table, stack_frame(word));
    return count;
}
