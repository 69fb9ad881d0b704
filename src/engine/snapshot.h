/* What the files that look at an engine share. */
#ifndef FLATLINE_ENGINE_SNAPSHOT_H
#define FLATLINE_ENGINE_SNAPSHOT_H

#include "engine.h"

#include <flatline/engine_statistics.h>

/* Tasks that all submitters had accepted for a worker. */
uint64_t flat_engine_accepted(const flat_engine *engine, uint32_t worker);

/* Of a rate as a worker keeps it. */
double flat_rate_per_second(const tick_rate *rate, uint64_t kept);

const duration_histogram *flat_durations_of(const worker_statistics *of, flat_duration duration);

#endif
