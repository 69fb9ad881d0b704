/* The definition behind one that a preloaded library replaces, looked up at its first call. */
#ifndef FLATLINE_PRELOAD_NEXT_DEFINITION_H
#define FLATLINE_PRELOAD_NEXT_DEFINITION_H

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* Declares the pointer next_NAME, and find_NAME(), which sets it: still NULL iff there is no other definition. */
#define NEXT_DEFINITION(result, name, parameters)                                                                      \
    static result(*next_##name) parameters;                                                                            \
    static inline void find_##name(void) {                                                                             \
        void *address = next_##name != NULL ? NULL : dlsym(RTLD_NEXT, #name);                                          \
        if (address != NULL) memcpy(&next_##name, &address, sizeof address);                                           \
    }

#endif
