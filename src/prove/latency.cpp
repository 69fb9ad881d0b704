#include "latency.hpp"

#include "os/clock.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <numeric>
#include <random>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace flat::prove {
namespace {

constexpr std::size_t line_bytes = 64, page_bytes = 4096, mebibyte = std::size_t{1} << 20;
constexpr std::size_t repetitions = 7;

/// A larger buffer would take too long to fill.
constexpr std::size_t largest_cached = 48 * mebibyte;
/// Enough for all measured misses, each of another line: none of them hits a line of the one before.
constexpr std::size_t missed_bytes = 16 * mebibyte;
/// Overwritten after that, so that no cache still holds a line of it.
constexpr std::size_t most_evicting = 160 * mebibyte;
/// More pages than the second level of a TLB has entries (up to 4,096), with few enough lines for a second-level cache.
constexpr std::size_t walked_pages = 8192;

/// The process's own pages, unmapped at the end.
class Pages {
  public:
    enum class Kind { huge, small };

    Pages(std::size_t bytes, Kind kind) : size_(bytes) {
        constexpr std::size_t huge_page = 2 * mebibyte;
        mapped_ = size_ + huge_page; // so that it can begin at a huge-page boundary
        map_ = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (map_ == MAP_FAILED)
            throw std::runtime_error(fmt::format("--estimate needs {} MiB to measure this machine, and the system does "
                                                 "not grant them: run it without --estimate",
                                                 mapped_ / mebibyte));
        const std::size_t into = reinterpret_cast<std::uintptr_t>(map_) % huge_page;
        start_ = static_cast<std::byte *>(map_) + (into == 0 ? 0 : huge_page - into);
        // Refused by a system without huge pages. The time of a hit then contains part of a page walk, which is no
        // reason not to measure it.
        static_cast<void>(::madvise(start_, size_, kind == Kind::huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE));
    }
    ~Pages() { ::munmap(map_, mapped_); }
    Pages(const Pages &) = delete;
    Pages &operator=(const Pages &) = delete;

    std::byte *start() const { return start_; }
    std::size_t size() const { return size_; }

  private:
    void *map_ = nullptr;
    std::size_t size_, mapped_ = 0;
    std::byte *start_ = nullptr;
};

/// A cycle: each element is the index of the next, and all are visited before one repeats (Sattolo's algorithm). The
/// seed is fixed, so that runs do not differ in it.
std::vector<std::uint32_t> random_cycle(std::size_t size) {
    std::vector<std::uint32_t> next(size);
    std::iota(next.begin(), next.end(), 0U);
    std::minstd_rand random(20251123); // any order that no prefetcher predicts will do
    for (std::size_t i = size - 1; i > 0; i--) std::swap(next[i], next[random() % i]);
    return next;
}

/// A cycle of pointers, one in each of `count` lines. `place` returns the start of line i.
template <typename Place> void *chained(std::size_t count, Place place) {
    const std::vector<std::uint32_t> next = random_cycle(count);
    for (std::size_t i = 0; i < count; i++) *static_cast<void **>(place(i)) = place(next[i]);
    return place(0);
}

void *chained_densely(std::byte *start, std::size_t count) {
    return chained(count, [start](std::size_t i) -> void * { return start + i * line_bytes; });
}

/// The address after `steps` steps. The address of each load is the result of the load before it.
void *chase(void *from, std::size_t steps) {
    void *at = from;
    for (std::size_t i = 0; i < steps; i++) at = *static_cast<void *volatile *>(at);
    return at;
}

double median(std::array<double, repetitions> values) {
    std::ranges::sort(values);
    return values[repetitions / 2];
}

/// The median time of a step, in ns. Each repetition continues where the last one ended.
double step_ns(void *from, std::size_t steps) {
    std::array<double, repetitions> each{};
    for (double &ns : each) {
        const std::uint64_t begin = flat_clock_ns();
        from = chase(from, steps);
        ns = static_cast<double>(flat_clock_ns() - begin) / static_cast<double>(steps);
    }
    return median(each);
}

Latency instruction_latency() {
    constexpr std::size_t rounds = 20'000, in_a_round = 16;
    std::array<double, repetitions> each{};
    std::uint64_t sum = 1, by = 3;
    for (double &ns : each) {
        const std::uint64_t begin = flat_clock_ns();
        for (std::size_t i = 0; i < rounds; i++) {
            // Adds two registers: some processors add a constant without taking a cycle.
#if defined(__x86_64__)
            __asm__ volatile(".rept 16\n\tadd %1, %0\n\t.endr" : "+r"(sum) : "r"(by) : "cc");
#else
            __asm__ volatile(".rept 16\n\tadd %0, %0, %1\n\t.endr" : "+r"(sum) : "r"(by));
#endif
        }
        ns = static_cast<double>(flat_clock_ns() - begin) / static_cast<double>(rounds * in_a_round);
    }
    return {median(each), "a chain of additions, each of which waits for the one before it"};
}

/// Reads "32K", "1024K", "8M"; 0 for anything else.
std::size_t bytes_of(const std::string &text) {
    std::size_t number = 0, at = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9' && number < mebibyte; at++)
        number = number * 10 + static_cast<std::size_t>(text[at] - '0');
    const std::string unit = text.substr(at);
    return unit == "K" ? number << 10 : unit == "M" ? number << 20 : unit.empty() ? number : 0;
}

struct CacheSize {
    unsigned level = 0;
    std::size_t bytes = 0;
    std::string_view source;
};

std::vector<CacheSize> sizes_by_kernel() {
    std::vector<CacheSize> sizes;
    for (unsigned index = 0; index < 10; index++) {
        const std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
        std::string type, size;
        unsigned level = 0;
        if (!(std::ifstream(folder + "type") >> type) || !(std::ifstream(folder + "level") >> level) ||
            !(std::ifstream(folder + "size") >> size))
            continue;
        if (type != "Instruction" && bytes_of(size) > 0) sizes.push_back({level, bytes_of(size), "the kernel"});
    }
    std::ranges::sort(sizes, {}, &CacheSize::level);
    return sizes;
}

/// The data caches, nearest first; at least one.
std::vector<CacheSize> cache_sizes() {
    std::vector<CacheSize> sizes = sizes_by_kernel();
    if (!sizes.empty() && sizes.front().level == 1) return sizes;
    sizes.clear();
#ifdef _SC_LEVEL1_DCACHE_SIZE
    unsigned level = 1;
    for (const int name : {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE}) {
        const long bytes = ::sysconf(name);
        if (bytes <= 0) break;
        sizes.push_back({level++, static_cast<std::size_t>(bytes), "the C library"});
    }
#endif
    if (sizes.empty())
        sizes = {{1, std::size_t{32} << 10, "assumed: the system does not say"},
                 {2, mebibyte, "assumed: the system does not say"}};
    return sizes;
}

/// Measured with a buffer that the level above cannot hold: four times as large as that level, or the geometric mean of
/// both if this one is not much larger. Half of this level would be too much, since other processors use part of a
/// shared cache. For the first level it is half. All lines were touched before.
CacheLevel measured_level(const CacheSize &size, std::size_t above) {
    const double mean = std::sqrt(static_cast<double>(size.bytes) * static_cast<double>(above));
    const std::size_t wanted = above == 0 ? size.bytes / 2 : std::min(static_cast<std::size_t>(mean), 4 * above);
    const std::size_t lines = std::clamp(wanted, std::size_t{2} << 10, largest_cached) / line_bytes;
    const Pages pages(lines * line_bytes, Pages::Kind::huge);
    void *const from = chase(chained_densely(pages.start(), lines), lines);
    constexpr std::size_t steps = 100'000;
    return {size.level,
            size.bytes,
            {step_ns(from, steps),
             fmt::format("loads that each wait for the one before it, in random order over {} KiB, on huge pages where "
                         "the system grants them",
                         lines * line_bytes >> 10)},
            std::string(size.source)};
}

Latency memory_latency(std::size_t last_level) {
    const std::size_t evicting = std::clamp(4 * last_level, missed_bytes, most_evicting),
                      lines = missed_bytes / line_bytes;
    const Pages pages(missed_bytes + evicting, Pages::Kind::huge);
    void *const from = chained_densely(pages.start(), lines);
    for (std::size_t i = missed_bytes; i < pages.size(); i += line_bytes)
        *reinterpret_cast<volatile std::byte *>(pages.start() + i) = std::byte{1};
    return {step_ns(from, lines / repetitions),
            fmt::format("loads that each wait for the one before it, each of a line not touched since {} MiB of others "
                        "were written, on huge pages where the system grants them",
                        evicting / mebibyte)};
}

Latency page_walk_latency() {
    constexpr std::size_t steps = 2 * walked_pages;
    const Pages dense(walked_pages * line_bytes, Pages::Kind::small),
        spread(walked_pages * page_bytes, Pages::Kind::small);
    void *const dense_from = chained_densely(dense.start(), walked_pages);
    // Uses another line in each page; otherwise all would lie in a few sets of each cache.
    void *const spread_from = chained(walked_pages, [&spread](std::size_t i) -> void * {
        return spread.start() + i * page_bytes + i % (page_bytes / line_bytes) * line_bytes;
    });
    const double near = step_ns(chase(dense_from, walked_pages), steps);
    const double far = step_ns(chase(spread_from, walked_pages), steps);
    return {far - near, fmt::format("loads of {0} lines in {0} pages of 4 KiB, less the time of loads of as many "
                                    "adjacent lines; the page tables are mostly in the caches",
                                    walked_pages)};
}

} // namespace

Latencies in_order(Latencies latencies) {
    // A NaN does not compare greater than anything, so it is replaced as well.
    const auto raise = [](double &ns, double least) {
        if (!(ns > least) || !std::isfinite(ns)) ns = least;
        return ns;
    };
    double below = raise(latencies.instruction.ns, 0.001);
    for (CacheLevel &cache : latencies.caches) below = raise(cache.hit.ns, below);
    raise(latencies.memory.ns, below);
    raise(latencies.page_walk.ns, latencies.first_level());
    return latencies;
}

Latencies measured_latencies() {
    const std::vector<CacheSize> sizes = cache_sizes();
    Latencies latencies;
    latencies.instruction = instruction_latency();
    std::size_t above = 0;
    for (const CacheSize &size : sizes) {
        latencies.caches.push_back(measured_level(size, above));
        above = size.bytes;
    }
    latencies.memory = memory_latency(sizes.back().bytes);
    latencies.page_walk = page_walk_latency();
    return in_order(std::move(latencies));
}

} // namespace flat::prove
