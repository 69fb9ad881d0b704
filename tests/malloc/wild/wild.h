/* What the programs in this folder have in common. Each is an ordinary program with a habit that some malloc could not
 * bear, judges itself, and says so by its exit status: wild_test.py has the table of them. Nothing here allocates,
 * since what is measured is the malloc. */
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
    NOT_HERE = 77, /* this machine lacks what it takes to judge: ctest counts the test as skipped */
    PAGE = 4096,
};

#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

/* One line to standard output. */
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);
/* The same, and the end of the process with that status. */
__attribute__((format(printf, 2, 3))) _Noreturn void finish(int status, const char *format, ...);

/* The argument at that place as a number, or the end of the process. */
size_t number(int count, char **arguments, int place);

/* Reads a file of /proc or /sys, at most `room` - 1 bytes, and ends it with a 0. False: it cannot be read. */
bool read_text(const char *path, char *text, size_t room);
/* The number behind `name` in a file of lines such as "VmSize:  1234 kB", in the file's unit; 0 where it is not there.
 */
size_t figure(const char *path, const char *name);

/* Bytes of this process in memory, exactly; addresses that it has mapped; how many mappings these are. */
size_t resident(void);
size_t mapped(void);
size_t mappings(void);

/* Makes the malloc give back what it can, by its own call for that: glibc's and Flatline's malloc_trim, jemalloc's
 * arena.4096.purge, mimalloc's mi_collect, tcmalloc's MallocExtension_ReleaseFreeMemory. */
void purge(void);

/* Bytes that a block of that size takes of any malloc at least: whole steps of 16. */
size_t in_steps(size_t size);

/* What wild_test.py judges by the page of the manual, or, of what is `purged`, by the other mallocs: all in bytes. */
typedef struct point {
    const char *name;
    size_t live;      /* in blocks of the program */
    size_t peak;      /* what a malloc that gives nothing back by itself has to hold at most */
    size_t unclaimed; /* freed by other threads than the owners, which have made no call since */
    size_t threads;   /* that have a heap now */
    bool purged;
} point;
/* Tells it, with what is resident now. */
void tell(const point *here);
/* The same of the number of mappings, once the malloc was purged. */
void tell_mappings(const char *name);

/* malloc and a write to each page, or the end of the process. */
void *filled(size_t size);

/* With a stack of 32 KiB and no guard. False: the system has no room for another thread. */
bool begin_thread(pthread_t *thread, void *(*work)(void *), void *argument);
/* The same, or the end of the process. */
pthread_t must_begin_thread(void *(*work)(void *), void *argument);

#endif
