/* libheap_calls.so: a preload library that counts an example's heap calls and reports those in its steady state.
 *
 * A program tells its phase in a variable that it must export (link option -rdynamic):
 *
 *     volatile enum { STARTING, STEADY, ENDING } phase;
 *
 * A program without the variable counts as steady from its first instruction to its last. The report goes to the file
 * that HEAP_CALLS names, in whole lines, so that several processes can write to it: one line at once for each of the
 * first calls that break the rule, and one at the end of each process. Only programs with the name HEAP_CALLS_OF
 * report, because an example may start others. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { STARTING, STEADY, ENDING };
enum { MOST_LINES = 10 }; /* for calls that break the rule; all calls are counted */

/* The C library's functions, under names that no other library replaces. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void *__libc_valloc(size_t size);
void *__libc_pvalloc(size_t size);
void __libc_free(void *block);

extern const volatile int phase __attribute__((weak)); /* the program's variable, if it has one */
static unsigned long in_phase[ENDING + 1];
static int report = -1;

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...) {
    char line[256];
    va_list values;
    va_start(values, format);
    const int length = vsnprintf(line, sizeof line, format, values); /* numbers and short strings, which need no heap */
    va_end(values);
    if (report >= 0 && length > 0 && write(report, line, (size_t)length) != length) _exit(125);
}

static void count(const char *function, size_t bytes) {
    const int now = &phase != NULL ? phase : STEADY;
    if (now < STARTING || now > ENDING) return;
    const unsigned long calls = __atomic_add_fetch(&in_phase[now], 1, __ATOMIC_RELAXED);
    const int error = errno;
    if (now == STEADY && calls <= MOST_LINES) say("%d broken: %s of %zu bytes\n", getpid(), function, bytes);
    errno = error;
}

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("HEAP_CALLS"), *name = getenv("HEAP_CALLS_OF");
    if (path != NULL && name != NULL && strcmp(name, program_invocation_short_name) == 0) {
        report = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    }
}

__attribute__((destructor)) static void end(void) {
    if (&phase != NULL && phase == STARTING) say("%d broken: it never became steady\n", getpid());
    say("%d calls: %lu starting, %lu steady, %lu ending\n", getpid(), in_phase[STARTING], in_phase[STEADY],
        in_phase[ENDING]);
}

EXPORT void *malloc(size_t size) {
    count("malloc", size);
    return __libc_malloc(size);
}

EXPORT void *calloc(size_t number, size_t size) {
    count("calloc", number * size);
    return __libc_calloc(number, size);
}

EXPORT void *realloc(void *block, size_t size) {
    count("realloc", size);
    return __libc_realloc(block, size);
}

EXPORT void *reallocarray(void *block, size_t number, size_t size) {
    count("reallocarray", number * size);
    if (size != 0 && number > SIZE_MAX / size) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_realloc(block, number * size);
}

EXPORT void free(void *block) {
    count("free", 0);
    __libc_free(block);
}

EXPORT int posix_memalign(void **block, size_t alignment, size_t size) {
    count("posix_memalign", size);
    if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
    void *aligned = __libc_memalign(alignment, size);
    if (aligned == NULL) return ENOMEM;
    *block = aligned;
    return 0;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size) {
    count("aligned_alloc", size);
    return __libc_memalign(alignment, size);
}

EXPORT void *memalign(size_t alignment, size_t size) {
    count("memalign", size);
    return __libc_memalign(alignment, size);
}

EXPORT void *valloc(size_t size) {
    count("valloc", size);
    return __libc_valloc(size);
}

EXPORT void *pvalloc(size_t size) {
    count("pvalloc", size);
    return __libc_pvalloc(size);
}
