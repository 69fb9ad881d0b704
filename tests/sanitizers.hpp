// Which sanitizers a test is built with: gcc and clang say it differently.
#ifndef FLATLINE_TESTS_SANITIZERS_HPP
#define FLATLINE_TESTS_SANITIZERS_HPP

#if defined(__has_feature)
#define FLATLINE_HAS_FEATURE(feature) __has_feature(feature)
#else
#define FLATLINE_HAS_FEATURE(feature) 0
#endif

namespace test {

#if defined(__SANITIZE_ADDRESS__) || FLATLINE_HAS_FEATURE(address_sanitizer)
inline constexpr bool address_sanitizer = true;
#else
inline constexpr bool address_sanitizer = false;
#endif

#if defined(__SANITIZE_THREAD__) || FLATLINE_HAS_FEATURE(thread_sanitizer)
inline constexpr bool thread_sanitizer = true;
#else
inline constexpr bool thread_sanitizer = false;
#endif

} // namespace test

#endif
