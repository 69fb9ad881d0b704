#define _GNU_SOURCE
#include "stacks.h"

#include "thread_local.h"
#include "unwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static char program[PATH_MAX + 1];

void stacks_prepare(void) {
    const int before = errno;
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = 0;
    errno = before;
}

/* The path of a file that the loader knows by another name: the program has none there, and one that was found relative
 * to the working folder is given from it. */
static __attribute__((noinline)) uint32_t put_path_from_here(interned_table *table, const char *name) {
    char path[2 * PATH_MAX];
    if (getcwd(path, PATH_MAX) == NULL) return interned_put_text(table, name);
    size_t length = strlen(path), rest = strnlen(name, PATH_MAX - 2);
    path[length] = '/';
    memcpy(path + length + 1, name, rest);
    path[length + 1 + rest] = 0;
    return interned_put_text(table, path);
}

static uint32_t put_path_of(interned_table *table, const struct link_map *file) {
    const char *name = file->l_name;
    if (name == NULL || *name == 0) name = program;
    if (*name == '/' || strchr(name, '/') == NULL) return interned_put_text(table, name);
    return put_path_from_here(table, name);
}

typedef struct known_file {
    const struct link_map *file;
    const interned_table *table;
    const char *name; /* as the loader has it: another file that takes the place of one that was unloaded has another */
    uint32_t path;
} known_file;

enum { KNOWN_FILES = 8 };
static LOCAL_TO_THREAD known_file known[KNOWN_FILES];

static uint32_t path_number(interned_table *table, const struct link_map *file) {
    known_file *mine = &known[((uintptr_t)file >> 6) % KNOWN_FILES];
    if (mine->file == file && mine->table == table && mine->name == file->l_name) return mine->path;
    uint32_t path = put_path_of(table, file);
    *mine = (known_file){.file = file, .table = table, .name = file->l_name, .path = path};
    return path;
}

uint64_t frame_of(interned_table *table, uintptr_t address) {
    struct dl_find_object found;
    if (_dl_find_object((void *)(address - 1), &found) == 0 && found.dlfo_link_map != NULL) {
        uint64_t offset = address - found.dlfo_link_map->l_addr;
        uint32_t path = offset >> FRAME_OFFSET_BITS == 0 ? path_number(table, found.dlfo_link_map) : 0;
        if (path != 0) return (uint64_t)path << FRAME_OFFSET_BITS | offset;
    }
    return FRAME_ABSOLUTE | address;
}

uint32_t stack_of(interned_table *table, const void *innermost) {
    const int before = errno;
    uintptr_t addresses[UNWIND_DEPTH];
    uint64_t frames[UNWIND_DEPTH];
    size_t count = unwind_from(innermost, addresses);
    for (size_t i = 0; i < count; i++) frames[i] = frame_of(table, addresses[i]);
    uint32_t stack = interned_put(table, frames, count);
    errno = before;
    return stack;
}
