#include "resource/heap_calls.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace {
std::atomic<std::uint64_t> calls{0};
}

std::uint64_t test::heap_calls() { return calls.load(); }

// operator new of both C++ libraries calls malloc or aligned_alloc, so these see it too. Visible: theirs are calls from
// shared libraries.
#if FLATLINE_HEAP_IS_COUNTED
#define VISIBLE __attribute__((visibility("default")))
extern "C" {

void *__libc_malloc(std::size_t size);
void *__libc_calloc(std::size_t count, std::size_t size);
void *__libc_realloc(void *block, std::size_t size);
void *__libc_memalign(std::size_t alignment, std::size_t size);

VISIBLE void *malloc(std::size_t size) noexcept {
    ++calls;
    return __libc_malloc(size);
}
VISIBLE void *calloc(std::size_t count, std::size_t size) noexcept {
    ++calls;
    return __libc_calloc(count, size);
}
VISIBLE void *realloc(void *block, std::size_t size) noexcept {
    ++calls;
    return __libc_realloc(block, size);
}
VISIBLE void *aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
    ++calls;
    return __libc_memalign(alignment, size);
}
VISIBLE int posix_memalign(void **block, std::size_t alignment, std::size_t size) noexcept {
    ++calls;
    *block = __libc_memalign(alignment, size);
    return *block != nullptr ? 0 : ENOMEM;
}

} // extern "C"
#endif
