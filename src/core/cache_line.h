/* The size of a cache line, in bytes, and what begins at one. */
#ifndef FLATLINE_CORE_CACHE_LINE_H
#define FLATLINE_CORE_CACHE_LINE_H

#define CACHE_LINE 64 /* what x86-64 and most aarch64 fetch at once */
#define LINE_PAIR 128 /* neighbouring lines are fetched in pairs: data that two threads write is this far apart */

/* Before the type of a first member, in C and C++: the structure begins at a multiple of so many bytes. */
#ifdef __cplusplus
#define ALIGNED_TO(bytes) alignas(bytes)
#else
#define ALIGNED_TO(bytes) _Alignas(bytes)
#endif

#endif
