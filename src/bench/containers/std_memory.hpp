// The memory that the resources of std::pmr get: created as Flatline's own is, with null_memory_resource as its
// upstream.
#pragma once

#include "../driver/containers.hpp"

#include <flatline/region.h>

#include <cstddef>
#include <cstdlib>
#include <dlfcn.h>
#include <memory_resource>
#include <optional>

inline flat_region region;
inline std::optional<std::pmr::monotonic_buffer_resource> buffer;

inline bool make_buffer(std::size_t bytes) {
    if (flat_region_create(&region, bytes, 4096, nullptr) != FLAT_OK) return false;
    buffer.emplace(region.start, region.size, std::pmr::null_memory_resource());
    return true;
}

/// Bytes from the start of the memory to the first byte that is not allocated. The call allocates one byte.
inline std::size_t held_by_buffer() {
    return static_cast<std::size_t>(static_cast<char *>(buffer->allocate(1, 1)) - static_cast<char *>(region.start));
}

bench_function *bench_code(void) { return reinterpret_cast<bench_function *>(std::pmr::null_memory_resource); }

/// The C++ library gives its version only in its file name.
const char *bench_version(void) {
    static char path[4096];
    Dl_info info;
    if (dladdr(reinterpret_cast<const void *>(bench_code()), &info) == 0 || realpath(info.dli_fname, path) == nullptr)
        return "unknown";
    const char *version = std::strstr(path, ".so.");
    return version != nullptr ? version + std::strlen(".so.") : "unknown";
}
