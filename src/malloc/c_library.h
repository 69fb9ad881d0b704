/* The C library's functions, where its symbol table in this process's memory says that they are. Callers that the
 * dynamic linker binds by another order than the usual one find them there, whatever comes before the C library. */
#ifndef FLATLINE_MALLOC_C_LIBRARY_H
#define FLATLINE_MALLOC_C_LIBRARY_H

#include "objects.h"

/* A function that takes the place of the C library's of that name. */
typedef struct c_library_function {
    const char *name;
    uintptr_t address;
} c_library_function;

/* Finds the C library. False: there is none, or another object that defines malloc comes before that which holds
 * `ours`. */
bool flat_c_library_find(object *libc, uintptr_t ours);

/* Whether `address` is where the C library says that its function of that name is. */
bool flat_c_library_has(const object *libc, const char *name, uintptr_t address);

/* Changes the table for these functions, in one piece or not at all; names that the C library lacks are skipped. False
 * iff the system refuses. Whoever wants the C library's own functions has looked them up before. */
bool flat_c_library_change(const object *libc, const c_library_function *functions, size_t count);

#endif
