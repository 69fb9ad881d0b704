/* opener LIBRARY: a program with the C library's malloc opens another one late and uses it by name. It prints "served"
 * if that went well and callers of the C library still get its malloc. It then frees a block of its own malloc by the
 * other one, which must stop it. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *take(size_t size);
typedef void give(void *block);

static void *c_librarys(const char *name) {
    void *library = dlopen("libc.so.6", RTLD_NOW);
    return library != NULL ? dlsym(library, name) : NULL;
}

static take *other_malloc;
static give *other_free;

static void *work(void *result) {
    for (size_t size = 1; size < (size_t)8 << 20; size = size * 2 + 1) {
        char *block = other_malloc(size);
        if (block == NULL) return NULL;
        memset(block, 1, size);
        other_free(block);
    }
    return result;
}

int main(int count, char **arguments) {
    void *const own_malloc = c_librarys("malloc"), *const own_free = c_librarys("free");
    void *library = count == 2 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library == NULL) {
        (void)fprintf(stderr, "opener: %s\n", count == 2 ? dlerror() : "give a library");
        return 2;
    }
    *(void **)&other_malloc = dlsym(library, "malloc");
    *(void **)&other_free = dlsym(library, "free");
    pthread_t thread;
    void *done = NULL;
    if (work(library) == NULL || pthread_create(&thread, NULL, work, library) != 0) return 1;
    if (pthread_join(thread, &done) != 0 || done == NULL || dlclose(library) != 0) return 1;
    if (own_malloc == NULL || c_librarys("malloc") != own_malloc || c_librarys("free") != own_free) return 1;
    (void)puts("served");
    (void)fflush(stdout);
    other_free(malloc(100));
    return 0;
}
