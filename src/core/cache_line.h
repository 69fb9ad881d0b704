/* What a processor moves between its caches and those of others, in bytes. */
#ifndef FLATLINE_CORE_CACHE_LINE_H
#define FLATLINE_CORE_CACHE_LINE_H

#define CACHE_LINE 64 /* what x86-64 and most aarch64 fetch at once */
#define LINE_PAIR 128 /* neighbouring lines are fetched in pairs: what two threads write lies so far apart */

#endif
