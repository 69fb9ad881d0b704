/* Members of the zoo that only a compiler can generate. */
#include <stdlib.h>
#include <string.h>

/* The compiler replaces this call of the C library by loads and stores. */
void inlined_memcpy(char *to, const char *from) { memcpy(to, from, 32); }

/* The compiler splits the rare path off into a .cold part, which belongs to the function. */
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

/* Calls a function that the compiler knows never to return. */
void stops_if_null(const int *at) {
    if (at == NULL) abort();
}

#ifdef __aarch64__
/* With -moutline-atomics this calls a function of libgcc, which loops on older processors. */
int outlined_atomic(int *at) { return __atomic_fetch_add(at, 1, __ATOMIC_ACQ_REL); }
#endif
