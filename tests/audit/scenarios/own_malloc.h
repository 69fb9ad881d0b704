/* A small malloc for the scenarios that show what another allocator does: it exports malloc and its family on top of
 * two functions that the file around it defines, with that allocator's way to lock and to give memory back.
 *
 * Blocks have sizes of powers of two, are cut from one reserve, and wait in one list for each size once they are free.
 * No block is split or merged. */
#ifndef FLATLINE_TEST_OWN_MALLOC_H
#define FLATLINE_TEST_OWN_MALLOC_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define EXPORTED __attribute__((visibility("default")))

enum { ORDERS = 48, HUGE_ORDER = 20, PAGE = 4096 };

static const size_t reserve_size = (size_t)16 << 30;

/* A free block. */
typedef struct node {
    struct node *next;
} node;

/* In front of each block: where its memory begins, and the order of its size: it has 2^order bytes. */
typedef struct header {
    void *memory;
    size_t order;
} header;

static node *lists[ORDERS];

/* To be defined: memory of 2^order bytes or NULL, and its return. Any thread may call them. */
static void *take(size_t order);
static void give(void *memory, size_t order);

/* Memory of 2^order bytes from the list or else from the reserve, or NULL. The caller holds a lock. */
static void *take_from_lists(size_t order) {
    static char *unused, *end;
    node *first = lists[order];
    if (first != NULL) {
        lists[order] = first->next;
        return first;
    }
    if (unused == NULL) {
        void *reserve =
            mmap(NULL, reserve_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (reserve == MAP_FAILED) return NULL;
        unused = reserve;
        end = unused + reserve_size;
    }
    const size_t size = (size_t)1 << order;
    char *memory = size < PAGE ? unused : unused + (-(uintptr_t)unused & (PAGE - 1));
    if (memory > end || (size_t)(end - memory) < size) return NULL;
    unused = memory + size;
    return memory;
}

/* The caller holds a lock. */
static void give_to_lists(void *memory, size_t order) {
    node *first = memory;
    first->next = lists[order];
    lists[order] = first;
}

static inline void *no_memory(void) {
    errno = ENOMEM;
    return NULL;
}

/* `alignment` is a power of two of at least 16. */
static void *allocate(size_t alignment, size_t size) {
    size_t order = 5;
    if (size > reserve_size / 2 || alignment > reserve_size / 4) return no_memory();
    const size_t needed = size + (alignment > sizeof(header) ? alignment : 0) + sizeof(header);
    while ((size_t)1 << order < needed) order++;
    char *memory = take(order);
    if (memory == NULL) return no_memory();
    char *block = memory + sizeof(header);
    block += -(uintptr_t)block & (alignment - 1);
    ((header *)(void *)block)[-1] = (header){memory, order};
    return block;
}

static void release(void *block) {
    if (block == NULL) return;
    const header of = ((header *)block)[-1];
    give(of.memory, of.order);
}

static size_t room_of(void *block) {
    if (block == NULL) return 0;
    const header of = ((header *)block)[-1];
    return (size_t)((char *)of.memory + ((size_t)1 << of.order) - (char *)block);
}

/* None of these calls another, which a library in front of this one would take for a call of the program's. */
EXPORTED void *malloc(size_t size) { return allocate(16, size); }

EXPORTED void free(void *block) { release(block); }

EXPORTED size_t malloc_usable_size(void *block) { return room_of(block); }

EXPORTED void *calloc(size_t count, size_t size) {
    if (size != 0 && count > SIZE_MAX / size) return no_memory();
    void *block = allocate(16, count * size);
    return block == NULL ? NULL : memset(block, 0, count * size);
}

EXPORTED void *realloc(void *block, size_t size) {
    const size_t room = room_of(block);
    if (block != NULL && size <= room) return block;
    void *larger = allocate(16, size);
    if (larger == NULL || block == NULL) return larger;
    memcpy(larger, block, room);
    release(block);
    return larger;
}

static void *allocate_aligned(size_t alignment, size_t size) {
    if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
        errno = EINVAL;
        return NULL;
    }
    return allocate(alignment < 16 ? 16 : alignment, size);
}

EXPORTED void *memalign(size_t alignment, size_t size) { return allocate_aligned(alignment, size); }

EXPORTED void *aligned_alloc(size_t alignment, size_t size) { return allocate_aligned(alignment, size); }

EXPORTED int posix_memalign(void **place, size_t alignment, size_t size) {
    const int before = errno;
    void *block = allocate_aligned(alignment, size);
    const int error = errno;
    errno = before;
    if (block == NULL) return error;
    *place = block;
    return 0;
}

#endif
