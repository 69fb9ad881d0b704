// Sources: the C objects from which C++ gets memory, in one form for every resource and allocator.
//
// `flat::allocator` and the resources call `source_traits<Source>`. Each function is the C call and nothing else. To
// make a source of your own, specialise `source_traits` with the same members.
#ifndef FLATLINE_SOURCE_HPP
#define FLATLINE_SOURCE_HPP

#include <flatline/arena.h>
#include <flatline/heap.h>
#include <flatline/pool.h>
#include <flatline/status.h>

#include <cstddef>

namespace flat {

/// granule           alignments up to this go to `allocate`
/// allocate          `bytes` bytes (0 counts as 1) at a multiple of `alignment`, a power of two up to `granule`; null
///                   iff the source has none
/// allocate_aligned  the same at a multiple of any power of two
/// deallocate        frees a block; a refusal changes nothing; null has no effect
/// owns              whether an address is in the source's memory for blocks
/// calls             whether `allocate` and `deallocate` call functions that are not inline
template <class Source> struct source_traits;

template <> struct source_traits<flat_pool> {
    static constexpr std::size_t granule = FLAT_POOL_GRANULE;
    static constexpr bool calls = true;
    static void *allocate(flat_pool &pool, std::size_t bytes, std::size_t) { return flat_pool_alloc(&pool, bytes); }
    static void *allocate_aligned(flat_pool &pool, std::size_t bytes, std::size_t alignment) {
        return flat_pool_aligned_alloc(&pool, alignment, bytes);
    }
    static flat_status deallocate(flat_pool &pool, void *block) { return flat_pool_free(&pool, block); }
    static bool owns(const flat_pool &pool, const void *address) { return flat_pool_owns(&pool, address); }
};

template <> struct source_traits<flat_heap> {
    static constexpr std::size_t granule = FLAT_HEAP_GRANULE;
    static constexpr bool calls = true;
    static void *allocate(flat_heap &heap, std::size_t bytes, std::size_t) { return flat_heap_alloc(&heap, bytes); }
    static void *allocate_aligned(flat_heap &heap, std::size_t bytes, std::size_t alignment) {
        return flat_heap_aligned_alloc(&heap, alignment, bytes);
    }
    static flat_status deallocate(flat_heap &heap, void *block) { return flat_heap_free(&heap, block); }
    static bool owns(const flat_heap &heap, const void *address) { return flat_heap_owns(&heap, address); }
};

/// An arena frees no single block: `deallocate` only checks that the block is one of the arena's.
template <> struct source_traits<flat_arena> {
    static constexpr std::size_t granule = FLAT_ARENA_GRANULE;
    static constexpr bool calls = false;
    static void *allocate(flat_arena &arena, std::size_t bytes, std::size_t alignment) {
        if (alignment > granule) __builtin_unreachable();
        return flat_arena_aligned_alloc(&arena, alignment, bytes);
    }
    static void *allocate_aligned(flat_arena &arena, std::size_t bytes, std::size_t alignment) {
        return flat_arena_aligned_alloc(&arena, alignment, bytes);
    }
    static flat_status deallocate(flat_arena &arena, void *block) {
        if (__builtin_expect(flat_arena_owns(&arena, block), 1)) return FLAT_OK;
        return block == nullptr ? FLAT_OK : FLAT_FOREIGN_POINTER;
    }
    static bool owns(const flat_arena &arena, const void *address) { return flat_arena_owns(&arena, address); }
};

} // namespace flat

#endif
