// The settings of a test run: its seed, its length, and how much address space it may use.
#ifndef FLATLINE_TESTS_CORE_ENVIRONMENT_HPP
#define FLATLINE_TESTS_CORE_ENVIRONMENT_HPP

#include "sanitizers.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>

namespace test {

// The address space that the blocks of one pool may take. Natively it costs nothing, because no page is ever touched.
// But AddressSanitizer writes a shadow byte for every eight bytes, and qemu keeps a record for every page.
#if defined(__aarch64__)
inline constexpr std::size_t address_budget = std::size_t{1} << 30;
#else
inline constexpr std::size_t address_budget = std::size_t{1} << (address_sanitizer ? 28 : 38);
#endif

// FLATLINE_TEST_SEED, or a random seed that is fixed for this run.
inline std::uint64_t seed() {
    if (const char *given = std::getenv("FLATLINE_TEST_SEED")) return std::strtoull(given, nullptr, 0);
    static const std::uint64_t drawn = std::random_device{}();
    return drawn;
}

// `usual` times FLATLINE_TEST_SCALE (default 1), at least 1.
inline std::size_t scaled(std::size_t usual) {
    const char *given = std::getenv("FLATLINE_TEST_SCALE");
    const double scale = given != nullptr ? std::strtod(given, nullptr) : 1;
    const double length = static_cast<double>(usual) * scale;
    return length < 1 ? 1 : static_cast<std::size_t>(length);
}

} // namespace test

#endif
