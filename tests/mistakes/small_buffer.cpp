// A deliberate mistake: a memory resource over a buffer that is too small, with the default upstream. It continues in
// the heap silently, and would be timed as if it had not. With REFUSING defined the mistake is corrected: the upstream
// refuses, so that the small buffer is noticed.
#include "bench/backend.h"

#include <array>
#include <cstddef>
#include <memory_resource>
#include <new>

namespace {

#ifdef REFUSING
std::pmr::memory_resource *const upstream = std::pmr::null_memory_resource();
#else
std::pmr::memory_resource *const upstream = std::pmr::get_default_resource();
#endif

alignas(std::max_align_t) std::array<std::byte, 1024> buffer;
std::pmr::monotonic_buffer_resource resource(buffer.data(), buffer.size(), upstream);

} // namespace

const bench_traits bench_backend = {.driver = "small-buffer",
                                    .is_control = false,
                                    .is_malloc = false,
                                    .prefaults = false,
                                    .any_size = true,
                                    .remote_free = false,
                                    .use_threads = nullptr,
                                    .begin_thread = nullptr,
                                    .trim = nullptr,
                                    .metadata_bytes = nullptr};

bool bench_prepare(const bench_class *, std::size_t, bench_pages) { return true; }

void *bench_alloc(std::size_t size) {
    try {
        return resource.allocate(size);
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}

void bench_free(void *block, std::size_t size) { resource.deallocate(block, size); }

bench_function *bench_code() { return reinterpret_cast<bench_function *>(&bench_alloc); }

const char *bench_version() { return "none"; }
