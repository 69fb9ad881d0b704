// What the kernel says about this process's memory.
#ifndef FLATLINE_TESTS_OS_SYSTEM_MEMORY_HPP
#define FLATLINE_TESTS_OS_SYSTEM_MEMORY_HPP

#include "os/resident_bytes.h"
#include "sanitizers.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <vector>

namespace test {

// ThreadSanitizer keeps several bytes of its own for each byte that a program touches. It faults them in during the
// run, so the page faults of such a build say nothing about the program.
inline constexpr bool faults_are_ours = !thread_sanitizer;

inline std::size_t page_size() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

// The number of resident pages in [start, start + size).
inline std::size_t resident_pages(const void *start, std::size_t size) {
    const std::uintptr_t page = page_size();
    const std::uintptr_t from = reinterpret_cast<std::uintptr_t>(start) / page * page;
    const std::uintptr_t to = (reinterpret_cast<std::uintptr_t>(start) + size + page - 1) / page * page;
    std::vector<unsigned char> resident((to - from) / page);
    if (mincore(reinterpret_cast<void *>(from), to - from, resident.data()) != 0) return 0;
    std::size_t count = 0;
    for (unsigned char one : resident) count += one & 1;
    return count;
}

inline std::size_t pages(const void *start, std::size_t size) {
    const std::uintptr_t page = page_size();
    const std::uintptr_t from = reinterpret_cast<std::uintptr_t>(start) / page;
    return (reinterpret_cast<std::uintptr_t>(start) + size + page - 1) / page - from;
}

// Whether any part of [start, start + size) is mapped.
inline bool is_mapped(const void *start, std::size_t size) {
    const auto from = reinterpret_cast<std::uintptr_t>(start), to = from + size;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        std::istringstream fields(line);
        std::uintptr_t low = 0, high = 0;
        char dash = 0;
        fields >> std::hex >> low >> dash >> high;
        if (low < to && from < high) return true;
    }
    return false;
}

// The number after `name` in a file of /proc, read without a call of malloc. Aborts if the kernel does not provide it.
inline std::size_t figure_of(const char *path, const char *name) {
    std::array<char, 4096> text{};
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = file < 0 ? -1 : read(file, text.data(), text.size() - 1);
    if (file >= 0) (void)close(file);
    const char *at = length > 0 ? std::strstr(text.data(), name) : nullptr;
    if (at == nullptr) std::abort();
    return std::strtoul(at + std::strlen(name), nullptr, 10);
}

// Keeps this process, and its children, off transparent huge pages, so that only what a program has touched is
// resident. Where they are allowed to all (transparent_hugepage=always), the kernel's khugepaged replaces 2 MiB of
// mapped memory by one huge page at any time, even if most of it was never touched. Returns whether the kernel
// complies; an emulator's may not.
inline bool keep_to_small_pages() { return prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0; }

// As resident_bytes_by_mapping(). Aborts if the kernel does not provide it.
inline std::size_t resident_bytes() {
    const std::size_t bytes = resident_bytes_by_mapping();
    if (bytes == 0) std::abort();
    return bytes;
}

// The same in O(1), from a counter that the kernel gathers per processor. Since Linux 6.2 it lags by about 32 pages on
// each.
inline std::size_t about_resident_bytes() { return figure_of("/proc/self/statm", " ") * page_size(); }

// The bytes of address space that the process has mapped.
inline std::size_t mapped_bytes() { return figure_of("/proc/self/statm", "") * page_size(); }

} // namespace test

#endif
