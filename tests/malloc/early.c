/* Allocates before the C library has an environment, and uses these blocks until it ends. */
#include <stdio.h>
#include <stdlib.h>

static void *volatile first, *volatile second;

static void before_all(int count, char **arguments, char **environment) {
    (void)count, (void)arguments, (void)environment;
    first = malloc(100);
    second = calloc(1, 3 << 20);
}

__attribute__((section(".preinit_array"), used)) static void (*const run_before_all)(int, char **,
                                                                                     char **) = before_all;

__attribute__((constructor(101))) static void begin(void) {
    free(first);
    first = realloc(second, 5 << 20);
}

int main(void) {
    if (getenv("EARLY_TWICE") != NULL) free(first);
    free(first);
    puts("came to its end");
    fflush(stdout);
    return 0;
}
