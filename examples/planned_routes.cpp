// A routing table that is recorded first and planned then: the same program, once on a heap that serves any size, and
// once on a pool that has exactly the blocks which the record asks for.
//
//     planned_routes [RECORD]      runs on a heap, and writes what was asked of it to the file RECORD
//     flatline plan RECORD --header plan.h
//     planned_routes               compiled with -DPLANNED and this header: runs in memory that the linker reserved
#include <flatline/resource.hpp>

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory_resource>
#include <string>
#include <vector>

#ifdef PLANNED
#include "plan.h"
alignas(PLAN_METADATA_ALIGNMENT) static unsigned char metadata[PLAN_METADATA_BYTES];
alignas(PLAN_BLOCK_ALIGNMENT) static unsigned char blocks[PLAN_BLOCK_BYTES];
#endif

/* Which part of its life the program is in. Only the tests read it: they require that the heap is not called while it
 * is STEADY. */
enum Phase { STARTING, STEADY, ENDING };
volatile Phase phase;

namespace {

struct Hop {
    std::uint32_t address, cost;
};

using Routes = std::pmr::map<std::pmr::string, std::pmr::vector<Hop>>;

// Routes come, grow and go. The sum of what was found along them.
std::uint64_t run(std::pmr::memory_resource &resource) {
    std::uint64_t found = 0;
    std::uint32_t random = 1;
    Routes routes(&resource);
    for (std::uint32_t step = 0; step < 20000; step++) {
        random = random * 1664525u + 1013904223u;
        const unsigned net = random >> 24;
        char text[32];
        (void)std::snprintf(text, sizeof text, "10.%u.0.0/16 by gateway %u", net, net % 7);
        const std::pmr::string name(text, &resource);
        if (random >> 20 & 1) {
            std::pmr::vector<Hop> &hops = routes[name];
            if (hops.size() < 12) hops.push_back({step, net});
        } else if (const auto route = routes.find(name); route != routes.end()) {
            for (const Hop &hop : route->second) found += hop.address ^ hop.cost;
            if (route->second.size() > 4) routes.erase(route);
        }
    }
    return found;
}

} // namespace

#ifndef PLANNED

int main(int argc, char **argv) {
    flat_heap *heap;
    if (flat_heap_create(&heap, 1024 * 1024, nullptr) != FLAT_OK) return 1;
    flat::heap_resource resource(*heap);
    flat::tracking_resource tracking(&resource);

    phase = STEADY;
    const std::uint64_t found = run(tracking);
    phase = ENDING;
    (void)std::printf("%llu found\n", static_cast<unsigned long long>(found));
    const bool written = argc < 2 || tracking.write(argv[1]);
    flat_heap_destroy(heap);
    return found != 0 && written ? 0 : 1;
}

#else

int main() {
    flat_pool_options options{};
    options.classes = plan_classes;
    options.class_count = PLAN_CLASS_COUNT;
    flat_footprint need;
    flat_pool *pool;
    if (flat_pool_footprint(&options, &need) != FLAT_OK) return 1;
    if (need.metadata_bytes != sizeof metadata || need.block_bytes != sizeof blocks) return 1; // not a byte more
    if (flat_pool_init(&pool, &options, {metadata, sizeof metadata}, {blocks, sizeof blocks}) != FLAT_OK) return 1;
    flat::pool_resource resource(*pool); // goes on nowhere: a request beyond the plan would throw

    phase = STEADY;
    const std::uint64_t found = run(resource);
    phase = ENDING;
    const bool all_back = flat_pool_visit(pool, nullptr, nullptr) == 0;
    (void)std::printf("%llu found in %zu bytes\n", static_cast<unsigned long long>(found),
                      sizeof metadata + sizeof blocks);
    return found != 0 && all_back ? 0 : 1;
}

#endif
