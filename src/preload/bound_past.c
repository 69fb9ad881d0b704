#define _GNU_SOURCE
#include "bound_past.h"

#include <dlfcn.h>

enum { MOST = 64 };

void bound_past_redirect(const object *libc, const c_library_function *functions, size_t count) {
    c_library_function next[MOST];
    size_t found = 0;
    for (size_t i = 0; i < count && found < MOST; i++)
        if (flat_c_library_has(libc, functions[i].name, (uintptr_t)dlsym(RTLD_NEXT, functions[i].name)))
            next[found++] = functions[i];
    (void)flat_c_library_change(libc, next, found);
}
