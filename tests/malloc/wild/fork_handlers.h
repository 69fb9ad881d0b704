/* Of the library that fork_handlers.c is linked with. */
#ifndef FLATLINE_TESTS_FORK_HANDLERS_H
#define FLATLINE_TESTS_FORK_HANDLERS_H

/* Begins the thread that the handlers of ways `join` and `wait` have to do with. */
void begin_worker(void);
/* Registers the handlers of the ways that are late. */
void register_late(void);

#endif
