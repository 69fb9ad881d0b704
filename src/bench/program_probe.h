/* The report of libflatline-probe.so about the process it was preloaded into: one record in the file <folder>/<process
 * id>, whose folder is named by the environment. It is updated while the process runs, so it is complete however the
 * process ends. */
#ifndef FLATLINE_BENCH_PROGRAM_PROBE_H
#define FLATLINE_BENCH_PROGRAM_PROBE_H

#include <stdint.h>

#define FLATLINE_PROBE_VARIABLE "FLATLINE_PROBE_FOLDER"

enum { FLATLINE_PROBE_PATH = 1024 };

/* All counts are since the process began. Invariant: `ticks` is the sum over exactly allocations + frees calls. */
typedef struct flatline_probe_record {
    uint64_t allocations; /* calls of malloc, calloc, realloc, operator new, and their aligned variants */
    uint64_t frees;       /* calls of free and operator delete with a block */
    uint64_t ticks;       /* clock ticks in these calls, including one reading of the clock for each call */
    double ticks_per_ns;
    double cost_ns;                    /* of that reading */
    char library[FLATLINE_PROBE_PATH]; /* the file whose malloc is called */
} flatline_probe_record;

#endif
