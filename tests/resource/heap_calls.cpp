#include "resource/heap_calls.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <new>

namespace {
std::atomic<std::uint64_t> calls{0};
}

std::uint64_t test::heap_calls() { return calls.load(); }

// The C library's functions, even if another malloc is preloaded. The wrappers are visible, because shared libraries
// call them.
#if FLATLINE_HEAP_IS_COUNTED
#define VISIBLE __attribute__((visibility("default")))
extern "C" {

void *__libc_malloc(std::size_t size);
void *__libc_calloc(std::size_t count, std::size_t size);
void *__libc_realloc(void *block, std::size_t size);
void *__libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void *block);

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
VISIBLE void free(void *block) noexcept { __libc_free(block); }

} // extern "C"

namespace {
void *or_throw(void *block) { return block != nullptr ? block : throw std::bad_alloc(); }
} // namespace

VISIBLE void *operator new(std::size_t size) { return or_throw(malloc(size)); }
VISIBLE void *operator new(std::size_t size, std::align_val_t alignment) {
    return or_throw(aligned_alloc(static_cast<std::size_t>(alignment), size));
}
VISIBLE void operator delete(void *block) noexcept { free(block); }
VISIBLE void operator delete(void *block, std::size_t) noexcept { free(block); }
VISIBLE void operator delete(void *block, std::align_val_t) noexcept { free(block); }
VISIBLE void operator delete(void *block, std::size_t, std::align_val_t) noexcept { free(block); }
#endif
