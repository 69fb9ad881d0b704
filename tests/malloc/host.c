/* host LIBRARY [deep]: a program in C that opens a library in C++, with RTLD_DEEPBIND if `deep` is given, and calls its
 * `thrower`. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

typedef int thrower(void);

int main(int count, char **arguments) {
    int flags = RTLD_NOW | RTLD_LOCAL | (count == 3 ? RTLD_DEEPBIND : 0);
    void *library = count >= 2 ? dlopen(arguments[1], flags) : NULL;
    thrower *function = NULL;
    if (library != NULL) *(void **)&function = dlsym(library, "thrower");
    if (function == NULL) {
        (void)fprintf(stderr, "host: %s\n", count >= 2 ? dlerror() : "give a library");
        return 2;
    }
    return function();
}
