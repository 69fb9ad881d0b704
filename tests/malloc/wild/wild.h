/* What the programs in this folder share. Each is an ordinary program with a habit that some malloc could not cope
 * with. It judges itself and reports by its exit status; wild_test.py lists all of them. Nothing here allocates, since
 * the malloc is what is measured. */
#ifndef FLATLINE_TESTS_WILD_H
#define FLATLINE_TESTS_WILD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RIGHT = 0,
    WRONG = 1,
    CANNOT_RUN = 2,
    NOT_HERE = 77, /* the machine lacks what the test needs: ctest counts it as skipped */
    PAGE = 4096,
};

#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

/* Prints one line to standard output. */
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);
/* The same; then ends the process with that status. */
__attribute__((format(printf, 2, 3))) _Noreturn void finish(int status, const char *format, ...);

/* The argument at that place as a number. Ends the process if there is none. */
size_t number(int count, char **arguments, int place);

/* Lets the system give this program huge pages if it would. Until then all its pages are small, so that only what it
 * has touched is resident. False: the system does not. */
bool allow_huge_pages(void);

/* Reads a file of /proc or /sys, at most `room` - 1 bytes, and terminates it with a 0. False: it cannot be read. */
bool read_text(const char *path, char *text, size_t room);
/* The number after `name` in a file of lines such as "VmSize: 1234 kB", in the file's unit, or 0 if it is missing. */
size_t figure(const char *path, const char *name);

/* This process's resident bytes (exact), its mapped bytes, and the number of its mappings. */
size_t resident(void);
size_t mapped(void);
size_t mappings(void);

/* How much more there is now than there was: 0 if there is less. */
size_t more_than(size_t was, size_t now);

/* Makes the malloc return what it can to the OS, by its own function: malloc_trim of glibc and Flatline,
 * arena.4096.purge of jemalloc, mi_collect of mimalloc, MallocExtension_ReleaseFreeMemory of tcmalloc. */
void purge(void);

/* The least that a block of that size takes in any malloc, in bytes: a multiple of 16. */
size_t in_steps(size_t size);

/* What wild_test.py compares with the bounds of the manual's page or, if it is `purged`, with the other mallocs. All
 * sizes are in bytes. */
typedef struct point {
    const char *name;
    size_t live;      /* in the program's blocks */
    size_t peak;      /* the most that a malloc has to hold if it returns nothing by itself */
    size_t unclaimed; /* freed by threads other than the owners, which have made no call since */
    size_t threads;   /* threads that have a heap now */
    bool purged;
} point;
/* Reports a point and what is resident now. */
void tell(const point *here);
/* Reports the number of mappings, after a purge. */
void tell_mappings(const char *name);

/* Allocates a block and writes to each of its pages. Ends the process if there is no memory. */
void *filled(size_t size);

/* Begins a thread with a stack of 32 KiB and no guard. False: the system has no room for another thread. */
bool begin_thread(pthread_t *thread, void *(*work)(void *), void *argument);
/* The same, but ends the process if there is no room. */
pthread_t must_begin_thread(void *(*work)(void *), void *argument);

#endif
