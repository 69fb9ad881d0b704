// How often this process has asked the heap for memory, by malloc and its kin or by operator new.
#ifndef FLATLINE_TESTS_RESOURCE_HEAP_CALLS_HPP
#define FLATLINE_TESTS_RESOURCE_HEAP_CALLS_HPP

#include "sanitizers.hpp"

#include <cstdint>

// A sanitizer brings a malloc of its own, which must stay the only one. Nothing is counted then.
#define FLATLINE_HEAP_IS_COUNTED (!FLATLINE_ADDRESS_SANITIZER && !FLATLINE_THREAD_SANITIZER)

namespace test {

inline constexpr bool heap_is_counted = FLATLINE_HEAP_IS_COUNTED;

std::uint64_t heap_calls();

} // namespace test

#endif
