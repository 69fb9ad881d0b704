/* Lines on stderr, whatever has become of it. */
#ifndef FLATLINE_MALLOC_SAY_H
#define FLATLINE_MALLOC_SAY_H

#include <stddef.h>

/* Writes `length` bytes to stderr, or as many as can be written: the rest is dropped if stderr is closed, full for
 * SAY_WAIT, or has no reader. Nothing is written if its descriptor was closed after the start and now belongs to a file
 * or a connection of the program's: see say.c. Changes neither errno nor which signals are pending. */
void flat_say(const char *text, size_t length);

/* Keeps a second descriptor of stderr, for lines after the program has closed its own: many close it as they end. Call
 * it at most once, at the start. If the system refuses, those lines are dropped as before. */
void flat_keep_stderr(void);

#define SAY_WAIT 100 /* ms, once for each line: longer than a live reader takes, and short if there is none */

#endif
