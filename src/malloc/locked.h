/* Whether memory becomes resident as it is mapped, because the program has locked what it will map (mlockall). Then
 * less is mapped at once, so that no call waits long. */
#ifndef FLATLINE_MALLOC_LOCKED_H
#define FLATLINE_MALLOC_LOCKED_H

#include <stdbool.h>

/* Known from the functions of the C library that this library replaces. A program that makes these system calls itself
 * is served as if it had locked nothing. */
bool flat_maps_locked(void);

#endif
