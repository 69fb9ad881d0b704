/* What an engine does not tell of itself, for C++. */
#ifndef FLATLINE_TESTS_PLAN_ENGINE_STATE_H
#define FLATLINE_TESTS_PLAN_ENGINE_STATE_H

#include <flatline/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The regions that `flat_engine_create` mapped. */
flat_memory engine_metadata_region(const flat_engine *engine);
flat_memory engine_block_region(const flat_engine *engine);

/* Runs of tasks of the class that took longer than its limit. */
uint64_t engine_runs_over_limit(const flat_engine *engine, size_t worker, size_t class_number);

#ifdef __cplusplus
}
#endif
#endif
