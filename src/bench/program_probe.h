/* What libflatline-probe.so tells of the process it was preloaded into: one record in the file <folder>/<process id>,
 * where the folder is named by the environment. It is kept up to date while the process runs, so that it is complete
 * however the process ends. */
#ifndef FLATLINE_BENCH_PROGRAM_PROBE_H
#define FLATLINE_BENCH_PROGRAM_PROBE_H

#include <stdint.h>

#define FLATLINE_PROBE_VARIABLE "FLATLINE_PROBE_FOLDER"

enum { FLATLINE_PROBE_PATH = 1024 };

/* All counts are since the process began. Invariant: allocations + frees are the calls that ticks were summed over. */
typedef struct flatline_probe_record {
    uint64_t allocations; /* calls of malloc, calloc, realloc, operator new, and those that align */
    uint64_t frees;       /* calls of free and operator delete that were given a block */
    uint64_t ticks;       /* of the clock, in these calls; one reading of the clock a call is in them */
    double ticks_per_ns;
    double cost_ns;                    /* of that reading */
    char library[FLATLINE_PROBE_PATH]; /* the file whose malloc is called */
} flatline_probe_record;

#endif
