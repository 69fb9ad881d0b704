#define _GNU_SOURCE
#include "next.h"

#include "../malloc/exceptions.h"

#include <dlfcn.h>
#include <string.h>

struct next_functions next;

static void look_up(void *function, const char *name) {
    void *address = dlsym(RTLD_NEXT, name);
    memcpy(function, &address, sizeof address);
}

#define LOOK_UP(member, name, result, parameters) look_up(&next.member, name);
#define LOOK_UP_MISSING(member, name, result, parameters)                                                              \
    if (next.member == NULL) look_up(&next.member, name);                                                              \
    if (next.member == NULL) next.member = (result(*) parameters)flat_runtime_function(name, caller);

/* Volatile, since the compiler assumes that dlsym never calls back into this file, but dlsym does when it formats an
 * error message. */
bool next_look_up(void) {
    static volatile bool looking;
    if (looking) return false;
    looking = true;
    NEXT_OF_NEW(LOOK_UP)
    NEXT_OF_DELETE(LOOK_UP)
    NEXT_OF_MALLOC(LOOK_UP)
    looking = false;
    return next.malloc != NULL;
}

void next_look_up_operators(const void *caller) {
    NEXT_OF_NEW(LOOK_UP_MISSING)
    NEXT_OF_DELETE(LOOK_UP_MISSING)
}

static _Alignas(16) char first_memory[16384];
static size_t first_used;

void *first_memory_take(size_t size) {
    void *block = first_memory + first_used;
    if (size > sizeof first_memory - first_used) return NULL;
    first_used += (size + 15) / 16 * 16;
    return block;
}

bool first_memory_owns(const void *block) {
    return (const char *)block >= first_memory && (const char *)block < first_memory + sizeof first_memory;
}

bool first_memory_resizes(const void *block, size_t size, void **moved) {
    const bool is_ready = next_is_ready(), is_first = first_memory_owns(block);
    if (is_ready && !is_first) return false;
    *moved = is_ready ? next.malloc(size) : block == NULL || is_first ? first_memory_take(size) : NULL;
    const size_t rest = is_first ? (size_t)(first_memory + sizeof first_memory - (const char *)block) : 0;
    if (*moved != NULL && is_first) memmove(*moved, block, size < rest ? size : rest);
    return true;
}
