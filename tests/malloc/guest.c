/* A library that a program opens. Each of its functions calls the malloc that the library finds. */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

char *guest_copy(const char *text);
void *guest_take(size_t size);
void *guest_take_aligned(size_t alignment, size_t size);
void *guest_resize(void *block, size_t size);
size_t guest_size_of(void *block);
void guest_give(void *block);

char *guest_copy(const char *text) { return strdup(text); }
void *guest_take(size_t size) { return calloc(1, size); }
void *guest_take_aligned(size_t alignment, size_t size) {
    void *block = NULL;
    return posix_memalign(&block, alignment, size) == 0 ? block : NULL;
}
void *guest_resize(void *block, size_t size) { return realloc(block, size); }
size_t guest_size_of(void *block) { return malloc_usable_size(block); }
void guest_give(void *block) { free(block); }
