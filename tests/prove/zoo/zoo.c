/* Members of the zoo that only a compiler makes. */
#include <stdlib.h>
#include <string.h>

/* A call of the C library that the compiler replaces by loads and stores. */
void inlined_memcpy(char *to, const char *from) { memcpy(to, from, 32); }

/* What happens rarely is split off into inlined_memcpy.cold's like: it belongs to the function. */
__attribute__((noinline, cold)) static int rare(int *at) { return at[0] += at[1]; }
int split_off(int *at, int often) {
    if (__builtin_expect(often == 0, 0)) {
        int sum = rare(at);
        at[2] = sum;
        at[3] = sum + 1;
        return sum;
    }
    return often;
}

/* By way of a function that the compiler knows not to return. */
void stops_if_null(const int *at) {
    if (at == NULL) abort();
}

#ifdef __aarch64__
/* Compiled with -moutline-atomics: a call of libgcc's function, which loops where the machine is older. */
int outlined_atomic(int *at) { return __atomic_fetch_add(at, 1, __ATOMIC_ACQ_REL); }
#endif
