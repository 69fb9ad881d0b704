/* The library that fork_handlers.c is linked with. */
#ifndef FLATLINE_TESTS_FORK_HANDLERS_H
#define FLATLINE_TESTS_FORK_HANDLERS_H

/* Begins the thread that the ways `join` and `wait` use. */
void begin_worker(void);
/* Registers the handlers if they are to be late. */
void register_late(void);

#endif
