/* Where sections begin, and what is done once a thread so that it can be watched in them. */
#ifndef FLATLINE_GUARD_SECTIONS_H
#define FLATLINE_GUARD_SECTIONS_H

#include "state.h"

/* The outermost section of the thread begins, whose depth is 1 already. A thread's first one costs some 50 us. */
void guard_begin(guard_thread *mine, uint64_t section, uintptr_t frame);

#endif
