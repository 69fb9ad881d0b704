#include "stack_tree.h"

#define SPARED (INTERNED_WORDS / 8)

static uint32_t put_above(interned_table *table, uint32_t callers, uint64_t frame, uint32_t spare) {
    const uint32_t number = interned_put_sparing(table, &frame, 1, spare);
    const uint64_t word = (uint64_t)callers << 32 | number;
    return number == 0 ? 0 : interned_put_sparing(table, &word, 1, spare);
}

uint32_t stack_put_on(interned_table *table, uint32_t callers, const uint64_t *frames, size_t count, uint32_t *stacks) {
    for (size_t i = count; i-- > 0;) {
        callers = stacks[i] = put_above(table, callers, frames[i], SPARED);
        if (callers == 0) return 0;
    }
    return callers;
}

uint32_t stack_put(interned_table *table, const uint64_t *frames, size_t count) {
    uint32_t stacks[UNWIND_DEPTH], stack = stack_put_on(table, 0, frames, count, stacks);
    if (stack != 0) return stack;
    (void)__atomic_fetch_add(&table->shortened, 1, __ATOMIC_RELAXED);
    size_t i = count < STACK_SHORT ? count : STACK_SHORT;
    do stack = put_above(table, stack, frames[--i], 0);
    while (i > 0 && stack != 0);
    return stack;
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
