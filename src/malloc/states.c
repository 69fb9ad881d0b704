#include "states.h"

#define BYTES(byte) (UINT64_MAX / 255 * (byte))

/* Of eight states, the lowest bit of each that belongs to a block in the state sought. */
static uint64_t among_eight(uint64_t states, uint64_t highest) { return states & (states >> 7 ^ ~highest) & BYTES(1); }

uint64_t flat_granules_in_state(page_tag tag, size_t word, block_state changed) {
    size_t half = word * (64 * GRANULE / HALF), count = 64 * GRANULE / HALF >> tag % 64;
    const block_state *states = state_at(tag, half);
    block_state highest = (block_state)(word % 2 << 7) ^ changed; /* highest bit of such a state */
    uint64_t found = 0;
    for (size_t i = 0; i < count; i++) {
        if (i % 8 == 0 && count >= 8) {
            uint64_t eight = __atomic_load_n((const uint64_t *)(const void *)(states + i), __ATOMIC_RELAXED);
            if (among_eight(eight, BYTES((uint64_t)(highest >> 7))) == 0) {
                i += 7;
                continue;
            }
        }
        block_state state = load_state(states + i);
        if (state != NO_BLOCK && (state & STATE_CHANGED) == highest) found |= (uint64_t)1 << state / 2 % 64;
    }
    return found;
}
