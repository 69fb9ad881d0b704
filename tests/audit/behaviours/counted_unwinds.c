/* counted_unwinds NAME: a program that counts how often the audit unwinds its stack, to be audited with --over 1ns:
 * every call is slow. The unwinder asks the loader for the tables of each frame, so that function is counted here. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 50 };

struct dl_find_object;
typedef int find_function(void *, struct dl_find_object *);
__attribute__((visibility("default"))) find_function _dl_find_object;

static volatile size_t asked;
static find_function *next;

int _dl_find_object(void *place, struct dl_find_object *result) {
    asked++;
    return next != NULL ? next(place, result) : -1;
}

__attribute__((constructor)) static void find_next(void) { *(void **)&next = dlsym(RTLD_NEXT, "_dl_find_object"); }

static void require(int holds) {
    if (!holds) _Exit(1);
}

/* What the unwinder asked for in that round. */
static size_t asked_in(void (*round)(void)) {
    const size_t before = asked;
    round();
    return asked - before;
}

static void round_of_two_calls(void) {
    void *volatile block = malloc(10);
    free(block);
}

static void repeated(void) {
    size_t after_the_first = 0, first = 0;
    for (int i = 0; i < ROUNDS; i++) {
        const size_t here = asked_in(round_of_two_calls);
        if (i == 0)
            first = here;
        else
            after_the_first += here;
    }
    require(first > 0 && after_the_first == 0);
}

static void *volatile kept;
__attribute__((noinline)) static void *wrapped(void) {
    void *volatile block = malloc(10);
    return block;
}
__attribute__((noinline)) static void *wrapped_again(void) {
    void *volatile block = wrapped();
    return block;
}
__attribute__((noinline)) static void by_one_caller(void) { kept = wrapped(); }
__attribute__((noinline)) static void by_another_caller(void) { kept = wrapped(); }
__attribute__((noinline)) static void from_one_further_out(void) { kept = wrapped_again(); }
__attribute__((noinline)) static void from_another_further_out(void) { kept = wrapped_again(); }

/* Calls that have the return address and the stack pointer in common: each caller twice. */
static void changed(void) {
    void (*const callers[])(void) = {from_one_further_out, from_one_further_out, from_another_further_out,
                                     from_another_further_out};
    for (int i = 0; i < ROUNDS; i++) require((asked_in(callers[i % 4]) > 0) == (i % 2 == 0));
}

/* They are unwound once, and told apart afterwards. */
static void wrapper(void) {
    void (*const callers[])(void) = {by_one_caller, by_another_caller};
    for (int i = 0; i < ROUNDS; i++) require((asked_in(callers[i % 2]) > 0) == (i < 2));
}

int main(int count, char **words) {
    if (count != 2) return 2;
    if (strcmp(words[1], "repeated") == 0) repeated();
    if (strcmp(words[1], "wrapper") == 0) wrapper();
    if (strcmp(words[1], "changed") == 0) changed();
    return 0;
}
