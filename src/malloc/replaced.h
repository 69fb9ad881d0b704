/* A program may define its own operator new or delete, and the standard builds others on it. operator new[] calls
 * operator new, one that may not throw calls the one that does, and delete[] and the sized forms call the plain one. If
 * a program has replaced only some, as most do, this library's others must call the program's. */
#ifndef FLATLINE_MALLOC_REPLACED_H
#define FLATLINE_MALLOC_REPLACED_H

#include "exceptions.h"

/* The operators on which others are built. */
typedef enum base_operator {
    NEW,
    NEW_MANY,
    NEW_ALIGNED,
    NEW_ALIGNED_MANY,
    DELETE,
    DELETE_MANY,
    DELETE_ALIGNED,
    DELETE_ALIGNED_MANY,
    BASE_OPERATORS
} base_operator;

/* This library's operator, and what took its place where it was linked into the program: the same, if nothing did. */
typedef struct operator_addresses {
    flat_any_function *here, *linked;
} operator_addresses;

#pragma GCC visibility push(hidden)
extern const operator_addresses flat_base_operators[BASE_OPERATORS];

/* False once it is known that all are this library's: then no call needs to ask. */
extern bool flat_may_be_replaced;
#pragma GCC visibility pop

/* The program's own `base`, or else its own `below`; NULL: this library's serve. The first call looks through all that
 * is loaded. */
flat_any_function *flat_replaced_operator(base_operator base, base_operator below);

#endif
