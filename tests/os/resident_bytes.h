/* The resident bytes of the whole process, to the page. The kernel does a step for each page of it.
 *
 * The sum over all mappings is taken here and not from smaps_rollup: while another thread maps memory, or khugepaged
 * does, Linux 6.1 leaves mappings out of that one's sum. Nor from statm or VmRSS: until Linux 6.2 their counters lag by
 * some pages of each thread, and since then by some of each processor. */
#ifndef FLATLINE_TESTS_RESIDENT_BYTES_H
#define FLATLINE_TESTS_RESIDENT_BYTES_H

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 0 iff the kernel does not tell. Makes no call of malloc. */
static inline size_t resident_bytes_by_mapping(void) {
    char text[4096];
    size_t length = 0, kib = 0;
    ssize_t more;
    int file = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    while ((more = read(file, text + length, sizeof text - 1 - length)) > 0) {
        char *line = text, *end;
        length += (size_t)more;
        text[length] = 0;
        for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            if (strncmp(line, "Rss:", 4) == 0) kib += strtoul(line + 4, NULL, 10);
        }
        length -= (size_t)(line - text);
        if (length == sizeof text - 1) length = 0; /* the name of a file that is longer than any other line */
        memmove(text, line, length);
    }
    (void)close(file);
    return more == 0 ? kib * 1024 : 0;
}

#endif
