#define _GNU_SOURCE
#include "address_text.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Of a file that is mapped: what it exports. */
typedef struct symbol_table {
    const ElfW(Sym) * symbols;
    const char *names;
    size_t count;
} symbol_table;

/* The number of symbols that a GNU hash table covers: the last chain's end. */
static size_t count_hashed(const uint32_t *table) {
    uint32_t buckets = table[0], first = table[1], filter_words = table[2], last = 0;
    const uint32_t *bucket = &table[4 + filter_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t))];
    const uint32_t *chain = bucket + buckets;
    for (uint32_t i = 0; i < buckets; i++) {
        if (bucket[i] > last) last = bucket[i];
    }
    if (last < first) return first;
    while ((chain[last - first] & 1) == 0) last++;
    return last + 1;
}

/* The loader has made addresses of what the table's entries hold, except in the kernel's own file. */
static symbol_table symbols_of(const struct link_map *file) {
    symbol_table found = {0};
    for (const ElfW(Dyn) *entry = file->l_ld; entry != NULL && entry->d_tag != DT_NULL; entry++) {
        uintptr_t at = entry->d_un.d_ptr;
        if (at < file->l_addr) at += file->l_addr;
        if (entry->d_tag == DT_SYMTAB) found.symbols = (const ElfW(Sym) *)at; // NOLINT: as the loader wrote it
        if (entry->d_tag == DT_STRTAB) found.names = (const char *)at;        // NOLINT
        if (entry->d_tag == DT_GNU_HASH) found.count = count_hashed((const uint32_t *)at); // NOLINT
    }
    if (found.symbols == NULL || found.names == NULL) found.count = 0;
    return found;
}

/* The function that holds the offset; NULL: none that is exported. */
static const ElfW(Sym) * function_at(const symbol_table *table, uintptr_t offset) {
    for (size_t i = 0; i < table->count; i++) {
        const ElfW(Sym) *symbol = &table->symbols[i];
        bool is_code = (symbol->st_info & 15) == STT_FUNC || (symbol->st_info & 15) == STT_GNU_IFUNC;
        if (is_code && symbol->st_shndx != SHN_UNDEF && offset - symbol->st_value < symbol->st_size) return symbol;
    }
    return NULL;
}

static const char *file_name(const struct link_map *file) {
    if (file->l_name[0] == '\0') return program_invocation_short_name; /* the program itself */
    const char *slash = strrchr(file->l_name, '/');
    return slash != NULL ? slash + 1 : file->l_name;
}

void flat_address_text(const void *address, char *text, size_t size) {
    struct dl_find_object found;
    void *asked = (void *)(uintptr_t)address; // NOLINT: it is not written
    if (_dl_find_object(asked, &found) != 0) {
        (void)snprintf(text, size, "%p", address);
        return;
    }
    const struct link_map *file = found.dlfo_link_map;
    uintptr_t offset = (uintptr_t)address - file->l_addr;
    symbol_table table = symbols_of(file);
    const ElfW(Sym) *function = function_at(&table, offset);
    if (function == NULL) {
        (void)snprintf(text, size, "%s+0x%lx", file_name(file), (unsigned long)offset);
    } else {
        (void)snprintf(text, size, "%s+0x%lx (%s)", table.names + function->st_name,
                       (unsigned long)(offset - function->st_value), file_name(file));
    }
}
