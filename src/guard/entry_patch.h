/* The entry of a function, changed in memory so that each call passes through another one first. */
#ifndef FLATLINE_GUARD_ENTRY_PATCH_H
#define FLATLINE_GUARD_ENTRY_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the changed entry leads to. */
typedef struct entry_patch {
    const void *resume; /* where the function goes on: its first instructions, moved, and a jump behind them */
    uint64_t section;   /* as in the words of a violation */
    void *function;
    const unsigned char *code; /* what the entry jumps to; NULL: it has not been changed */
} entry_patch;

/* Loads the disassembler. False: it is not installed. */
bool entry_patch_prepare(void);

/* Whether the entry is still changed: a library may have been unloaded, and another be in its place. */
bool entry_patch_is_applied(const entry_patch *patch);

/* Changes the function of `size` bytes (0: not known): each call of it jumps to `through` with `patch` in r11, before
 * its first instruction. NULL if it was done; else why it cannot be, in words. While the program's only thread runs, or
 * before another one can know the function. */
const char *entry_patch_apply(entry_patch *patch, size_t size, void (*through)(void));

#endif
