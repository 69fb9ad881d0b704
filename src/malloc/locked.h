/* Whether memory becomes resident as it is mapped, since the program has locked what it will map (mlockall). Then less
 * is mapped at once, so that no call has to wait for long. */
#ifndef FLATLINE_MALLOC_LOCKED_H
#define FLATLINE_MALLOC_LOCKED_H

#include <stdbool.h>

/* Known of the functions of the C library, in whose place this library has its own. A program that makes the calls of
 * the system itself is served as if it had not locked anything. */
bool flat_maps_locked(void);

#endif
