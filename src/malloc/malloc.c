/* The C library's allocation functions. */
#define _GNU_SOURCE
#include "cache.h"
#include "extents.h"
#include "heaps.h"
#include "keeping.h"
#include "left.h"
#include "misuse.h"
#include "neighbours.h"
#include "returned.h"
#include "usual.h"

#include <flatline/status.h>
#include <flatline/version.h>

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* Shows a program, or an observer of one, that this malloc is there, and which version. */
FLAT_API extern const char flat_malloc_version[];
FLAT_API const char flat_malloc_version[] = FLAT_VERSION_STRING;

/* From an archive a program gets only what it refers to: this makes it get this function, too. */
__attribute__((used)) static void (*const comes_along)(void) = flat_redirect_c_library;

/* C23 functions, which this system's headers do not declare yet. */
void free_sized(void *block, size_t size);
void free_aligned_sized(void *block, size_t alignment, size_t size);

/* Allocates for a request that is not huge, from a heap that the calling thread owns or shares. */
static void *allocate_from_heap(size_t size, size_t alignment, bool *zeroed) {
    thread_heap *heap = flat_heap_enter();
    if (heap == NULL) return NULL;
    bool small = size <= SMALL_MAX && alignment <= GRANULE;
    void *block = small ? flat_allocate_slowly(heap, size_class_for(size))
                        : flat_allocate_large(heap, (large_request){size, alignment}, zeroed);
    flat_keep_to_policy(heap);
    flat_heap_unlock(heap);
    return block;
}

static void *try_any(size_t size, size_t alignment, bool *zeroed) {
    if (!flat_is_huge_request(size, alignment)) return allocate_from_heap(size, alignment, zeroed);
    return flat_heaps_are_open() ? flat_huge_allocate(size, alignment, zeroed) : NULL;
}

/* Allocates for any request. `*zeroed`: all bytes are 0. If the system refuses, what is free elsewhere is returned to
 * it first. */
static void *allocate_any(size_t size, size_t alignment, bool *zeroed) {
    int error = errno;
    *zeroed = false;
    flat_settle_after_fork();
    void *block = try_any(size, alignment, zeroed);
    if (UNLIKELY(block == NULL) && size <= HUGE_MAX) {
        flat_reclaim();
        block = try_any(size, alignment, zeroed);
    }
    flat_keep_huge_to_policy();
    errno = block != NULL ? error : ENOMEM;
    return block;
}

NOINLINE void *flat_slow_malloc(size_t size) {
    bool zeroed;
    return allocate_any(size, GRANULE, &zeroed);
}

/* Whether a live block starts at the address, and at which granule. If none does, that is misuse. */
static bool is_block(const char *function, const void *block, size_t *granule, const void *caller) {
    *granule = offset_of(block) / GRANULE;
    bool starts = *granule < usable_granules() && offset_of(block) % GRANULE == 0 && is_block_live(*granule);
    if (!starts) flat_misuse(function, block, flat_judge(block), caller);
    return starts;
}

static uint32_t page_of(size_t granule) { return (uint32_t)(granule / (PAGE / GRANULE)); }

static size_t class_at(size_t granule) { return class_of_tag(tag_of(page_of(granule))); }

/* The size of a live block. */
static size_t bytes_at(size_t granule) {
    size_t class = class_at(granule);
    return class != 0 ? flat_size_classes[class].size : large_bytes(page_of(granule));
}

/* The heap that owns the live block at a granule; NULL: it is huge. */
static thread_heap *heap_at(size_t granule) {
    uint32_t number = heap_of_chunk(page_of(granule) / CHUNK_PAGES);
    return number != 0 ? heap_number(number) : NULL;
}

static bool free_huge(size_t granule) {
    if (!flat_huge_release(page_of(granule))) return false;
    flat_keep_huge_to_policy();
    return true;
}

/* Frees a small block, whoever owns it. The thread must have a heap. */
static bool free_small(size_t granule, void *block) {
    block_at_hand entry = {block, state_of(block)};
    thread_heap *heap = flat_heap_enter();
    bool live = load_state(entry.state) == live_state_of(block);
    if (live) {
        store_state(entry.state, NO_BLOCK);
        flat_put_at_hand(heap, class_at(granule), entry);
    }
    flat_keep_to_policy(heap);
    flat_heap_unlock(heap);
    return live;
}

static bool free_large(size_t granule) {
    thread_heap *heap = flat_heap_enter();
    flat_large_release(heap, page_of(granule));
    flat_keep_to_policy(heap);
    flat_heap_unlock(heap);
    return true;
}

/* If no thread owns the heap, the block is taken back at once, and not only when the heap is next in use. */
static bool free_of_another(thread_heap *heap, size_t granule) {
    if (!flat_return(granule)) return false;
    if (flat_try_heap_without_owner(heap)) {
        flat_take_back(heap, RETURNED_PAGES);
        flat_left_heap_leave(heap);
    }
    return true;
}

/* False: it has been freed meanwhile. */
static bool free_block(size_t granule, void *block) {
    thread_heap *heap = heap_at(granule);
    if (heap == NULL) return free_huge(granule);
    bool freed;
    if (class_at(granule) != 0 && flat_has_heap_to_free_to())
        freed = free_small(granule, block);
    else if (heap == flat_my_heap)
        freed = free_large(granule);
    else
        freed = free_of_another(heap, granule);
    flat_keep_huge_to_policy();
    return freed;
}

NOINLINE void flat_slow_free(void *block, const void *caller) {
    if (block == NULL) return;
    int error = errno;
    size_t granule;
    if (is_block("free", block, &granule, caller)) {
        if (!free_block(granule, block)) flat_misuse("free", block, FLAT_DOUBLE_FREE, caller);
    }
    errno = error;
}

FLAT_API USUAL void *malloc(size_t size) { return fast_malloc(size); }

FLAT_API USUAL void free(void *block) { fast_free(block); }

FLAT_API USUAL void free_sized(void *block, size_t size) {
    (void)size;
    fast_free(block);
}

FLAT_API USUAL void free_aligned_sized(void *block, size_t alignment, size_t size) {
    (void)alignment, (void)size;
    fast_free(block);
}

FLAT_API USUAL void *calloc(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    bool zeroed = false;
    void *block = bytes <= SMALL_MAX ? fast_malloc(bytes) : allocate_any(bytes, GRANULE, &zeroed);
    if (block != NULL && !zeroed) memset(block, 0, bytes);
    return block;
}

/* Copies to memory that reads as 0: pages that hold only zeros stay without memory. */
static void copy_pages(char *to, const char *from, size_t bytes) {
    const char *zeros = flat_space.heaps; /* a page of zeros: see space.c */
    for (size_t at = 0; at < bytes; at += PAGE) {
        size_t here = bytes - at < PAGE ? bytes - at : PAGE;
        if (memcmp(from + at, zeros, here) != 0) memcpy(to + at, from + at, here);
    }
}

/* For a huge block whose pages could not be moved. */
static void *move_huge(void *block, size_t from, size_t to) {
    bool zeroed;
    void *moved = allocate_any(to, GRANULE, &zeroed);
    if (moved == NULL) return NULL;
    size_t bytes = from < to ? from : to;
    if (zeroed)
        copy_pages(moved, block, bytes);
    else
        memcpy(moved, block, bytes);
    fast_free(block);
    return moved;
}

static void *move(void *block, size_t from, size_t to) {
    void *moved = fast_malloc(to);
    if (moved == NULL) return NULL;
    memcpy(moved, block, from < to ? from : to);
    fast_free(block);
    return moved;
}

/* If there is no memory for another block, one that is large enough stays: programs assume that shrinking never fails.
 */
static void *move_or_keep(void *block, size_t has, size_t size) {
    int error = errno;
    void *moved = move(block, has, size);
    if (moved != NULL || size > has) return moved;
    errno = error;
    return block;
}

/* Resizes a block above SMALL_MAX without copying, if possible. */
static void *resize_large(size_t granule, void *block, size_t size) {
    int error = errno;
    thread_heap *heap = heap_at(granule);
    void *resized = NULL;
    if (heap == NULL) {
        resized = flat_huge_resize(block, size);
    } else if (heap == flat_my_heap) {
        (void)flat_heap_enter();
        resized = flat_large_resize(heap, block, size);
        flat_keep_to_policy(heap);
        flat_heap_unlock(heap);
    }
    flat_keep_huge_to_policy();
    errno = error;
    return resized;
}

static NOINLINE void *resize(void *block, size_t size, const void *caller) {
    if (size == 0) { /* as glibc does; C23 leaves it undefined */
        fast_free(block);
        return NULL;
    }
    size_t granule;
    if (!is_block("realloc", block, &granule, caller)) {
        errno = EINVAL;
        return NULL;
    }
    size_t class = class_at(granule);
    if (class != 0) {
        if (size <= SMALL_MAX && size_class_for(size) == class) return block;
        return move_or_keep(block, flat_size_classes[class].size, size);
    }
    void *resized = resize_large(granule, block, size);
    if (resized != NULL) return resized;
    size_t bytes = bytes_at(granule);
    return bytes > LARGE_MAX && size > LARGE_MAX ? move_huge(block, bytes, size) : move_or_keep(block, bytes, size);
}

/* Resizing is a separate function, so that a new block costs what malloc does: some programs get all their blocks by
 * realloc. */
FLAT_API USUAL void *realloc(void *block, size_t size) {
    return block == NULL ? fast_malloc(size) : resize(block, size, CALLER);
}

FLAT_API void *reallocarray(void *block, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(block, bytes);
}

static bool is_power_of_two(size_t number) { return number != 0 && (number & (number - 1)) == 0; }

/* A small block starts at a multiple of the largest power of two in its size, because spans start at a page. */
static void *allocate_aligned(size_t alignment, size_t size) {
    if (alignment <= GRANULE) return fast_malloc(size);
    if (!flat_heaps_are_open()) { /* before this, the size classes are not known */
        errno = ENOMEM;
        return NULL;
    }
    size_t multiple = (size + alignment - 1) & ~(alignment - 1);
    if (multiple == 0) multiple = alignment;
    if (size <= SMALL_MAX && alignment < PAGE) {
        for (; multiple <= SMALL_MAX; multiple += alignment) {
            size_t served = flat_size_classes[size_class_for(multiple)].size;
            if (served % alignment == 0) return fast_malloc(served);
        }
    }
    bool zeroed;
    return allocate_any(size, alignment < PAGE ? PAGE : alignment, &zeroed);
}

FLAT_API void *aligned_alloc(size_t alignment, size_t size) {
    if (is_power_of_two(alignment)) return allocate_aligned(alignment, size);
    errno = EINVAL;
    return NULL;
}

/* As glibc does it: an alignment that is no power of two is rounded up to one, and refused if there is none above. */
FLAT_API void *memalign(size_t alignment, size_t size) {
    size_t power = GRANULE;
    while (power < alignment && power != 0) power *= 2;
    return aligned_alloc(power, size);
}

FLAT_API int posix_memalign(void **block, size_t alignment, size_t size) {
    if (!is_power_of_two(alignment) || alignment % sizeof(void *) != 0) return EINVAL;
    int error = errno;
    void *aligned = allocate_aligned(alignment, size);
    errno = error;
    if (aligned == NULL) return ENOMEM;
    *block = aligned;
    return 0;
}

FLAT_API void *valloc(size_t size) { return allocate_aligned(PAGE, size); }

FLAT_API void *pvalloc(size_t size) {
    if (size > SIZE_MAX - PAGE) {
        errno = ENOMEM;
        return NULL;
    }
    return allocate_aligned(PAGE, (size + PAGE - 1) & ~(PAGE - 1));
}

FLAT_API size_t malloc_usable_size(void *block) {
    size_t granule;
    return block != NULL && is_block("malloc_usable_size", block, &granule, CALLER) ? bytes_at(granule) : 0;
}

/* Returns all free memory that is not in another thread's cache. `pad` would be left at the top of a heap that has one;
 * it does not matter here. Only this call takes as long as it takes; others wait for at most one step of it. */
FLAT_API int malloc_trim(size_t pad) {
    (void)pad;
    int error = errno;
    uint64_t before = __atomic_load_n(&flat_space.discarded, __ATOMIC_RELAXED);
    flat_trim_heaps();
    errno = error;
    return __atomic_load_n(&flat_space.discarded, __ATOMIC_RELAXED) != before;
}
