// A mistake on purpose: a memory resource over a buffer that is too small, with the upstream that it has by default. It
// goes on in the heap without a word, and would be timed as if it had not.
#include "bench/backend.h"

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory_resource>
#include <new>
#include <unistd.h>

namespace {

alignas(std::max_align_t) std::array<std::byte, 1024> buffer;

std::pmr::monotonic_buffer_resource &resource() {
    static std::pmr::monotonic_buffer_resource over_buffer(buffer.data(), buffer.size());
    return over_buffer;
}

} // namespace

extern "C" {

const char bench_driver[] = "small-buffer";
const bool bench_is_control = false;

bool bench_prepare(const bench_class *, size_t) { return true; }
void *bench_alloc(size_t size) { return resource().allocate(size); }
void bench_free(void *block, size_t size) { resource().deallocate(block, size); }
bench_function *bench_code(void) { return reinterpret_cast<bench_function *>(&bench_alloc); }
const char *bench_version(void) { return "none"; }
}
