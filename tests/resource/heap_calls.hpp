// Counts how often this process has requested heap memory, by malloc and related functions or by operator new.
#ifndef FLATLINE_TESTS_RESOURCE_HEAP_CALLS_HPP
#define FLATLINE_TESTS_RESOURCE_HEAP_CALLS_HPP

#include "sanitizers.hpp"

#include <cstdint>

// A sanitizer has its own malloc, which must not be replaced. Nothing is counted then.
#define FLATLINE_HEAP_IS_COUNTED (!FLATLINE_ADDRESS_SANITIZER && !FLATLINE_THREAD_SANITIZER)

namespace test {

inline constexpr bool heap_is_counted = FLATLINE_HEAP_IS_COUNTED;

std::uint64_t heap_calls();

} // namespace test

#endif
