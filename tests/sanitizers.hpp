// Which sanitizers a test is built with: gcc and clang say it differently.
#ifndef FLATLINE_TESTS_SANITIZERS_HPP
#define FLATLINE_TESTS_SANITIZERS_HPP

#if defined(__has_feature)
#define FLATLINE_HAS_FEATURE(feature) __has_feature(feature)
#else
#define FLATLINE_HAS_FEATURE(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || FLATLINE_HAS_FEATURE(address_sanitizer)
#define FLATLINE_ADDRESS_SANITIZER 1
#else
#define FLATLINE_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__) || FLATLINE_HAS_FEATURE(thread_sanitizer)
#define FLATLINE_THREAD_SANITIZER 1
#else
#define FLATLINE_THREAD_SANITIZER 0
#endif

namespace test {

inline constexpr bool address_sanitizer = FLATLINE_ADDRESS_SANITIZER;
inline constexpr bool thread_sanitizer = FLATLINE_THREAD_SANITIZER;

/// Of an engine's worker, in bytes; 0: the default, of which ThreadSanitizer takes more than there is for itself.
inline constexpr unsigned worker_stack = thread_sanitizer ? 2u << 20 : 0;

} // namespace test

#endif
