/* A function whose worst case `flatline prove` reads from the compiled program. */
#include <flatline/bounded.h>

/* Whether `key` is among `size` numbers in ascending order. Each round halves what is left of at most 2^32 - 1. */
__attribute__((noinline)) static int search(const int *sorted, unsigned size, int key) {
    while (size > 1) {
        FLAT_LOOP_AT_MOST(32);
        if (sorted[size / 2] <= key) sorted += size / 2;
        size -= size / 2;
    }
    return *sorted == key;
}
FLAT_BOUNDED("search");

int main(void) {
    const int primes[] = {2, 3, 5, 7, 11, 13, 17, 19};
    return search(primes, 8, 13) && !search(primes, 8, 15) ? 0 : 1;
}
