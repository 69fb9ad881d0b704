/* A preload library that inspects the process's memory at its end. For the code mappings of files it prints how many
 * KiB are private and how many are shared. Under FLATLINE_FAULT=sealed code pages cannot be made writable. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int mprotect(void *start, size_t bytes, int rights) {
    const char *fault = getenv("FLATLINE_FAULT");
    if (fault != NULL && strcmp(fault, "sealed") == 0 && (rights & PROT_WRITE) != 0 && (rights & PROT_EXEC) != 0) {
        errno = EACCES;
        return -1;
    }
    return (int)syscall(SYS_mprotect, start, bytes, rights);
}

__attribute__((destructor)) static void look(void) {
    FILE *maps = fopen("/proc/self/smaps", "r");
    if (maps == NULL) return;
    char line[4608];
    size_t own = 0, shared = 0, size = 0, kib = 0;
    int holds_code = 0;
    while (fgets(line, sizeof line, maps) != NULL) {
        char rights[5] = "";
        if (sscanf(line, "%*x-%*x %4s", rights) == 1 && strlen(rights) == 4)
            holds_code = strcmp(rights, "r-xp") == 0 && strchr(line, '/') != NULL;
        if (!holds_code) continue;
        if (sscanf(line, "Size: %zu kB", &kib) == 1) size = kib;
        if (sscanf(line, "Anonymous: %zu kB", &kib) == 1) {
            own += kib;
            shared += size - kib;
        }
    }
    (void)fclose(maps);
    (void)fprintf(stderr, "code: %zu KiB own, %zu KiB shared\n", own, shared);
}
