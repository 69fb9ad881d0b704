/* Waits that set a signal mask: the audit's signal stays unblocked in the handlers that run meanwhile. */
#define _GNU_SOURCE
#include "waits.h"

#include "../preload/bound_past.h"
#include "../preload/masked_waits.h"

#define EXPORT __attribute__((visibility("default")))

#define WAIT(result, name, parameters, arguments, changed)                                                             \
    EXPORT result name parameters;                                                                                     \
    EXPORT result name parameters { return masked_##name arguments; }
MASKED_WAITS(WAIT)

#define FUNCTION(result, name, parameters, arguments, changed) {#name, (uintptr_t)&name},

void waits_reach_past(const object *libc) {
    static const c_library_function functions[] = {MASKED_WAITS(FUNCTION)};
    masked_waits_look_up();
    bound_past_redirect(libc, functions, sizeof functions / sizeof *functions);
}
