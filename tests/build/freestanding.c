/* A program without an operating system's library: its own start, two system calls, and allocators in static arrays. It
 * ends with 0 iff they kept their contracts. tests/build/freestanding.py builds and runs it. */
#include <flatline/arena.h>
#include <flatline/heap.h>
#include <flatline/pool.h>

#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tand $-16, %rsp\n\tcall begin\n");
static long system_call(long number, long a, const void *b, long c) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}
#define WRITE 1
#define EXIT 60
#elif defined(__i386__)
__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tand $-16, %esp\n\tcall begin\n");
static long system_call(long number, long a, const void *b, long c) {
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory");
    return result;
}
#define WRITE 4
#define EXIT 1
#elif defined(__aarch64__)
__asm__(".globl _start\n_start:\n\tmov x29, xzr\n\tbl begin\n");
static long system_call(long number, long a, const void *b, long c) {
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register const void *x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
}
#define WRITE 64
#define EXIT 93
#endif

/* What a compiler may call on its own, and on 32-bit processors its helpers for 64-bit numbers. */
void *memset(void *to, int value, size_t size);
void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
int memcmp(const void *a, const void *b, size_t size);

void *memset(void *to, int value, size_t size) {
    for (size_t i = 0; i < size; i++) ((volatile unsigned char *)to)[i] = (unsigned char)value;
    return to;
}
void *memmove(void *to, const void *from, size_t size) {
    volatile unsigned char *t = to;
    const volatile unsigned char *f = from;
    if ((uintptr_t)to < (uintptr_t)from) {
        for (size_t i = 0; i < size; i++) t[i] = f[i];
    } else {
        for (size_t i = size; i-- > 0;) t[i] = f[i];
    }
    return to;
}
void *memcpy(void *restrict to, const void *restrict from, size_t size) { return memmove(to, from, size); }
int memcmp(const void *a, const void *b, size_t size) {
    const volatile unsigned char *x = a, *y = b;
    for (size_t i = 0; i < size; i++) {
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    }
    return 0;
}

#if defined(__i386__)
uint64_t __udivmoddi4(uint64_t a, uint64_t b, uint64_t *rest);
uint64_t __udivdi3(uint64_t a, uint64_t b);
uint64_t __umoddi3(uint64_t a, uint64_t b);
int __ctzdi2(uint64_t a);

int __ctzdi2(uint64_t a) {
    int zeros = 0;
    while ((a >> zeros & 1) == 0) zeros++;
    return zeros;
}
uint64_t __udivmoddi4(uint64_t a, uint64_t b, uint64_t *rest) {
    uint64_t quotient = 0, remainder = 0;
    for (int bit = 63; bit >= 0; bit--) {
        remainder = remainder << 1 | (a >> bit & 1);
        if (remainder >= b) {
            remainder -= b;
            quotient |= (uint64_t)1 << bit;
        }
    }
    if (rest != NULL) *rest = remainder;
    return quotient;
}
uint64_t __udivdi3(uint64_t a, uint64_t b) { return __udivmoddi4(a, b, NULL); }
uint64_t __umoddi3(uint64_t a, uint64_t b) {
    uint64_t rest;
    (void)__udivmoddi4(a, b, &rest);
    return rest;
}
#endif

static _Alignas(64) unsigned char metadata[8192];
static _Alignas(4096) unsigned char blocks[65536];

#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) return __LINE__;                                                                             \
    } while (0)

/* 0, or the line on which the contract did not hold. */
static int with_an_arena(void) {
    flat_arena arena;
    flat_arena_stats stats;
    REQUIRE(flat_arena_init(&arena, (flat_memory){blocks + 1, sizeof blocks - 1}) == FLAT_OK);
    REQUIRE(flat_arena_aligned_alloc(&arena, 1, 1) == blocks + 16);
    REQUIRE(flat_arena_alloc(&arena, 100) == blocks + 32);
    const flat_arena_mark mark = flat_arena_get_mark(&arena);
    REQUIRE(flat_arena_aligned_alloc(&arena, 4096, 1) == blocks + 4096);
    REQUIRE(flat_arena_alloc(&arena, sizeof blocks - 4112) == blocks + 4112);
    REQUIRE(flat_arena_alloc(&arena, 0) == NULL);
    for (size_t alignment = 1; alignment != 0; alignment *= 2) {
        for (size_t less = 0; less < 64; less++) {
            REQUIRE(flat_arena_aligned_alloc(&arena, alignment, SIZE_MAX - less) == NULL);
            REQUIRE(flat_arena_aligned_alloc(&arena, alignment, SIZE_MAX / 2 - less) == NULL);
        }
    }
    REQUIRE(flat_arena_rewind(&arena, mark) == FLAT_OK);
    REQUIRE(flat_arena_resize(&arena, blocks + 32, 100, 200) && !flat_arena_resize(&arena, blocks + 32, 200, SIZE_MAX));
    flat_arena_get_stats(&arena, &stats);
    REQUIRE(stats.used == 216 && stats.high_water == sizeof blocks - 16 && stats.needed == SIZE_MAX);
    return 0;
}

/* 0, or the line on which the contract did not hold. */
static int with_a_pool(void) {
    const flat_class classes[] = {{20, 100}, {144, 51}, {4096, 3}, {6000, 2}};
    const flat_pool_options options = {.classes = classes, .class_count = 4};
    flat_footprint need;
    flat_pool *pool;
    unsigned char *taken[100];
    REQUIRE(flat_pool_footprint(&options, &need) == FLAT_OK);
    REQUIRE(need.metadata_bytes <= sizeof metadata && need.block_bytes <= sizeof blocks);
    REQUIRE(flat_pool_init(&pool, &options, (flat_memory){metadata, need.metadata_bytes - 1},
                           (flat_memory){blocks, sizeof blocks}) == FLAT_OUT_OF_MEMORY);
    REQUIRE(flat_pool_init(&pool, &options, (flat_memory){metadata, need.metadata_bytes},
                           (flat_memory){blocks, need.block_bytes}) == FLAT_OK);
    for (int c = 0; c < 4; c++) {
        const size_t size = classes[c].block_size, count = classes[c].block_count;
        for (size_t i = 0; i < count; i++) {
            taken[i] = flat_pool_alloc(pool, size);
            REQUIRE(taken[i] != NULL);
            memset(taken[i], (int)i, size);
        }
        REQUIRE(flat_pool_alloc(pool, size) == NULL);
        REQUIRE(flat_pool_check(pool) == FLAT_OK);
        for (size_t i = 0; i < count; i++) {
            REQUIRE(taken[i][0] == i && taken[i][size - 1] == i);
            REQUIRE(flat_pool_free(pool, taken[i] + 8) == FLAT_INTERIOR_POINTER);
            REQUIRE(flat_pool_free(pool, taken[i]) == FLAT_OK);
            REQUIRE(flat_pool_free(pool, taken[i]) == FLAT_DOUBLE_FREE);
        }
        REQUIRE(flat_pool_alloc(pool, size) == taken[count - 1]);
    }
    REQUIRE(flat_pool_free(pool, metadata) == FLAT_FOREIGN_POINTER);
    REQUIRE(flat_pool_free(pool, blocks + sizeof blocks) == FLAT_FOREIGN_POINTER);
    unsigned char *aligned = flat_pool_aligned_alloc(pool, 4096, 1);
    REQUIRE(aligned != NULL && (uintptr_t)aligned % 4096 == 0);
    flat_pool_reset(pool);
    REQUIRE(flat_pool_visit(pool, NULL, NULL) == 0);
    REQUIRE(flat_pool_check(pool) == FLAT_OK);
    /* More than PTRDIFF_MAX / 2 bytes, which only narrow targets can be asked for. */
    const flat_class enormous = {FLAT_POOL_MAX_BLOCK_SIZE, 2};
    const flat_pool_options too_much = {.classes = &enormous, .class_count = 1};
    REQUIRE(flat_pool_footprint(&too_much, &need) == (sizeof(size_t) == 4 ? FLAT_INVALID_ARGUMENT : FLAT_OK));
    return 0;
}

/* The same of a heap: fill, refuse, resize, free, and be one piece again. */
static int with_a_heap(void) {
    flat_footprint need;
    flat_heap *heap;
    unsigned char *taken[64];
    size_t count = 0, bound = 0;
    REQUIRE(flat_heap_footprint(sizeof blocks, &need) == FLAT_OK && need.metadata_bytes <= sizeof metadata);
    REQUIRE(flat_heap_init(&heap, (flat_memory){metadata, need.metadata_bytes}, (flat_memory){blocks, sizeof blocks}) ==
            FLAT_OK);
    for (size_t size = 1; count < 64 && size < 9000; size += size / 2 + 1) {
        unsigned char *block = flat_heap_alloc(heap, size);
        if (block == NULL) break;
        memset(block, (int)count, size);
        taken[count++] = block;
    }
    REQUIRE(count > 20 && flat_heap_check(heap) == FLAT_OK);
    REQUIRE(flat_heap_alloc(heap, SIZE_MAX) == NULL && flat_heap_alloc(heap, sizeof blocks) == NULL);
    for (size_t i = 0; i < count; i++) {
        void *block = taken[i];
        REQUIRE(taken[i][0] == i);
        REQUIRE(flat_heap_free(heap, taken[i] + 1) == FLAT_INTERIOR_POINTER);
        REQUIRE(flat_heap_free(heap, taken[i] + 16) == FLAT_INTERIOR_POINTER);
        REQUIRE(flat_heap_realloc(heap, &block, 700) == FLAT_OK && *(unsigned char *)block == i);
        REQUIRE(flat_heap_free(heap, block) == FLAT_OK && flat_heap_free(heap, block) == FLAT_DOUBLE_FREE);
    }
    REQUIRE(flat_heap_free(heap, metadata) == FLAT_FOREIGN_POINTER);
    REQUIRE(flat_heap_free(heap, blocks + sizeof blocks) == FLAT_FOREIGN_POINTER);
    REQUIRE(flat_heap_visit(heap, NULL, NULL) == 0 && flat_heap_check(heap) == FLAT_OK);
    REQUIRE(flat_heap_aligned_alloc(heap, 4096, 1) != NULL);
    flat_heap_reset(heap);
    REQUIRE(flat_heap_alloc(heap, sizeof blocks) == blocks);
    const flat_heap_demand demand = {.live = 100000, .smallest = 16, .largest = 4096};
    REQUIRE(flat_heap_bound(&demand, &bound) == FLAT_OK && bound > 10 * demand.live && bound < 14 * demand.live);
    const flat_heap_demand too_much = {.live = PTRDIFF_MAX, .smallest = 16, .largest = 4096};
    REQUIRE(flat_heap_bound(&too_much, &bound) == FLAT_OUT_OF_MEMORY);
    return 0;
}

void begin(void);

void begin(void) {
    int line = with_a_pool();
    if (line == 0) line = with_an_arena();
    if (line == 0) line = with_a_heap();
    char text[] = "line 0000 of freestanding.c did not hold\n";
    for (int rest = line, at = 8; at > 4; at--, rest /= 10) text[at] = (char)('0' + rest % 10);
    if (line != 0) (void)system_call(WRITE, 1, text, sizeof text - 1);
    for (;;) (void)system_call(EXIT, line != 0, NULL, 0);
}
