/* A program whose variables have plain names that a library might define. With BY_POOL defined it uses libflatline,
 * otherwise malloc. Both versions link all of the library. */
#ifdef BY_POOL
#include <flatline/pool.h>
#else
#include <stdlib.h>
#endif

#define PLAIN(name)                                                                                                    \
    int name;                                                                                                          \
    int *address_of_##name(void) { return &name; }

PLAIN(allocator)
PLAIN(arena)
PLAIN(arenas)
PLAIN(backing)
PLAIN(bin)
PLAIN(block)
PLAIN(blocks)
PLAIN(cache)
PLAIN(caches)
PLAIN(chunk)
PLAIN(chunks)
PLAIN(classes)
PLAIN(cleanup)
PLAIN(config)
PLAIN(count)
PLAIN(current)
PLAIN(defaults)
PLAIN(dirty)
PLAIN(error)
PLAIN(flags)
PLAIN(free_list)
PLAIN(global)
PLAIN(heap)
PLAIN(heaps)
PLAIN(initialized)
PLAIN(init)
PLAIN(key)
PLAIN(large)
PLAIN(live)
PLAIN(lock)
PLAIN(lock_all)
PLAIN(map)
PLAIN(misuse)
PLAIN(mutex)
PLAIN(name)
PLAIN(operators)
PLAIN(options)
PLAIN(owner)
PLAIN(page)
PLAIN(page_size)
PLAIN(pages)
PLAIN(policy)
PLAIN(pool)
PLAIN(ready)
PLAIN(region)
PLAIN(report)
PLAIN(returned)
PLAIN(run)
PLAIN(runs)
PLAIN(settings)
PLAIN(shared)
PLAIN(size)
PLAIN(size_class)
PLAIN(small)
PLAIN(space)
PLAIN(span)
PLAIN(spans)
PLAIN(start)
PLAIN(state)
PLAIN(stats)
PLAIN(status)
PLAIN(table)
PLAIN(thread)
PLAIN(thread_heap)
PLAIN(threads)
PLAIN(trim)
PLAIN(usage)
PLAIN(usual)
PLAIN(version)

static int allocates(void) {
#ifdef BY_POOL
    const flat_class one = {64, 4};
    const flat_pool_options of_one = {.classes = &one, .class_count = 1};
    flat_pool *made;
    if (flat_pool_create(&made, &of_one, (void *)0) != FLAT_OK) return 0;
    int served = flat_pool_alloc(made, 64) != (void *)0;
    flat_pool_destroy(made);
    return served;
#else
    void *volatile served = malloc(100);
    free(served);
    return served != NULL;
#endif
}

int main(void) { return !allocates() || *address_of_space() != 0 || *address_of_heaps() != 0; }
