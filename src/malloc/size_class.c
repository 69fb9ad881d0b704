#include "size_class.h"

#include "runs.h"

size_class flat_size_classes[CLASS_COUNT];
uint8_t flat_class_of_granules[REQUESTS];

#define SPAN_PAGES_MIN ((size_t)2)
#define BLOCKS_MIN 8

/* The distance from `size` to the next class. */
static size_t step_above(size_t size) {
    if (size < 512) return GRANULE;
    if (size < 2048) return 2 * GRANULE;
    unsigned doubling = 63 - (unsigned)__builtin_clzll(size);
    return (size_t)1 << (doubling - 5);
}

/* The table with the longest slots in which at most one block starts: 16, 32, 64, 256 or 1,024 bytes. */
static uint16_t slots_for(size_t size) {
    uint16_t table = 0;
    while (table < SLOT_TABLES - 1 && size >= SLOT_BYTES(table + 1)) table++;
    return table;
}

/* Between the least number of pages, a power of two, that hold BLOCKS_MIN blocks, and its double: the number that
 * leaves the smallest part over. Small spans become empty sooner, and then serve other classes. With spans of 8 to 16
 * pages for all classes, the peak of perl was 7 % higher, of python 6, of sqlite 4. */
static size_t pages_for(size_t size) {
    size_t least = size < SLOT_BYTES(2) ? SPAN_PAGES / 2 : SPAN_PAGES_MIN;
    while (least * PAGE < BLOCKS_MIN * size && least < SPAN_PAGES / 2) least *= 2;
    size_t best = least;
    for (size_t pages = least; pages <= 2 * least; pages++) {
        if (pages * PAGE % size * best < best * PAGE % size * pages) best = pages;
    }
    return best;
}

void flat_size_classes_init(at_hand most) {
    size_t size = 0;
    uint32_t at = 0;
    flat_class_of_granules[0] = 1;
    for (size_t class = 1; class < CLASS_COUNT; class ++) {
        size_t from = size / GRANULE;
        size += step_above(size);
        for (size_t granules = from + 1; granules <= size / GRANULE; granules++) {
            flat_class_of_granules[granules] = (uint8_t)class;
        }
        uint32_t kept = least((uint32_t)(most.bytes / size), KEPT_MAX);
        if (kept < most.blocks) kept = (uint32_t)most.blocks;
        size_t pages = pages_for(size), capacity = pages * PAGE / size;
        flat_size_classes[class] = (size_class){.size = (uint32_t)size,
                                                .pages = (uint16_t)pages,
                                                .capacity = (uint16_t)capacity,
                                                .kept = (uint16_t)kept,
                                                .taken = (uint16_t)least(kept / 2, (uint32_t)capacity),
                                                .given = (uint16_t)least(kept / 2, GIVEN_MAX),
                                                .slots = slots_for(size),
                                                .kept_at = at};
        at += kept + 1;
    }
}
