/* Files that contain regions. */
#ifndef FLATLINE_OS_REGION_FILE_H
#define FLATLINE_OS_REGION_FILE_H

#include "region_plan.h"

/* Makes a file without a name, of `plan->file_size` bytes, whose size nobody can change. Sets `plan->descriptor`. */
flat_status flat_make_memory_file(region_plan *plan);

/* Makes the shared memory object that the options name, of `plan->file_size` bytes. Sets `plan->descriptor`. */
flat_status flat_make_named_file(region_plan *plan);

/* FLAT_OK iff `name` is a valid name of a shared memory object. */
flat_status flat_judge_name(const char *name, const flat_region_options *options);

#endif
