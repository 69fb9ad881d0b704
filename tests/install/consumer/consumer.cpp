// Uses the installed headers and library from C++, and prints which library served it.
#include <flatline/pool.h>
#include <flatline/region.h>
#include <flatline/status.h>
#include <flatline/version.h>

#include <cstdio>
#include <cstring>

int main() {
    const flat_class classes[] = {{64, 4}};
    flat_pool_options options{};
    options.classes = classes;
    options.class_count = 1;
    flat_pool *pool = nullptr;
    if (std::strcmp(flat_version(), FLAT_VERSION_STRING) != 0) return 1;
    if (flat_pool_create(&pool, &options, nullptr) != FLAT_OK) return 1;
    void *block = flat_pool_alloc(pool, 64);
    if (block == nullptr || flat_pool_free(pool, block) != FLAT_OK) return 1;
    flat_pool_destroy(pool);
    return std::puts(flat_version()) < 0;
}
