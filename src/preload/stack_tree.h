/* Stacks in an interned table, as a tree: stacks with the same callers share the entries of these. So a program whose
 * functions call each other deeply does not fill the table with a few thousand of its stacks. */
#ifndef FLATLINE_PRELOAD_STACK_TREE_H
#define FLATLINE_PRELOAD_STACK_TREE_H

#include "interned.h"
#include "unwind.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A stack is an entry of one word: the number of its innermost frame, which is an entry of one word as well, and above
 * 32 bits the stack of the callers; 0: it ends there. */
static inline uint32_t stack_frame(uint64_t word) { return (uint32_t)word; }
static inline uint32_t stack_callers(uint64_t word) { return (uint32_t)(word >> 32); }

/* Where seven eighths of the table are taken, a stack that is not in it is put without its other frames. */
#define STACK_SHORT 4u

/* Returns the number of the stack of these frames, of which the first is the innermost; `count` is from 1 to
 * UNWIND_DEPTH. 0 iff the table is full. By any thread or process at a time; it neither waits nor allocates. Some 20 ns
 * a frame. */
uint32_t stack_put(interned_table *table, const uint64_t *frames, size_t count);

/* Puts them on the stack of their callers, 0 if they have none; `count` may be 0. In `stacks[i]` is then the number of
 * the stack whose innermost frame is frames[i]. Returns the number of the whole stack; 0 iff seven eighths of the table
 * are taken and it is not in it. */
uint32_t stack_put_on(interned_table *table, uint32_t callers, const uint64_t *frames, size_t count, uint32_t *stacks);

/* Writes the frames of a stack, innermost first, and returns how many there are; 0 iff it is no number of a stack. */
size_t stack_get(const interned_table *table, uint32_t stack, uint64_t frames[UNWIND_DEPTH]);

#ifdef __cplusplus
}
#endif
#endif
