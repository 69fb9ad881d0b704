/* src/engine/ready.h for C++: the choice of a worker, from a state that the caller keeps. */
#ifndef FLATLINE_TESTS_PLAN_READY_CHOICES_H
#define FLATLINE_TESTS_PLAN_READY_CHOICES_H

#include <stdint.h>

#define READY_LISTS 4
#define READY_MOST_TASKS 16

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ready_state {
    uint64_t passed_over;         /* as in ready_tasks */
    unsigned length[READY_LISTS]; /* tasks of each urgency; READY_MOST_TASKS at most in all */
} ready_state;

/* Adds a task. */
void ready_state_append(ready_state *state, unsigned limit, unsigned urgency);

/* Takes out the task that is chosen, and returns its urgency. There is one. */
unsigned ready_state_choose(ready_state *state, unsigned limit);

#ifdef __cplusplus
}
#endif
#endif
