/* Whatever malloc the process has: glibc's, or the library that was preloaded. */
#define _GNU_SOURCE
#include "../backend.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>

const char bench_driver[] = "malloc";
const bool bench_is_control = false;

bool bench_prepare(const bench_class *classes, size_t count) {
    (void)classes;
    return count > 0;
}

void *bench_alloc(size_t size) { return malloc(size); }

void bench_free(void *block, size_t size) {
    (void)size;
    free(block);
}

bench_function *bench_code(void) { return (bench_function *)malloc; }

/* Asks the library by the function that only it has. */
const char *bench_version(void) {
    static char text[64];
    union {
        void *symbol;
        int (*mi_version)(void);
        int (*mallctl)(const char *, void *, size_t *, void *, size_t);
        const char *(*tc_version)(int *, int *, const char **);
    } ask;
    if ((ask.symbol = dlsym(RTLD_DEFAULT, "mi_version")) != NULL) {
        int version = ask.mi_version();
        (void)snprintf(text, sizeof text, "%d.%d.%d", version / 100, version / 10 % 10, version % 10);
        return text;
    }
    if ((ask.symbol = dlsym(RTLD_DEFAULT, "mallctl")) != NULL) {
        const char *version = NULL;
        size_t size = sizeof version;
        return ask.mallctl("version", &version, &size, NULL, 0) == 0 ? version : "unknown";
    }
    if ((ask.symbol = dlsym(RTLD_DEFAULT, "tc_version")) != NULL) return ask.tc_version(NULL, NULL, NULL);
    return gnu_get_libc_version();
}
