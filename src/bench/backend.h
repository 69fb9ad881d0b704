/* The interface of an allocator that is measured. A backend is one source file in src/bench/backends that defines these
 * functions. The driver (driver/) is compiled once for each backend, so that exactly one thing differs between two rows
 * of a table.
 *
 * Every backend is called through the same two functions, which are never inlined. A backend that is a library pays one
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
    BENCH_PREFAULTED, /* the backend's default, where it can: every page is resident once it is prepared */
    BENCH_LAZY,       /* as few pages as it can: the others become resident at the first access */
} bench_pages;

typedef struct bench_traits {
    const char *driver; /* the backend's file name without extension */
    bool is_control;    /* returns the same block to every caller, so that what is read is not what was written */
    bool is_malloc;     /* the process's malloc, which C++'s operator new calls */
    bool prefaults;     /* BENCH_PREFAULTED leaves no page to the first access */
    bool any_size;      /* serves sizes between those it was prepared for */
    bool remote_free;   /* a thread may free what another allocated */
    void (*use_threads)(size_t threads); /* called with the number of threads, before bench_prepare, if several threads
                                            will run; NULL: no difference */
    bool (*begin_thread)(void); /* called by each of several threads, after bench_prepare and before its other calls:
                                   false iff the backend has no place for it; NULL: not needed */
    void (*trim)(void);         /* returns free memory to the OS, by the backend's own call for it; NULL: it has none */
    size_t (*metadata_bytes)(void); /* the exact bytes in addition to the blocks; NULL where they cannot be known */
} bench_traits;

extern const bench_traits bench_backend;

/* Called before anything is timed, with the sizes in ascending order: a pool is created here, a general-purpose
 * allocator may warm up. It is called once. Without remote_free it is called once in each thread, which then uses what
 * it prepared. False: not enough memory. */
bool bench_prepare(const bench_class *classes, size_t count, bench_pages pages);

void *bench_alloc(size_t size);
/* `size` is the size that was passed to bench_alloc; most backends ignore it. */
void bench_free(void *block, size_t size);

/* A function of the code that serves the calls: the driver finds the library by it. */
typedef void bench_function(void);
bench_function *bench_code(void);
/* The version of that library, as it reports it at run time. */
const char *bench_version(void);

#ifdef __cplusplus
}
#endif
#endif
