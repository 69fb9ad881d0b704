/* The thread that runs the tasks of a queue that has no threads of its own. */
#ifndef FLATLINE_BENCH_QUEUES_CONSUMER_H
#define FLATLINE_BENCH_QUEUES_CONSUMER_H

#include "../queue.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Starts a thread that calls serve() on `processor`, and nowhere else. False: the system refuses. */
bool consumer_begin(void (*serve)(void), int processor);

/* Whether serve() is to return. It asks after every task and after every look that found nothing. */
static inline bool consumer_ends(void) {
    extern bool consumer_is_over;
    return __atomic_load_n(&consumer_is_over, __ATOMIC_RELAXED);
}

/* Asks serve() to return. */
void consumer_stop(void);

/* Waits until serve() has returned. */
void consumer_join(void);

/* A task that does nothing: it wakes a consumer that is to stop. */
queue_task consumer_nothing;

/* Sleeps while the word is `value`; it may return at any time. Wakes a thread that sleeps so. */
void sleep_on_word(const uint32_t *word, uint32_t value);
void wake_by_word(const uint32_t *word);

#ifdef __cplusplus
}
#endif
#endif
