/* Pages of a mapped region become what the plan says. */
#ifndef FLATLINE_OS_REGION_SETTLE_H
#define FLATLINE_OS_REGION_SETTLE_H

#include "region_plan.h"

/* Makes the body between the guards what the plan says. On failure it may be so in part. */
flat_status flat_settle(char *body, const region_plan *plan);

/* Locks the body in memory. */
flat_status flat_lock(char *body, size_t size, const flat_region_options *options);

/* The pages of the body, now and to come, lie on the node that the options name. */
flat_status flat_bind(char *body, size_t size, const flat_region_options *options);

#endif
