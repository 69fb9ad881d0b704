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

const char *stacks_program(void) { return program; }

/* The path of a file that the loader knows by another name: the program has none there, and one that was found relative
 * to the working folder is given from it. */
static const char *path_of(const struct link_map *file, char room[2 * PATH_MAX]) {
    const char *name = file->l_name;
    if (name == NULL || *name == 0) return program;
    if (*name == '/' || strchr(name, '/') == NULL) return name;
    if (getcwd(room, PATH_MAX) == NULL) return name;
    size_t length = strlen(room), rest = strnlen(name, PATH_MAX - 2);
    room[length] = '/';
    memcpy(room + length + 1, name, rest);
    room[length + 1 + rest] = 0;
    return room;
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
    char room[2 * PATH_MAX];
    uint32_t path = interned_put_text(table, path_of(file, room));
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
