#ifndef FLATLINE_AUDIT_WAITS_H
#define FLATLINE_AUDIT_WAITS_H

#include "../malloc/objects.h"

/* They are replaced also for callers that are bound past this library: see bound_past.h. */
void waits_reach_past(const object *libc);

#endif
