/* A program may bring an operator new or delete of its own, and the standard builds others on it: operator new[] asks
 * operator new, one that may not throw asks the one that does, delete[] and those that are told a size ask the plain
 * one. Where a program has replaced only some, as most do, this library's others must ask the program's. */
#ifndef FLATLINE_MALLOC_REPLACED_H
#define FLATLINE_MALLOC_REPLACED_H

#include "exceptions.h"

/* Those on which others are built. */
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

/* This library's, and what took its place where it was linked into the program: the same, if nothing has. */
typedef struct operator_addresses {
    flat_any_function *here, *linked;
} operator_addresses;

#pragma GCC visibility push(hidden)
extern const operator_addresses flat_base_operators[BASE_OPERATORS];

/* False from when it is known that all are this library's: then nobody need ask. */
extern bool flat_may_be_replaced;
#pragma GCC visibility pop

/* The program's own `base`, or else its own `below`; NULL: this library's serve. Whoever asks first looks through all
 * that is loaded. */
flat_any_function *flat_replaced_operator(base_operator base, base_operator below);

#endif
