#define _GNU_SOURCE
#include "settings.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* Where the system has put argc, the arguments up to a null pointer, and the environment up to another one. The dynamic
 * linker defines it. */
extern void *__libc_stack_end __attribute__((weak));

/* Searches the environment with which the process began. */
static const char *initial_setting(const char *name) {
    if (&__libc_stack_end == NULL || __libc_stack_end == NULL) return NULL;
    const char *const *at = (const char *const *)__libc_stack_end + 1;
    size_t length = strlen(name);
    while (*at != NULL) at++;
    for (at++; *at != NULL; at++) {
        if (strncmp(*at, name, length) == 0 && (*at)[length] == '=') return *at + length + 1;
    }
    return NULL;
}

const char *flat_setting(const char *name) {
    if (environ != NULL) return secure_getenv(name);
    return getauxval(AT_SECURE) != 0 ? NULL : initial_setting(name);
}
