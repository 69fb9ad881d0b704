/* Filters by seccomp that refuse calls of the system, as sandboxes do. */
#ifndef FLATLINE_TESTS_MALLOC_FILTERED_CALLS_H
#define FLATLINE_TESTS_MALLOC_FILTERED_CALLS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The names of the filters, ended by NULL. */
extern const char *const filtered_calls_names[];

/* Installs one for this process and whatever it executes; false, and a line on standard error, iff there is none of
 * this name or the system has no filters. */
bool filtered_calls_install(const char *name);

#ifdef __cplusplus
}
#endif
#endif
