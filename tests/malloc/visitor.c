/* A library that is loaded and unloaded again and again, and uses the program's malloc. */
#include <stdlib.h>
#include <string.h>

void *visitor_make(size_t size);

static void *own;

__attribute__((constructor)) static void come(void) { own = malloc(5000); }

__attribute__((destructor)) static void go(void) { free(own); }

void *visitor_make(size_t size) {
    char *made = calloc(1, size);
    if (made != NULL) memcpy(made, "visited", sizeof "visited");
    return made;
}
