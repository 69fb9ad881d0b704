/* Stacks as numbers of an interned table. Each frame names its file and the place in it, so that it can be read without
 * the process, after it has ended or unloaded the file. */
#ifndef FLATLINE_PRELOAD_STACKS_H
#define FLATLINE_PRELOAD_STACKS_H

#include "stack_tree.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A frame is one word. Either the number of the file's path in the same table, above the return address less the file's
 * load bias; or FRAME_ABSOLUTE and the return address itself, in code that no file has, as a program makes at run time.
 */
#define FRAME_OFFSET_BITS 43
#define FRAME_ABSOLUTE (UINT64_C(1) << 63)

static inline uint32_t frame_file(uint64_t frame) {
    return (frame & FRAME_ABSOLUTE) != 0 ? 0 : (uint32_t)(frame >> FRAME_OFFSET_BITS);
}
static inline uint64_t frame_offset(uint64_t frame) {
    return (frame & FRAME_ABSOLUTE) != 0 ? frame & ~FRAME_ABSOLUTE : frame & ((UINT64_C(1) << FRAME_OFFSET_BITS) - 1);
}

/* Once in a process, before the others: notes the path of its program. */
void stacks_prepare(void);

/* That path; empty if the system does not tell it. */
const char *stacks_program(void);

/* The stack of the calling thread from the function on whose return address is `innermost`. 0 iff the table is full.
 * Some 1 to 15 us; no lock, no allocation; errno stays. */
uint32_t stack_of(interned_table *table, const void *innermost);

/* One frame of it. */
uint64_t frame_of(interned_table *table, uintptr_t address);

#ifdef __cplusplus
}
#endif
#endif
