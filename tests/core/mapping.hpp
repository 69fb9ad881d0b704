// A range of address space straight from the kernel; nothing of it costs memory before it is touched.
#ifndef FLATLINE_TESTS_CORE_MAPPING_HPP
#define FLATLINE_TESTS_CORE_MAPPING_HPP

#include <flatline/pool.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <sys/mman.h>

namespace test {

class mapping {
  public:
    mapping(std::size_t size, std::size_t alignment, int protection = PROT_READ | PROT_WRITE)
        : size_(size), mapped_(size + alignment) {
        base_ = mmap(nullptr, mapped_, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base_ == MAP_FAILED) throw std::runtime_error("the system maps no memory of the size this test needs");
        const std::size_t past = reinterpret_cast<std::uintptr_t>(base_) % alignment;
        start_ = static_cast<char *>(base_) + (past != 0 ? alignment - past : 0);
    }
    mapping(const mapping &) = delete;
    mapping &operator=(const mapping &) = delete;
    ~mapping() { munmap(base_, mapped_); }

    char *start() const { return start_; }
    std::size_t size() const { return size_; }
    flat_memory memory() const { return {start_, size_}; }

  private:
    std::size_t size_, mapped_;
    void *base_;
    char *start_;
};

inline std::uintptr_t address_of(const void *pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

// A pointer value that is only ever compared, never followed.
inline void *at(std::uintptr_t address) { return reinterpret_cast<void *>(address); }

} // namespace test

#endif
