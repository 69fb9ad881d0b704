/* What an allocator must offer to be measured. A backend is one source file in src/bench/backends that defines these;
 * driver.c is compiled once more for each, so that exactly one thing differs between two rows of a table.
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

/* Called once, before anything is timed, with the sizes in ascending order: a pool makes itself here, a general
 * allocator may warm up. False: not enough memory. */
bool bench_prepare(const bench_class *classes, size_t count);

void *bench_alloc(size_t size);
/* `size` is what the block was allocated with; most backends ignore it. */
void bench_free(void *block, size_t size);

/* A function of the code that serves the calls, by which the driver finds the library it was loaded from. */
typedef void bench_function(void);
bench_function *bench_code(void);
/* The version of that library, as it reports it at run time. */
const char *bench_version(void);

extern const char bench_driver[];   /* the backend's file name without its ending */
extern const bool bench_is_control; /* hands one block to everybody, so that what is read is not what was written */

#ifdef __cplusplus
}
#endif
#endif
