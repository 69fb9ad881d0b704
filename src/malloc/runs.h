/* Runs of neighbouring units, which are pages or chunks: taking one, giving it back, merged with what is free beside
 * it. Two levels of lists by length (Masmano, Ripoll, Crespo, Real 2004: TLSF): nothing is searched, each call is a
 * fixed number of steps. What is known of a run lies in the entries of its first and its last unit, apart from the
 * memory itself; that of a long run in an entry for each LONG_RUN units, of which it starts in one and ends in another
 * that no other long run starts or ends in: so runs of many units touch little of the tables. */
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
static inline uint32_t difference(uint32_t a, uint32_t b) { return a > b ? a - b : 0; } /* 0 where b is more */

/* The state of free units. Clean: there is no memory behind them, so that their bytes read as 0 once they are mapped.
 * Dirty: what was there is there still. A bit for each unit says which, and a run may have both: UNIT_MIXED means that
 * each unit is what its bit says. */
typedef enum unit_state { UNIT_CLEAN, UNIT_DIRTY, UNIT_MIXED } unit_state;

typedef struct span_blocks {
    uint16_t taken, fresh; /* see spans.h */
} span_blocks;

typedef struct dirty_queue {
    uint32_t older, newer; /* NO_UNIT at the ends */
} dirty_queue;

typedef struct unit {
    uint32_t next, previous; /* in the list of free runs, or of its class's spans: NO_UNIT at the ends */
    union {
        uint32_t head;        /* the first unit of its run: in the last unit of a free run, in every one of a span */
        uint32_t first_dirty; /* of a free run of more than one unit that has any: in the first */
    };
    uint32_t count; /* units of the run: in the first */
    union {
        uint64_t free_words; /* of a span: see spans.h */
        dirty_queue queue;   /* of a run with dirty units */
    };
    union {
        span_blocks blocks; /* of a span */
        uint32_t dirty;     /* of a free run: so many of its units */
    };
    bool is_free;     /* of the run: in the first and the last */
    uint8_t resident; /* of a span: see spans.h */
    bool trimmed;     /* of a span: see spans.h */
} unit;

#define LONG_RUN 32u

/* Of LONG_RUN units in a row. */
typedef struct long_run {
    unit first;     /* of the long run that starts there, what a short one has in its first unit */
    uint32_t head;  /* of the long run that ends there: its first unit */
    bool is_free;   /* that run */
    uint8_t starts; /* at which of the units, counted from 1; 0: at none */
    uint8_t ends;
} long_run;

/* Lists of runs of 1, 2, ... 16 units, then eight for each doubling up to RUN_MAX. A list's runs have at least as many
 * units as the list stands for. */
#define RUN_DOUBLINGS 30
#define RUN_MAX ((uint32_t)1 << RUN_DOUBLINGS)
#define RUN_LISTS (16 + 8 * (RUN_DOUBLINGS - 4))
#define RUN_WORDS ((RUN_LISTS + 63) / 64)

/* All 0 at first. */
typedef struct run_tables {
    unit *units;
    long_run *long_runs;
    uint64_t *dirty_bits; /* a bit a unit; it means something while that is free */
} run_tables;

typedef struct run_set {
    run_tables in;
    uint64_t occupied[RUN_WORDS]; /* a bit for each list that has a member */
    uint32_t lists[RUN_LISTS];
    uint32_t free;           /* units in all */
    uint32_t dirty;          /* of them */
    uint32_t oldest, newest; /* of the runs with dirty units: the oldest has changed least recently */
} run_set;

/* Of which units a run may be made: it merges with no neighbour outside. */
typedef struct run_bounds {
    uint32_t first, end;
} run_bounds;

void flat_runs_init(run_set *runs, run_tables in);

/* What is known of the run that starts at `head`, as its first unit has it. Its owner may be setting up another run in
 * the same LONG_RUN units while somebody else reads the length of a used one. */
static inline unit *flat_run(const run_set *runs, uint32_t head) {
    long_run *of = &runs->in.long_runs[head / LONG_RUN];
    bool is_long = __atomic_load_n(&of->starts, __ATOMIC_RELAXED) == head % LONG_RUN + 1;
    return is_long ? &of->first : &runs->in.units[head];
}

/* Makes `count` units a used run, whatever they were before, if no free run has any of them. */
void flat_runs_set_used(run_set *runs, uint32_t head, uint32_t count);

/* Of used units: parts of them, up to `at` and from there on, are about to become free by themselves. */
void flat_runs_part(run_set *runs, uint32_t at);

/* The first of `count` neighbouring units, 1 .. RUN_MAX, which are no longer free; NO_UNIT iff no list has a run that
 * is certain to hold them, which is so of every run an eighth longer. `*state`: UNIT_CLEAN if all of them were. This
 * and what follows take a step for each 64 units, beside a fixed number. */
uint32_t flat_runs_take(run_set *runs, uint32_t count, unit_state *state);

/* The first `count` units of a free run that has so many: UNIT_CLEAN if all of them were. */
unit_state flat_runs_take_first(run_set *runs, uint32_t head, uint32_t count);

/* The first unit of the run that ends at `last`; NO_UNIT: it is not free. */
uint32_t flat_runs_ending(const run_set *runs, uint32_t last);

/* As flat_runs_take(), but the first unit plus `bias` is a multiple of `alignment`, a power of two. Looks at a few of
 * the runs that are long enough by chance, then takes one that is certain to be; but if its units are not all dirty,
 * and enough are where some became free last, those, whose memory is there. NO_UNIT: none was found. */
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

/* Makes them a run, and merges it with those beside it. Returns the first unit of what has come of it. */
uint32_t flat_runs_give(run_set *runs, uint32_t head, run_given given, run_bounds bounds);

/* A free run of the list that `count` belongs to; NO_UNIT: it has none. */
uint32_t flat_runs_first(const run_set *runs, uint32_t count);

/* Takes the whole free run that begins at `head`. */
void flat_runs_take_run(run_set *runs, uint32_t head);

/* Of a used run the part that stays: `count` units after `before`; 1 at least. The others become free, in `state`. */
typedef struct run_cut {
    uint32_t before, count;
    unit_state state;
} run_cut;
void flat_runs_cut(run_set *runs, uint32_t head, run_cut to, run_bounds bounds);

/* Adds `more` units to the used run at `head` iff the units behind it are free and inside the bounds. */
bool flat_runs_extend(run_set *runs, uint32_t head, uint32_t more, run_bounds bounds);

/* Makes clean units at the start of the free run at `first` dirty, whose memory the caller is about to touch: up to
 * `most`, a step for each. Returns their number; 0 where no run starts. */
uint32_t flat_runs_make_dirty(run_set *runs, uint32_t first, uint32_t most);

/* Takes the units whose memory should be given back next: neighbouring dirty ones, the first of the oldest run that has
 * any, up to `most`, a step for each; and none beyond the next chunk's first, so that whole chunks go together. None
 * iff count == 0. */
run_part flat_runs_take_dirty(run_set *runs, uint32_t most);

#endif
