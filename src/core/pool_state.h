/* The pool's metadata, shared by the files that make it, use it and inspect it.
 *
 *   metadata:  [ ... class 2 | class 1 | flat_pool, class 0 in it | class_of_span | search tree | refused | words ... ]
 *   blocks:    [ class 0: block 0, block 1, ... | padding | class 1: block 0, ... | padding | ... ]
 *
 * The classes are in descending order, and the pool begins with class 0, which is therefore found without arithmetic.
 * The blocks of each class begin at a multiple of the span, so that the number of an address's span determines its
 * class. */
#ifndef FLATLINE_CORE_POOL_STATE_H
#define FLATLINE_CORE_POOL_STATE_H

#include "compiler.h"
#include "memory.h"

#include <flatline/pool.h>
#include <limits.h>

/* LIKELY, UNLIKELY and UNPREDICTABLE are chosen so that the fast paths of alloc and free take at most one jump, and
 * every jump of their machine code goes forward: code whose addresses only ascend needs no further argument that it
 * ends. tests/build/straight_line.py checks it. For the same reason src/core/CMakeLists.txt asks gcc to leave basic
 * blocks in the order in which they are written. HIDE_VALUE prevents the compiler from holding a value in a register on
 * the fast path for a second use: an address that the instruction itself can compute, a member that only a refusal
 * needs again. */

/* Requests up to this many bytes find their class in a table with one entry per granule; larger ones by a search in six
 * steps. A larger table would serve sizes whose blocks take longer to fill than the search takes. */
#define SMALL_SIZE 4096
#define SMALL_GRANULES (SMALL_SIZE / FLAT_POOL_GRANULE)

/* The span is the smallest power of two with which the map of spans has at most 8 entries per class and one per 32
 * blocks, but no more than 2048. A longer map would take more of the cache; a shorter one would cost more padding,
 * since each class is rounded up to whole spans. */
#define SPANS_PER_CLASS 8
#define BLOCKS_PER_SPAN 32
#define MOST_SPANS 2048

/* Alignments a class can have: 16, 32, ... 4096. */
#define ALIGNMENTS 9

/* The word of a block. One word is the free list, the double-free check and the never-allocated check:
 *   WORD_LIVE     the block is live
 *   WORD_CLAIMED  it is free, and not in the list yet: see below
 *   otherwise     it is free, and the word is the index of the next block in the list; WORD_LAST: there is none
 *
 * Used blocks are allocated again before fresh ones. Fresh blocks are in no list: they are allocated in order, from
 * block `fresh` to the last. Init writes WORD_LAST into their words, so that they count as free.
 *
 * In a shard (percore.h) another thread can free a block. It sets the word from WORD_LIVE to WORD_CLAIMED by one
 * compare-and-swap; then only the owner, which collects the block, changes the word. The owner's allocs and frees read
 * and write the words of free blocks and of the block that is freed, so that they meet a claim only if a block is freed
 * twice at once. */
#define WORD_LIVE UINT32_MAX
#define WORD_LAST (UINT32_MAX - 1)
#define WORD_CLAIMED (UINT32_MAX - 2)

/* One size class: all that alloc and free need, in one cache line.
 *   live + free == count      free == used blocks on the list + (count - fresh)      fresh == high-water mark */
typedef struct pool_class {
    _Alignas(CACHE_LINE) char *head; /* start + head_index * size, if there is one. Stored next to the index so that a
                                        free and the alloc after it pass on an address, without arithmetic */
    uint32_t head_index;             /* the used block to allocate next; WORD_LAST iff none is free */
    uint32_t fresh;                  /* blocks ever allocated: 0 .. fresh - 1; also the most that were ever live at
                                        once, since a fresh block is taken only when all of those are live */
    uint32_t *words;
    char *start;         /* block i is at start + i * size */
    size_t inverse;      /* of the odd factor of `size`, modulo 2^(bits of size_t) */
    size_t size;         /* bytes */
    size_t count;        /* blocks, at least 1 */
    uint32_t twos;       /* size == odd factor << twos */
    uint32_t refused_at; /* distance from here to the count of refused requests */
} pool_class;

/* Classes are identified by their distance from the first one in bytes, which the two tables below store: the address
 * of a class is one subtraction away. */
struct flat_pool {
    pool_class first;
    uintptr_t start;     /* of the blocks */
    uint32_t span_shift; /* a span is 1 << span_shift bytes */
    uint32_t span_mask;  /* entries of class_of_span - 1; a power of two minus 1, and 0 iff there is one class */
    size_t largest;      /* bytes: the last class's size */
    size_t length;       /* bytes from `start` to the end of the last block */
    uint32_t class_count;
    const uint32_t *search_tree;
    void *backing;                        /* what `flat_pool_create` mapped; NULL if the memory is the caller's */
    struct shard_state *shard;            /* the further state of a shard of <flatline/percore.h>; NULL: not a shard */
    uint64_t aligned_classes[ALIGNMENTS]; /* bit c: class c is aligned to 16 << index */
    int16_t class_of_size[SMALL_GRANULES + 1]; /* by size in granules, rounded up */
    int16_t class_of_span[];                   /* by number of the span, modulo the number of entries */
};

/* The index in `aligned_classes` of `alignment`, a power of two up to FLAT_POOL_MAX_ALIGNMENT; every block has the
 * least. */
static inline unsigned alignment_index(size_t alignment) {
    unsigned twos = (unsigned)__builtin_ctz((unsigned)alignment | FLAT_POOL_MAX_ALIGNMENT);
    return twos < 4 ? 0 : twos - 4;
}

static inline pool_class *class_at(const flat_pool *pool, ptrdiff_t distance) {
    return (pool_class *)(void *)((char *)pool + distance);
}

static inline pool_class *class_number(const flat_pool *pool, size_t number) {
    return class_at(pool, -(ptrdiff_t)(number * sizeof(pool_class)));
}

static inline uint64_t *refused_by(const pool_class *class) {
    return (uint64_t *)((uintptr_t)class + class->refused_at);
}

/* One step down the search tree below: to the left child of `node`, or to the right one if the node is below `key`. */
static inline size_t descend(const uint32_t *tree, size_t node, uint32_t key) {
#if defined(__x86_64__)
    /* The comparison sets the carry, and the addition adds it: two instructions, for which compilers emit four. */
    __asm__("cmp %[key], %[entry]\n\tadc %[node], %[node]"
            : [node] "+r"(node)
            : [entry] "m"(tree[node]), [key] "r"(key)
            : "cc");
    return node;
#else
    return node + node + (tree[node] < key);
#endif
}

/* The first class that holds `size`, which is above SMALL_SIZE; the last one if none does. The search takes six steps
 * down a search tree in breadth-first order (node k has the children 2k and 2k + 1), each a comparison and an addition,
 * no branch. The 64 positions below the last level are the classes in ascending order; the nodes between them are the
 * sizes of all classes but the last. If there are fewer classes, the part of the tree that they need is at the left,
 * and the nodes above it hold UINT32_MAX. Only 32 bits of `size` count: the caller compares it with the class's size.
 */
static inline pool_class *search_class(const flat_pool *pool, size_t size) {
    const uint32_t *tree = pool->search_tree;
    uint32_t key = (uint32_t)size;
    size_t node = 1;
    node = descend(tree, node, key);
    node = descend(tree, node, key);
    node = descend(tree, node, key);
    node = descend(tree, node, key);
    node = descend(tree, node, key);
    node = descend(tree, node, key);
    return class_number(pool, node - FLAT_POOL_MAX_CLASSES);
}

/* The same for a size up to SMALL_SIZE. */
static inline pool_class *small_class(const flat_pool *pool, size_t size) {
    return class_at(pool, pool->class_of_size[(size + FLAT_POOL_GRANULE - 1) / FLAT_POOL_GRANULE]);
}

/* The same for any size. */
static inline pool_class *class_of_size(const flat_pool *pool, size_t size) {
    return UNPREDICTABLE(size > SMALL_SIZE) ? search_class(pool, size) : small_class(pool, size);
}

/* The only class that `address` can be in, in a pool with more than one class: its span's. Addresses outside the blocks
 * are folded into the table like any other, and are outside the class that they get. */
static inline pool_class *class_of_span(const flat_pool *pool, const void *address) {
    size_t span = ((uintptr_t)address - pool->start) >> pool->span_shift & pool->span_mask;
    return class_at(pool, pool->class_of_span[span]);
}

/* The only class that `address` can be in. */
static inline pool_class *class_of_address(const flat_pool *pool, const void *address) {
    return pool->class_count == 1 ? class_number(pool, 0) : class_of_span(pool, address);
}

/* The index of the block that starts at `address`; at or above `count` iff no block of the class starts there.
 *
 * Exact division by multiplication (Granlund and Montgomery 1994; Warren, Hacker's Delight, 10-17): with
 * size == odd << twos, `offset * inverse(odd)` rotated right by `twos` is offset / size where size divides offset, and
 * above SIZE_MAX / size otherwise. Since count <= SIZE_MAX / size, one comparison answers both "is it a start" and "is
 * it one of ours", for every legal size and offset, without a multiplication wider than size_t. */
static inline size_t block_index_at(uintptr_t offset, size_t inverse, uint32_t twos) {
    size_t product = offset * inverse;
    unsigned bits = sizeof(size_t) * CHAR_BIT;
    return product >> twos | product << (bits - twos); /* 4 <= twos <= 30 */
}

static inline size_t block_index(const pool_class *class, const void *address) {
    return block_index_at((uintptr_t)address - (uintptr_t)class->start, class->inverse, class->twos);
}

/* Calls `visit` for each whole stretch of the blocks' memory between live blocks, ascending: free blocks and the
 * padding after classes. O(high-water marks). */
void flat_pool_visit_free(const flat_pool *pool, void (*visit)(void *context, uintptr_t start, size_t bytes),
                          void *context);

_Static_assert(FLAT_POOL_MAX_BLOCK_COUNT < WORD_CLAIMED, "an index must not look like a mark");
_Static_assert(sizeof(pool_class) == CACHE_LINE, "a class is one cache line");
_Static_assert(FLAT_POOL_MAX_CLASSES * sizeof(pool_class) <= INT16_MAX, "the distance of a class is 16 bits");
_Static_assert(offsetof(flat_pool, first) == 0, "class 0 lies where the distances start");

#endif
