/* counted_calls N: makes exactly N calls of malloc, of calloc, of realloc and of posix_memalign, frees every block,
 * frees nothing N times, and prints N. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    const long count = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    for (long i = 0; i < count; i++) {
        void *volatile block = malloc(24);
        void *volatile zeroed = calloc(3, 8);
        void *aligned = NULL;
        if (block == NULL || zeroed == NULL || posix_memalign(&aligned, 64, 100) != 0) return 3;
        void *larger = realloc(block, 4000);
        if (larger == NULL) return 3;
        free(larger);
        free(zeroed);
        free(aligned);
        free(NULL);
    }
    char text[32];
    (void)setvbuf(stdout, text, _IOFBF, sizeof text);
    printf("%ld\n", count);
    return 0;
}
