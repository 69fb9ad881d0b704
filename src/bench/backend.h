/* What an allocator must offer to be measured. A backend is one source file in src/bench/backends that defines these;
 * the driver (driver/) is compiled once more for each, so that exactly one thing differs between two rows of a table.
 *
 * Every backend is called through the same two functions, which are never inlined: a backend that is a library pays one
 * jump, and so does a backend that is three lines of code. */
#ifndef FLATLINE_BENCH_BACKEND_H
#define FLATLINE_BENCH_BACKEND_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bench_class {
    size_t size;  /* bytes */
    size_t count; /* the most blocks of that size that will be live at once */
} bench_class;

typedef enum bench_pages {
    BENCH_PREFAULTED, /* as the backend does by itself, where it can: every page is there when it is prepared */
    BENCH_LAZY,       /* as few as it can: pages come with the first access */
} bench_pages;

typedef struct bench_traits {
    const char *driver; /* the backend's file name without its ending */
    bool is_control;    /* hands one block to everybody, so that what is read is not what was written */
    bool is_malloc;     /* the process's malloc, in which C++'s operator new ends */
    bool prefaults;     /* BENCH_PREFAULTED leaves no page to the first access */
    bool any_size;      /* serves sizes between those it was prepared for */
    bool remote_free;   /* a thread may free what another allocated */
    void (*use_threads)(size_t threads); /* called before bench_prepare where several threads will be at work: how many;
                                            NULL: it makes no difference */
    bool (*begin_thread)(void); /* called by each of several threads, after bench_prepare and before its other calls:
                                   false iff it cannot be; NULL: nothing is to be done */
    void (*trim)(void); /* gives back to the system what is free, by the call that the backend has for that; NULL: it
                           has none */
    size_t (*metadata_bytes)(void); /* the exact bytes beside the blocks; NULL where they cannot be known */
} bench_traits;

extern const bench_traits bench_backend;

/* Called before anything is timed, with the sizes in ascending order: a pool makes itself here, a general allocator may
 * warm up. Once; but where there is no remote_free once in each thread, which then uses what it prepared. False: not
 * enough memory. */
bool bench_prepare(const bench_class *classes, size_t count, bench_pages pages);

void *bench_alloc(size_t size);
/* `size` is what the block was allocated with; most backends ignore it. */
void bench_free(void *block, size_t size);

/* A function of the code that serves the calls, by which the driver finds the library it was loaded from. */
typedef void bench_function(void);
bench_function *bench_code(void);
/* The version of that library, as it reports it at run time. */
const char *bench_version(void);

#ifdef __cplusplus
}
#endif
#endif
