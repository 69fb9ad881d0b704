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

/* The loader's name of a file; it has none for the program. */
static const char *name_of(const struct link_map *file) {
    return file->l_name == NULL || *file->l_name == 0 ? program : file->l_name;
}

/* A name that is relative to the working folder, from there. Apart from the others, since it takes much of the stack.
 */
static __attribute__((noinline)) uint32_t put_relative(interned_table *table, const char *name) {
    char room[PATH_MAX];
    if (getcwd(room, sizeof room) == NULL) return interned_put_text(table, name);
    const size_t length = strlen(room), rest = strlen(name);
    if (length + 1 + rest + 1 > sizeof room) return interned_put_text(table, name);
    room[length] = '/';
    memcpy(room + length + 1, name, rest + 1);
    return interned_put_text(table, room);
}

static uint32_t put_path(interned_table *table, const char *name) {
    return *name == '/' || strchr(name, '/') == NULL ? interned_put_text(table, name) : put_relative(table, name);
}

/* Whether the entry is a path of that name: it, with or without a folder before it. */
static bool is_path_of(const interned_table *table, uint32_t path, const char *name) {
    size_t words = 0;
    const uint64_t *entry = interned_get(table, path, &words);
    if (entry == NULL) return false;
    const char *text = (const char *)entry;
    const size_t there = strnlen(text, words * sizeof *entry), length = strlen(name);
    return there >= length && memcmp(text + there - length, name, length) == 0;
}

typedef struct known_file {
    const struct link_map *file;
    const interned_table *table;
    uint32_t path;
} known_file;

enum { KNOWN_FILES = 8 };
static LOCAL_TO_THREAD known_file known[KNOWN_FILES];

static uint32_t path_number(interned_table *table, const struct link_map *file) {
    known_file *mine = &known[((uintptr_t)file >> 6) % KNOWN_FILES];
    const char *name = name_of(file); /* a file that takes the place of one that was unloaded has another */
    if (mine->file == file && mine->table == table && is_path_of(table, mine->path, name)) return mine->path;
    *mine = (known_file){.file = file, .table = table, .path = put_path(table, name)};
    return mine->path;
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
    const size_t count = unwind_from(innermost, addresses, NULL);
    for (size_t i = 0; i < count; i++) addresses[i] = frame_of(table, addresses[i]);
    const uint32_t stack = stack_put(table, addresses, count);
    errno = before;
    return stack;
}
