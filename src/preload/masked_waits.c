#define _GNU_SOURCE
#include "masked_waits.h"

#include "next_definition.h"
#include "signals.h"

#include <errno.h>

/* A C library may be older than the last of them. */
#define MASKED_WAIT(result, name, parameters, arguments, changed)                                                      \
    NEXT_DEFINITION(result, name, parameters)                                                                          \
    result masked_##name parameters {                                                                                  \
        sigset_t room;                                                                                                 \
        find_##name();                                                                                                 \
        if (next_##name != NULL) return next_##name changed;                                                           \
        errno = ENOSYS;                                                                                                \
        return -1;                                                                                                     \
    }
MASKED_WAITS(MASKED_WAIT)

#define FIND(result, name, parameters, arguments, changed) find_##name();
void masked_waits_look_up(void) { MASKED_WAITS(FIND) }
