// A memory source for the standard containers. FLATLINE_FAULT in the environment selects a fault:
//
//   heap N      the heap serves the N-th request, as in a resource whose buffer is full
//   null N      the N-th request gets nullptr
//   same N      the N-th request gets the previous block again
//   stall N     the N-th request takes 5 ms
//
// Otherwise it is std::pmr's monotonic resource with room for all rounds, which never reuses a block.
#include "bench/driver/containers.hpp"
#include "os/clock.h"

#include <cstdlib>
#include <memory_resource>
#include <optional>
#include <string_view>
#include <sys/mman.h>

namespace {

constexpr std::size_t room = std::size_t{1} << 30; // bytes of address space, more than any test writes
constexpr std::uint64_t stall_ns = 5'000'000;

class faulty_resource final : public std::pmr::memory_resource {
  public:
    faulty_resource(void *start, std::string_view fault, std::size_t at)
        : memory_(start, room, std::pmr::null_memory_resource()), fault_(fault), at_(at) {}

  private:
    void *do_allocate(std::size_t bytes, std::size_t alignment) override {
        const std::string_view fault = ++requests_ == at_ ? fault_ : "";
        if (fault == "null") throw std::bad_alloc();
        if (fault == "same") return last_;
        if (fault == "heap") return last_ = ::operator new(bytes); // never freed
        if (fault == "stall") stall();
        return last_ = memory_.allocate(bytes, alignment);
    }
    void do_deallocate(void *, std::size_t, std::size_t) override {}
    bool do_is_equal(const memory_resource &other) const noexcept override { return this == &other; }

    static void stall() {
        const std::uint64_t from = flat_clock_ns();
        while (flat_clock_ns() - from < stall_ns) {
        }
    }

    std::pmr::monotonic_buffer_resource memory_;
    std::string_view fault_;
    std::size_t at_, requests_ = 0;
    void *last_ = nullptr;
};

std::optional<faulty_resource> resource;

template <std::size_t> struct source {
    template <class T> using allocator = std::pmr::polymorphic_allocator<T>;
    template <class T> allocator<T> get() { return &*resource; }
    void end_round() {}
};

} // namespace

const bench_traits bench_backend = flat::bench::traits_of("containers-faulty");

bool bench_prepare(const bench_class *, std::size_t, bench_pages) {
    const char *wanted = std::getenv("FLATLINE_FAULT");
    const std::string_view words = wanted != nullptr ? wanted : "";
    const std::size_t blank = words.find(' ');
    void *start = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) return false;
    resource.emplace(start, words.substr(0, blank),
                     blank == words.npos ? 0 : std::strtoul(words.data() + blank, nullptr, 10));
    return true;
}

const bench_workload *bench_find_workload(const char *name) {
    return flat::bench::find_workload(flat::bench::workloads_over<source>, name);
}

bench_function *bench_code(void) { return reinterpret_cast<bench_function *>(bench_prepare); }

const char *bench_version(void) { return "0"; }
