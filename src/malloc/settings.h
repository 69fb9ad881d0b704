/* What the user has set in the environment. */
#ifndef FLATLINE_MALLOC_SETTINGS_H
#define FLATLINE_MALLOC_SETTINGS_H

/* The value of an environment variable; NULL: it is not set, or the program runs with more rights than its user has. It
 * also works before the C library has set `environ`, which some programs' first malloc precedes, and after the program
 * has removed it. */
const char *flat_setting(const char *name);

#endif
