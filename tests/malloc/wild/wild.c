#define _GNU_SOURCE
#include "wild.h"

#include "../../os/resident_bytes.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Where huge pages are allowed to all, khugepaged replaces memory by one at any time, even if most of it was never
 * touched. */
__attribute__((constructor)) static void keep_to_small_pages(void) { (void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); }

bool allow_huge_pages(void) { return prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0) == 0; }

static void write_line(const char *format, va_list arguments) {
    char line[400];
    int length = vsnprintf(line, sizeof line - 1, format, arguments);
    size_t bytes = length < 0 ? 0 : (size_t)length < sizeof line - 1 ? (size_t)length : sizeof line - 2;
    line[bytes++] = '\n';
    if (write(STDOUT_FILENO, line, bytes) != (ssize_t)bytes) _exit(CANNOT_RUN);
}

void say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    write_line(format, arguments);
    va_end(arguments);
}

void finish(int status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    write_line(format, arguments);
    va_end(arguments);
    _exit(status);
}

size_t number(int count, char **arguments, int place) {
    char *end = NULL;
    if (place >= count) finish(CANNOT_RUN, "argument %d is missing: wild_test.py has them", place);
    size_t value = strtoul(arguments[place], &end, 10);
    if (end == arguments[place] || *end != 0) finish(CANNOT_RUN, "%s is no number", arguments[place]);
    return value;
}

bool read_text(const char *path, char *text, size_t room) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    size_t length = 0;
    ssize_t bytes;
    while (length < room - 1 && (bytes = read(file, text + length, room - 1 - length)) > 0) length += (size_t)bytes;
    text[length] = 0;
    (void)close(file);
    return length > 0;
}

size_t figure(const char *path, const char *name) {
    static _Thread_local char text[8192];
    if (!read_text(path, text, sizeof text)) return 0;
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':')
            return strtoul(line + strlen(name) + 1, NULL, 10);
    }
    return 0;
}

size_t resident(void) { return resident_bytes_by_mapping(); }

size_t mapped(void) { return figure("/proc/self/status", "VmSize") * 1024; }

size_t more_than(size_t was, size_t now) { return now > was ? now - was : 0; }

size_t mappings(void) {
    char part[PAGE];
    size_t lines = 0;
    ssize_t bytes;
    int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (file < 0) finish(CANNOT_RUN, "/proc/self/maps cannot be read: mount /proc");
    while ((bytes = read(file, part, sizeof part)) > 0) {
        for (ssize_t i = 0; i < bytes; i++) lines += part[i] == '\n';
    }
    (void)close(file);
    return lines;
}

void purge(void) {
    union {
        void *symbol;
        int (*mallctl)(const char *, void *, size_t *, void *, size_t);
        void (*collect)(bool);
        void (*release)(void);
    } call;
    if ((call.symbol = dlsym(RTLD_DEFAULT, "mallctl")) != NULL) {
        if (call.mallctl("arena.4096.purge", NULL, NULL, NULL, 0) != 0) finish(CANNOT_RUN, "jemalloc purges nothing");
    } else if ((call.symbol = dlsym(RTLD_DEFAULT, "mi_collect")) != NULL) {
        call.collect(true);
    } else if ((call.symbol = dlsym(RTLD_DEFAULT, "MallocExtension_ReleaseFreeMemory")) != NULL) {
        call.release();
    } else {
        (void)malloc_trim(0);
    }
}

size_t in_steps(size_t size) { return (size + 15) / 16 * 16; }

void tell(const point *here) {
    say("point %s resident=%zu live=%zu peak=%zu unclaimed=%zu threads=%zu purged=%d", here->name, resident(),
        here->live, here->peak, here->unclaimed, here->threads, here->purged);
}

void tell_mappings(const char *name) { say("mappings %s count=%zu", name, mappings()); }

void *filled(size_t size) {
    char *block = malloc(size);
    if (block == NULL) finish(WRONG, "malloc(%zu) is NULL", size);
    for (size_t at = 0; at < size; at += PAGE) ((volatile char *)block)[at] = 1;
    ((volatile char *)block)[size - 1] = 1;
    return block;
}

bool begin_thread(pthread_t *thread, void *(*work)(void *), void *argument) {
    pthread_attr_t small;
    if (pthread_attr_init(&small) != 0 || pthread_attr_setstacksize(&small, 32768) != 0 ||
        pthread_attr_setguardsize(&small, 0) != 0)
        finish(CANNOT_RUN, "the attributes of a thread cannot be set");
    int error = pthread_create(thread, &small, work, argument);
    (void)pthread_attr_destroy(&small);
    return error == 0;
}

pthread_t must_begin_thread(void *(*work)(void *), void *argument) {
    pthread_t thread;
    if (!begin_thread(&thread, work, argument)) finish(WRONG, "a thread could not be made");
    return thread;
}
