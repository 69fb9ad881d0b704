// Uses all installed headers in a project that treats every warning as an error: it instantiates each template
// completely and uses each macro.
#include <flatline/allocator.hpp>
#include <flatline/arena.h>
#include <flatline/bounded.h>
#include <flatline/heap.h>
#include <flatline/misuse.hpp>
#include <flatline/object_pool.hpp>
#include <flatline/percore.h>
#include <flatline/percore.hpp>
#include <flatline/pool.h>
#include <flatline/region.h>
#include <flatline/resource.hpp>
#include <flatline/tracking_resource.hpp>
#include <flatline/version.h>

#include <cstdio>
#include <map>
#include <memory_resource>
#include <string>
#include <vector>

template class flat::object_pool<int, 8>;
template class flat::object_pool<std::string, 8>;
template class flat::inline_arena<1024>;
template class flat::allocator<int, flat_pool>;
template class flat::allocator<std::string, flat_heap>;
template class flat::allocator<char, flat_arena>;
template class flat::allocator<char, flat::inline_arena<1024>>;
template class flat::basic_percore_allocator<int, flat::detail::shared_shard>;
template class flat::basic_percore_allocator<std::string, flat::detail::owned_shard>;

FLAT_BOUNDED("strict_sum");
extern "C" int strict_sum(const int *numbers);
extern "C" int strict_sum(const int *numbers) {
    int sum = 0;
    for (int i = 0; i < 8; i++) {
        FLAT_LOOP_AT_MOST(8);
        sum += numbers[i];
    }
    return sum;
}

static bool figures_are_possible(size_t blocks, size_t bytes, uint64_t heap, size_t offset) {
    return blocks <= FLAT_POOL_MAX_BLOCK_COUNT && blocks <= FLAT_PERCORE_MAX_BLOCK_COUNT &&
           bytes <= FLAT_POOL_MAX_BLOCK_SIZE && bytes <= FLAT_ARENA_MAX_BYTES && heap <= FLAT_HEAP_MAX_BYTES &&
           offset != FLAT_NO_OFFSET;
}

int main() {
    flat::inline_arena<1024> arena;
    std::pmr::vector<int> numbers(8, 1, &arena);
    const flat_class classes[] = {{64, 100}};
    flat_pool_options options{};
    options.classes = classes;
    options.class_count = 1;
    flat_pool *pool = nullptr;
    if (flat_pool_create(&pool, &options, nullptr) != FLAT_OK) return 1;
    {
        flat::pool_resource resource(*pool);
        std::pmr::map<int, int> by_resource(&resource);
        std::map<int, int, std::less<>, flat::allocator<std::pair<const int, int>, flat_pool>> by_allocator(pool);
        by_resource[1] = by_allocator[1] = strict_sum(numbers.data());
    }
    void *const block = flat_pool_alloc(pool, 64);
    const size_t offset = flat_region_offset(flat_pool_region(pool), block);
    const bool possible = figures_are_possible(1, 64, 4096, offset) &&
                          flat_region_address(flat_pool_region(pool), offset) == block &&
                          flat_pool_free(pool, block) == FLAT_OK;
    flat_pool_destroy(pool);
    return possible ? std::puts(flat_version()) < 0 : 1;
}
