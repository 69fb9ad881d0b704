/* What glibc's malloc reports about itself, and the settings that it accepts. The figures are this malloc's, in glibc's
 * words and formats. */
#include "usage.h"

#include <flatline/status.h>

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>

/* All thread heaps count as one arena; huge blocks count as what glibc maps separately. */
FLAT_API struct mallinfo2 mallinfo2(void) {
    flat_usage now = flat_usage_now(true);
    bool is_sound = now.live_bytes <= now.heap_bytes; /* other threads may have run between the two */
    return (struct mallinfo2){.arena = now.heap_bytes,
                              .hblks = now.huge_blocks,
                              .hblkhd = now.huge_bytes,
                              .uordblks = now.live_bytes,
                              .fordblks = is_sound ? now.heap_bytes - now.live_bytes : 0,
                              .keepcost = now.kept_bytes};
}

static int at_most_int(size_t number) { return number < INT_MAX ? (int)number : INT_MAX; }

/* In numbers that end at 2 GiB: a larger one is reported as INT_MAX. */
FLAT_API struct mallinfo mallinfo(void) {
    struct mallinfo2 now = mallinfo2();
    return (struct mallinfo){.arena = at_most_int(now.arena),
                             .hblks = at_most_int(now.hblks),
                             .hblkhd = at_most_int(now.hblkhd),
                             .uordblks = at_most_int(now.uordblks),
                             .fordblks = at_most_int(now.fordblks),
                             .keepcost = at_most_int(now.keepcost)};
}

/* One heap of glibc's XML, which its readers look for; then the total, which differs by the huge blocks. */
FLAT_API int malloc_info(int options, FILE *stream) {
    if (options != 0) return EINVAL;
    struct mallinfo2 now = mallinfo2();
    size_t whole = now.arena + now.hblkhd;
    int written = fprintf(stream,
                          "<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n</sizes>\n"
                          "<total type=\"fast\" count=\"0\" size=\"0\"/>\n"
                          "<total type=\"rest\" count=\"%d\" size=\"%zu\"/>\n"
                          "<system type=\"current\" size=\"%zu\"/>\n<system type=\"max\" size=\"%zu\"/>\n"
                          "<aspace type=\"total\" size=\"%zu\"/>\n<aspace type=\"mprotect\" size=\"%zu\"/>\n</heap>\n",
                          now.fordblks != 0, now.fordblks, now.arena, now.arena, now.arena, now.arena);
    if (written < 0) return -1;
    written = fprintf(stream,
                      "<total type=\"fast\" count=\"0\" size=\"0\"/>\n"
                      "<total type=\"rest\" count=\"%d\" size=\"%zu\"/>\n"
                      "<total type=\"mmap\" count=\"%zu\" size=\"%zu\"/>\n"
                      "<system type=\"current\" size=\"%zu\"/>\n<system type=\"max\" size=\"%zu\"/>\n"
                      "<aspace type=\"total\" size=\"%zu\"/>\n<aspace type=\"mprotect\" size=\"%zu\"/>\n</malloc>\n",
                      now.fordblks != 0, now.fordblks, now.hblks, now.hblkhd, whole, whole, whole, whole);
    return written < 0 ? -1 : 0;
}

/* To the stream stderr, as glibc does: a program may have redirected it. */
FLAT_API void malloc_stats(void) {
    int error = errno;
    struct mallinfo2 now = mallinfo2();
    (void)fprintf(stderr,
                  "Arena 0:\nsystem bytes     = %10zu\nin use bytes     = %10zu\n"
                  "Total (incl. mmap):\nsystem bytes     = %10zu\nin use bytes     = %10zu\n"
                  "mmap regions     = %10zu\nmmap bytes       = %10zu\n",
                  now.arena, now.uordblks, now.arena + now.hblkhd, now.uordblks + now.hblkhd, now.hblks, now.hblkhd);
    errno = error;
}

/* Settings of glibc's internals have no meaning here: they are accepted, as by glibc, and change nothing. A setting
 * that would change what the program's blocks contain (M_PERTURB), and an unknown one, are refused: mallopt returns 0.
 */
FLAT_API int mallopt(int parameter, int value) {
    (void)value;
    switch (parameter) {
    case M_MXFAST:
    case M_TRIM_THRESHOLD:
    case M_TOP_PAD:
    case M_MMAP_THRESHOLD:
    case M_MMAP_MAX:
    case M_CHECK_ACTION:
    case M_ARENA_TEST:
    case M_ARENA_MAX: return 1;
    default: return 0; /* M_PERTURB, which fills blocks */
    }
}
