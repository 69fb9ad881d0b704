// How often this process has asked the heap for memory, by malloc and its kin or by operator new.
#ifndef FLATLINE_TESTS_RESOURCE_HEAP_CALLS_HPP
#define FLATLINE_TESTS_RESOURCE_HEAP_CALLS_HPP

#include "sanitizers.hpp"

#include <cstdint>

namespace test {

// A sanitizer brings a malloc of its own, which must stay the only one. Nothing is counted then.
inline constexpr bool heap_is_counted = !address_sanitizer && !thread_sanitizer;

std::uint64_t heap_calls();

} // namespace test

#endif
