// Whether the resident memory of a soak grows: its pages, taken each second.
#ifndef FLATLINE_TESTS_RESIDENT_GROWTH_HPP
#define FLATLINE_TESTS_RESIDENT_GROWTH_HPP

#include "sanitizers.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace test {

constexpr std::size_t steady_pages = 256; // tolerated growth, 1 MiB
constexpr std::size_t settled = 30;       // seconds

// A sanitizer's own memory grows with the program's.
constexpr bool memory_is_its_own = !address_sanitizer && !thread_sanitizer;

// Returns by how much the maximum of the second half exceeds that of the first. Memory becomes resident at its first
// use, at a pace that depends on the machine's load, so growth within the first half does not count.
inline double growth(const std::vector<std::size_t> &pages) {
    const auto middle = pages.begin() + static_cast<std::ptrdiff_t>(pages.size() / 2);
    const double first = static_cast<double>(*std::max_element(pages.begin(), middle));
    return static_cast<double>(*std::max_element(middle, pages.end())) - first;
}

inline bool growth_is_seen() {
    std::vector<std::size_t> settles(1200, 3000), grows(1200);
    for (std::size_t i = 0; i < settles.size(); i++) {
        settles[i] -= i < 300 ? 2000 - 6 * i : 0;
        grows[i] = 3000 + i;
    }
    return growth(settles) <= steady_pages && growth(grows) > steady_pages;
}

// Prints what it is, and returns whether it does not grow. Judged in runs of 30 seconds or more.
inline bool is_flat(const std::vector<std::size_t> &pages) {
    const auto [least, most] = std::minmax_element(pages.begin(), pages.end());
    std::printf("resident: %zu to %zu pages, the second half's most %+.0f beside the first's\n", *least, *most,
                growth(pages));
    return growth(pages) <= steady_pages || pages.size() < settled;
}

} // namespace test

#endif
