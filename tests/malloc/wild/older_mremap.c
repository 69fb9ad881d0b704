/* Preloaded before the malloc, this makes mremap() behave as in Linux 5.7 to 6.16: MREMAP_FIXED first unmaps the
 * destination, and only then refuses, with EFAULT, an old range of more than one mapping, which newer kernels move. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *read_address(const char *text, uintptr_t *address) {
    for (*address = 0; (*text >= '0' && *text <= '9') || (*text >= 'a' && *text <= 'f'); text++) {
        *address = *address * 16 + (uintptr_t)(*text <= '9' ? *text - '0' : *text - 'a' + 10);
    }
    return text;
}

/* The end of the mapping that contains `address`, or 0. Reads a line at a time, since maps may be long. */
static uintptr_t end_of_mapping(uintptr_t address) {
    char line[512], part[4096];
    size_t length = 0;
    ssize_t bytes;
    uintptr_t found = 0;
    int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    while (found == 0 && (bytes = read(maps, part, sizeof part)) > 0) {
        for (ssize_t i = 0; i < bytes && found == 0; i++) {
            if (length < sizeof line - 1) line[length++] = part[i];
            if (part[i] != '\n') continue;
            uintptr_t from, to;
            line[length] = 0;
            (void)read_address(read_address(line, &from) + 1, &to);
            if (from <= address && address < to) found = to;
            length = 0;
        }
    }
    (void)close(maps);
    return found;
}

void *mremap(void *old, size_t old_bytes, size_t new_bytes, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    void *to = (flags & MREMAP_FIXED) != 0 ? va_arg(rest, void *) : NULL;
    va_end(rest);
    if ((flags & MREMAP_FIXED) != 0 && old_bytes > end_of_mapping((uintptr_t)old) - (uintptr_t)old) {
        (void)munmap(to, new_bytes);
        errno = EFAULT;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mremap, old, old_bytes, new_bytes, flags, to); /* NOLINT */
}
