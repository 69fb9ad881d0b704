/* Lines on standard error, whatever has become of it. */
#ifndef FLATLINE_MALLOC_SAY_H
#define FLATLINE_MALLOC_SAY_H

#include <stddef.h>

/* Writes `length` bytes to standard error, or as many as can be written: where it is closed, full for SAY_WAIT, or has
 * nobody who reads it, the rest is left out. Nothing at all is written where its descriptor was closed after the start
 * and belongs to a file or a connection of the program's by now: see say.c. Changes neither errno nor what signals are
 * pending. */
void flat_say(const char *text, size_t length);

#define SAY_WAIT 100 /* ms, once in a line: longer than a reader that is alive takes, and soon over where none is */

#endif
