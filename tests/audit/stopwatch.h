/* What stopwatch.c and its allocator share. */
#ifndef FLATLINE_TEST_STOPWATCH_H
#define FLATLINE_TEST_STOPWATCH_H

#include <stdint.h>

/* Exported by the allocator: how long each call works from now on. */
#define STOPWATCH_SPIN "stopwatch_spin_of_malloc"
typedef void stopwatch_spin_function(uint64_t ns);

#endif
