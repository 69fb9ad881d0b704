/* The sanitizers that this source file is built with, which gcc and clang report differently, and the calls by which
 * inlined functions inform AddressSanitizer. Every other build gets no code from this header. */
#ifndef FLATLINE_SANITIZER_H
#define FLATLINE_SANITIZER_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define FLAT_ADDRESS_SANITIZER 1
#endif
#if defined(__SANITIZE_THREAD__)
#define FLAT_THREAD_SANITIZER 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(FLAT_ADDRESS_SANITIZER)
#define FLAT_ADDRESS_SANITIZER 1
#endif
#if __has_feature(thread_sanitizer) && !defined(FLAT_THREAD_SANITIZER)
#define FLAT_THREAD_SANITIZER 1
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if defined(FLAT_ADDRESS_SANITIZER)

void __asan_poison_memory_region(void const volatile *start, size_t size);
void __asan_unpoison_memory_region(void const volatile *start, size_t size);

/** From now on an access to these bytes is reported. */
static inline void flat_sanitizer_close(const void *start, size_t size) { __asan_poison_memory_region(start, size); }

/** From now on these bytes may be accessed. */
static inline void flat_sanitizer_open(const void *start, size_t size) { __asan_unpoison_memory_region(start, size); }

#else

static inline void flat_sanitizer_close(const void *start, size_t size) { (void)start, (void)size; }
static inline void flat_sanitizer_open(const void *start, size_t size) { (void)start, (void)size; }

#endif

#ifdef __cplusplus
}
#endif
#endif
