/* A program with its own malloc, like some servers. A preload library intercepts none of its calls. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define SHARED __attribute__((visibility("default")))

static _Alignas(16) char memory[1 << 20];
static size_t used;

SHARED void *malloc(size_t size) {
    size = (size + 31) / 16 * 16;
    if (size > sizeof memory - used) return NULL;
    void *block = memory + used + 16;
    memcpy(memory + used, &size, sizeof size);
    used += size;
    return block;
}

SHARED void free(void *block) { (void)block; }

SHARED void *calloc(size_t count, size_t size) { return malloc(count * size); }

SHARED void *realloc(void *block, size_t size) {
    void *larger = malloc(size);
    size_t old = 0;
    if (block == NULL || larger == NULL) return larger;
    memcpy(&old, (char *)block - 16, sizeof old);
    old -= 16;
    return memcpy(larger, block, old < size ? old : size);
}

int main(void) {
    void *volatile block = malloc(100);
    printf("%d\n", block != NULL);
    return 0;
}
