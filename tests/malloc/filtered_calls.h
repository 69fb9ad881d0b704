/* Seccomp filters that refuse system calls, as sandboxes do. */
#ifndef FLATLINE_TESTS_MALLOC_FILTERED_CALLS_H
#define FLATLINE_TESTS_MALLOC_FILTERED_CALLS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The names of the filters, terminated by NULL. */
extern const char *const filtered_calls_names[];

/* Installs a filter for this process and the programs that it executes. Returns false, after a line on standard error,
 * iff no filter has this name or the system has no filters. */
bool filtered_calls_install(const char *name);

#ifdef __cplusplus
}
#endif
#endif
