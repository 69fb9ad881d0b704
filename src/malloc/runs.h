/* Runs of neighbouring units, which are pages or chunks. A run is taken, and given back; it then merges with its free
 * neighbours. The lists of free runs have two levels by length (Masmano, Ripoll, Crespo, Real 2004: TLSF). So nothing
 * is searched, and each call is a fixed number of steps. What is known of a run lies in the entries of its first and
 * its last unit, apart from the memory itself. What is known of a long run lies in entries that stand for LONG_RUN
 * units each: no two long runs start in the same entry, and no two end in the same one. So runs of many units touch
 * little of the tables. */
#ifndef FLATLINE_MALLOC_RUNS_H
#define FLATLINE_MALLOC_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE_SHIFT 12
#define PAGE ((size_t)1 << PAGE_SHIFT)

#define NO_UNIT UINT32_MAX

#define CHUNK_SHIFT 22
#define CHUNK ((size_t)1 << CHUNK_SHIFT)
#define CHUNK_PAGES ((uint32_t)(CHUNK / PAGE))

static inline uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }
static inline uint32_t difference(uint32_t a, uint32_t b) { return a > b ? a - b : 0; } /* 0 if b is larger */

/* The state of free units. Clean: there is no memory behind them, so their bytes read as 0 once they are mapped. Dirty:
 * they still have their old content. Each unit has a bit that says which, and a run may have both. UNIT_MIXED: each
 * unit is what its bit says. */
typedef enum unit_state { UNIT_CLEAN, UNIT_DIRTY, UNIT_MIXED } unit_state;

typedef struct span_blocks {
    uint16_t taken, fresh; /* see spans.h */
} span_blocks;

typedef struct dirty_queue {
    uint32_t older, newer; /* NO_UNIT at the ends */
} dirty_queue;

typedef struct unit {
    uint32_t next, previous; /* in the list of free runs, or of the spans of its class; NO_UNIT at the ends */
    union {
        uint32_t head;        /* the run's first unit: in the last unit of a free run, in every unit of a span */
        uint32_t first_dirty; /* of a free run of more than one unit that has any: in the first */
    };
    uint32_t count; /* units of the run: in the first */
    union {
        uint64_t free_words; /* of a span: see spans.h */
        dirty_queue queue;   /* of a run with dirty units */
    };
    union {
        span_blocks blocks; /* of a span */
        uint32_t dirty;     /* dirty units of a free run */
    };
    bool is_free;     /* of the run: in the first and the last */
    uint8_t resident; /* of a span: see spans.h */
    bool trimmed;     /* of a span: see spans.h */
} unit;

#define LONG_RUN 32u

/* Of LONG_RUN units in a row. */
typedef struct long_run {
    unit first;     /* of the long run that starts there: what a short one has in its first unit */
    uint32_t head;  /* first unit of the long run that ends there */
    bool is_free;   /* whether that run is free */
    uint8_t starts; /* the unit at which it starts, counted from 1; 0: none starts */
    uint8_t ends;
} long_run;

/* Lists of runs of 1, 2, ... 16 units, then eight for each doubling up to RUN_MAX. All runs of a list have at least as
 * many units as the list stands for. */
#define RUN_DOUBLINGS 30
#define RUN_MAX ((uint32_t)1 << RUN_DOUBLINGS)
#define RUN_LISTS (16 + 8 * (RUN_DOUBLINGS - 4))
#define RUN_WORDS ((RUN_LISTS + 63) / 64)

/* All 0 at first. */
typedef struct run_tables {
    unit *units;
    long_run *long_runs;
    uint64_t *dirty_bits; /* a bit per unit; valid while the unit is free */
} run_tables;

typedef struct run_set {
    run_tables in;
    uint64_t occupied[RUN_WORDS]; /* a bit for each list that has a member */
    uint32_t lists[RUN_LISTS];
    uint32_t free;           /* units, in total */
    uint32_t dirty;          /* of them */
    uint32_t oldest, newest; /* of the runs with dirty units: the oldest has changed least recently */
} run_set;

/* The units of which a run may be made: it merges with no neighbour outside. */
typedef struct run_bounds {
    uint32_t first, end;
} run_bounds;

void flat_runs_init(run_set *runs, run_tables in);

/* What is known of the run that starts at `head`, as its first unit has it. Its owner may be setting up another run in
 * the same LONG_RUN units while another thread reads the length of a used one. */
static inline unit *flat_run(const run_set *runs, uint32_t head) {
    long_run *of = &runs->in.long_runs[head / LONG_RUN];
    bool is_long = __atomic_load_n(&of->starts, __ATOMIC_RELAXED) == head % LONG_RUN + 1;
    return is_long ? &of->first : &runs->in.units[head];
}

/* Makes `count` units a used run, whatever they were before, if no free run has any of them. */
void flat_runs_set_used(run_set *runs, uint32_t head, uint32_t count);

/* Divides used units into two parts, up to `at` and from there on, which are about to become free separately. */
void flat_runs_part(run_set *runs, uint32_t at);

/* Takes `count` neighbouring units, 1 .. RUN_MAX, and returns the first of them. NO_UNIT iff no list has a run that is
 * certain to hold them, as every run an eighth longer is. `*state`: UNIT_CLEAN if all of them were. This function and
 * the following ones take a step for each 64 units, and a fixed number of others. */
uint32_t flat_runs_take(run_set *runs, uint32_t count, unit_state *state);

/* Takes the first `count` units of a free run that has that many. UNIT_CLEAN if all of them were. */
unit_state flat_runs_take_first(run_set *runs, uint32_t head, uint32_t count);

/* The first unit of the run that ends at `last`; NO_UNIT: that run is not free. */
uint32_t flat_runs_ending(const run_set *runs, uint32_t last);

/* As flat_runs_take(), but the first unit plus `bias` is a multiple of `alignment`, a power of two. It looks at a few
 * of the runs that may be long enough, then takes one that is certain to be. If the units found are not all dirty, and
 * there are enough dirty ones where some became free last, it takes those instead, because they have their memory.
 * NO_UNIT: none was found. */
typedef struct run_alignment {
    uint32_t to, bias;
} run_alignment;
uint32_t flat_runs_take_aligned(run_set *runs, uint32_t count, run_alignment alignment);

/* The first part of the used units from `first` up to `end` whose bits say that they are clean; none iff count == 0. */
typedef struct run_part {
    uint32_t first, count;
} run_part;
run_part flat_runs_clean_part(const run_set *runs, uint32_t first, uint32_t end);

/* Used units that become free. */
typedef struct run_given {
    uint32_t count;
    unit_state state;
} run_given;

/* Makes them a run, and merges it with its free neighbours. Returns the first unit of the result. */
uint32_t flat_runs_give(run_set *runs, uint32_t head, run_given given, run_bounds bounds);

/* A free run of the list that `count` belongs to; NO_UNIT: there is none. */
uint32_t flat_runs_first(const run_set *runs, uint32_t count);

/* Takes the whole free run that begins at `head`. */
void flat_runs_take_run(run_set *runs, uint32_t head);

/* The part of a used run that stays: `count` units after `before`; at least 1. The others become free, in `state`. */
typedef struct run_cut {
    uint32_t before, count;
    unit_state state;
} run_cut;
void flat_runs_cut(run_set *runs, uint32_t head, run_cut to, run_bounds bounds);

/* Adds `more` units to the used run at `head`; true iff the units behind it are free and inside the bounds. */
bool flat_runs_extend(run_set *runs, uint32_t head, uint32_t more, run_bounds bounds);

/* Makes clean units at the start of the free run at `first` dirty, because the caller is about to touch their memory:
 * up to `most`, a step for each. Returns their number; 0 if no run starts there. */
uint32_t flat_runs_make_dirty(run_set *runs, uint32_t first, uint32_t most);

/* Takes the units whose memory should return to the OS next: neighbouring dirty ones, the first of the oldest run that
 * has any. Up to `most`, a step for each, and none beyond the start of the next chunk, so that whole chunks go
 * together. None iff count == 0. */
run_part flat_runs_take_dirty(run_set *runs, uint32_t most);

#endif
