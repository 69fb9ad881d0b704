/* What the user has asked for in the environment. */
#ifndef FLATLINE_MALLOC_SETTINGS_H
#define FLATLINE_MALLOC_SETTINGS_H

/* The value of an environment variable; NULL: it is not set, or the program runs with more rights than its user has.
 * Also before the C library has set `environ`, which is after some programs' first malloc, and where the program has
 * taken it away. */
const char *flat_setting(const char *name);

#endif
