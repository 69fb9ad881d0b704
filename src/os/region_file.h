/* Files that regions lie in. */
#ifndef FLATLINE_OS_REGION_FILE_H
#define FLATLINE_OS_REGION_FILE_H

#include "region_plan.h"

/* A file without a name that nobody can cut or extend, of `plan->file_size` bytes. Sets `plan->descriptor`. */
flat_status flat_make_memory_file(region_plan *plan);

/* The shared memory object that the options name, of `plan->file_size` bytes. Sets `plan->descriptor`. */
flat_status flat_make_named_file(region_plan *plan);

/* FLAT_OK iff `name` is what a shared memory object can be called. */
flat_status flat_judge_name(const char *name, const flat_region_options *options);

#endif
