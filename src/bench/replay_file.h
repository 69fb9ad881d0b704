/* What `flatline replay` tells a driver to do: a file with this head, then the classes, the last operation of each
 * thread, and the operations in their order. The driver writes back two times for each operation. */
#ifndef FLATLINE_BENCH_REPLAY_FILE_H
#define FLATLINE_BENCH_REPLAY_FILE_H

#include <stdint.h>

#define REPLAY_MARK UINT64_C(0x31796c7065722d66) /* "f-reply1" */
#define REPLAY_MOST_THREADS UINT32_C(65536)

typedef struct replay_head {
    uint64_t mark, operations;
    uint32_t threads, slots, classes, unused;
} replay_head;

/* Blocks of one size that are live at once, at most, ascending; a backend is prepared for them. */
typedef struct replay_class {
    uint64_t size, count;
} replay_class;

/* A block is taken and put into the slot, or the slot's block is given back. */
typedef struct replay_operation {
    uint64_t size; /* bytes */
    uint32_t slot;
    uint16_t thread;
    uint8_t takes;          /* 1: takes, 0: gives back */
    uint8_t alignment_bits; /* the alignment is 1 << this, where the backend can align */
} replay_operation;

/* In ticks; UINT32_MAX: as long or longer. */
typedef struct replay_times {
    uint32_t call;
    uint32_t first_writes; /* one to each page of the block, after it was taken */
} replay_times;

#endif
