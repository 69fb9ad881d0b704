/* The malloc of the process: glibc's, or the library that was preloaded. */
#define _GNU_SOURCE
#include "../backend.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each library's own call for it, found by a symbol that only that library has. In jemalloc, arena number 4096 stands
 * for all arenas. */
static void trim(void) {
    union {
        void *symbol;
        void (*mi_collect)(bool);
        int (*mallctl)(const char *, void *, size_t *, void *, size_t);
        void (*release)(void);
        int (*command)(int, void *);
    } call;
    if ((call.symbol = dlsym(RTLD_DEFAULT, "mi_collect")) != NULL) {
        call.mi_collect(true);
    } else if ((call.symbol = dlsym(RTLD_DEFAULT, "mallctl")) != NULL) {
        (void)call.mallctl("arena.4096.purge", NULL, NULL, NULL, 0);
    } else if ((call.symbol = dlsym(RTLD_DEFAULT, "MallocExtension_ReleaseFreeMemory")) != NULL) {
        call.release();
    } else if ((call.symbol = dlsym(RTLD_DEFAULT, "scalable_allocation_command")) != NULL) {
        (void)call.command(0, NULL); /* TBBMALLOC_CLEAN_ALL_BUFFERS */
    } else {
        (void)malloc_trim(0);
    }
}

const bench_traits bench_backend = {
    .driver = "malloc", .is_malloc = true, .any_size = true, .remote_free = true, .trim = trim};

bool bench_prepare(const bench_class *classes, size_t count, bench_pages pages) {
    (void)classes;
    (void)pages;
    return count > 0;
}

void *bench_alloc(size_t size) { return malloc(size); }

void bench_free(void *block, size_t size) {
    (void)size;
    free(block);
}

/* oneTBB gives its version only in its file name: libtbbmalloc.so.2.8. */
static const char *binary_version(const void *code) {
    static char path[4096];
    Dl_info info;
    if (dladdr(code, &info) == 0 || realpath(info.dli_fname, path) == NULL) return "unknown";
    const char *version = strstr(path, ".so.");
    return version != NULL ? version + strlen(".so.") : "unknown";
}

bench_function *bench_code(void) { return (bench_function *)malloc; }

/* Identifies the library by a symbol that only it has. */
const char *bench_version(void) {
    static char text[64];
    union {
        void *symbol;
        const char *version; /* what peers/build.sh adds to libraries that do not report theirs */
        int (*mi_version)(void);
        int (*mallctl)(const char *, void *, size_t *, void *, size_t);
        const char *(*tc_version)(int *, int *, const char **);
    } ask;
    if ((ask.symbol = dlsym(RTLD_DEFAULT, "flat_malloc_version")) != NULL) return ask.version;
    if ((ask.symbol = dlsym(RTLD_DEFAULT, "flatline_peer_version")) != NULL) return ask.version;
    if ((ask.symbol = dlsym(RTLD_DEFAULT, "mi_version")) != NULL) {
        int version = ask.mi_version();
        int unit = version < 10000 ? 10 : 100; /* 209 was 2.0.9, 30302 is 3.3.2 */
        (void)snprintf(text, sizeof text, "%d.%d.%d", version / unit / unit, version / unit % unit, version % unit);
        return text;
    }
    if ((ask.symbol = dlsym(RTLD_DEFAULT, "mallctl")) != NULL) {
        const char *version = NULL;
        size_t size = sizeof version;
        return ask.mallctl("version", &version, &size, NULL, 0) == 0 ? version : "unknown";
    }
    if ((ask.symbol = dlsym(RTLD_DEFAULT, "tc_version")) != NULL) return ask.tc_version(NULL, NULL, NULL);
    if ((ask.symbol = dlsym(RTLD_DEFAULT, "scalable_malloc")) != NULL) return binary_version(ask.symbol);
    return gnu_get_libc_version();
}
