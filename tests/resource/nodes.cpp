// Allocates and frees list nodes through each interface to a source. direct_calls.py inspects the machine code.
#include <flatline/allocator.hpp>
#include <flatline/percore.hpp>
#include <flatline/resource.hpp>

#include <list>
#include <memory_resource>

template <class Source> using list_over = std::list<long, flat::allocator<long, Source>>;
using inline_arena = flat::inline_arena<4096>;

extern "C" {
void pool_take(list_over<flat_pool> &list) { list.push_back(1); }
void pool_give(list_over<flat_pool> &list) { list.pop_front(); }
void heap_take(list_over<flat_heap> &list) { list.push_back(1); }
void heap_give(list_over<flat_heap> &list) { list.pop_front(); }
void arena_take(list_over<flat_arena> &list) { list.push_back(1); }
void arena_give(list_over<flat_arena> &list) { list.pop_front(); }
void inline_take(list_over<inline_arena> &list) { list.push_back(1); }
void inline_give(list_over<inline_arena> &list) { list.pop_front(); }
void shard_take(std::list<long, flat::percore_allocator<long>> &list) { list.push_back(1); }
void shard_give(std::list<long, flat::percore_allocator<long>> &list) { list.pop_front(); }
void local_take(std::list<long, flat::percore_local_allocator<long>> &list) { list.push_back(1); }
void local_give(std::list<long, flat::percore_local_allocator<long>> &list) { list.pop_front(); }
void pmr_take(std::pmr::list<long> &list) { list.push_back(1); }
void pmr_give(std::pmr::list<long> &list) { list.pop_front(); }
}

// These make the compiler emit the resources' own functions too.
flat::pool_resource over_pool(flat_pool &pool) { return flat::pool_resource(pool); }
flat::heap_resource over_heap(flat_heap &heap) { return flat::heap_resource(heap); }
flat::arena_resource over_arena(flat_arena &arena) { return flat::arena_resource(arena); }
flat::percore_resource over_shard(flat_pool &shard) { return flat::percore_resource(shard); }
