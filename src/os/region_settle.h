/* Makes the pages of a mapped region what the plan says. */
#ifndef FLATLINE_OS_REGION_SETTLE_H
#define FLATLINE_OS_REGION_SETTLE_H

#include "region_plan.h"

/* Applies the plan to the body between the guards. On failure it may be applied in part. */
flat_status flat_settle(char *body, const region_plan *plan);

/* Locks the body in memory. */
flat_status flat_lock(char *body, size_t size, const flat_region_options *options);

/* Binds the pages of the body, present and future, to the node that the options name. */
flat_status flat_bind(char *body, size_t size, const flat_region_options *options);

#endif
