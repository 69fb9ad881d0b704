/* Preloaded before a malloc, this imitates transparent huge pages set to `always` where they are set to `madvise`: each
 * private anonymous mapping may use huge pages until its owner says otherwise. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *mmap(void *address, size_t bytes, int rights, int flags, int file, off_t offset) {
    void *made = (void *)syscall(SYS_mmap, address, bytes, rights, flags, file, offset); /* NOLINT */
    if (made != MAP_FAILED && (flags & MAP_ANONYMOUS) != 0 && (flags & MAP_PRIVATE) != 0 && (flags & MAP_STACK) == 0)
        (void)syscall(SYS_madvise, made, bytes, MADV_HUGEPAGE); /* the advice may be refused: then pages are small */
    return made;
}

void *mmap64(void *address, size_t bytes, int rights, int flags, int file, off_t offset) __attribute__((alias("mmap")));
