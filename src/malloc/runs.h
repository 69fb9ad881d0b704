/* Runs of neighbouring units, which are pages or chunks: taking one, giving it back, merged with what is free beside
 * it. Two levels of lists by length (Masmano, Ripoll, Crespo, Real 2004: TLSF): nothing is searched, each call is a
 * fixed number of steps. What is known of a run lies in its first and its last unit, apart from the memory itself. */
#ifndef FLATLINE_MALLOC_RUNS_H
#define FLATLINE_MALLOC_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE_SHIFT 12
#define PAGE ((size_t)1 << PAGE_SHIFT)

#define NO_UNIT UINT32_MAX

typedef enum unit_state { UNIT_USED, UNIT_CLEAN, UNIT_DIRTY } unit_state; /* clean: all bytes are 0 */

typedef struct unit {
    uint32_t next, previous; /* in the list of free runs, or of its class's spans: NO_UNIT at the ends */
    uint32_t head;           /* the first unit of its run: in the last unit of a free run, in every one of a span */
    uint32_t count;          /* units of the run: in the first */
    uint64_t free_words;     /* of a span, as the next two: see spans.h */
    uint16_t taken, fresh;
    uint8_t state; /* of the run: in the first and the last */
} unit;

/* Lists of runs of 1, 2, ... 16 units, then eight for each doubling up to 2^20. A list's runs have at least as many
 * units as the list stands for. */
#define RUN_LISTS (16 + 8 * 16)
#define RUN_WORDS ((RUN_LISTS + 63) / 64)
#define RUN_MAX ((uint32_t)1 << 20)

typedef struct run_set {
    uint64_t occupied[RUN_WORDS]; /* a bit for each list that has a member */
    uint32_t lists[RUN_LISTS];
} run_set;

/* Of which units a run may be made: it merges with no neighbour outside. */
typedef struct run_bounds {
    uint32_t first, end;
} run_bounds;

void flat_runs_init(run_set *runs);

/* The first of `count` neighbouring units, 1 .. RUN_MAX, which are no longer free; NO_UNIT iff no list has a run that
 * is certain to hold them, which is so of every run an eighth longer. `*state` is what the run was. */
uint32_t flat_runs_take(run_set *runs, unit *units, uint32_t count, unit_state *state);

/* Makes `count` units that are not free a run, and merges it with those beside it. */
void flat_runs_give(run_set *runs, unit *units, uint32_t head, uint32_t count, unit_state state, run_bounds bounds);

/* Of a used run the part that stays: `count` units after `before`; 1 at least. The others become free, in `state`. */
typedef struct run_cut {
    uint32_t before, count;
    unit_state state;
} run_cut;
void flat_runs_cut(run_set *runs, unit *units, uint32_t head, run_cut to, run_bounds bounds);

/* Adds `more` units to the used run at `head` iff the units behind it are free and inside the bounds. `*state` is what
 * they were. */
bool flat_runs_extend(run_set *runs, unit *units, uint32_t head, uint32_t more, run_bounds bounds, unit_state *state);

#endif
