#define _GNU_SOURCE
#include "objects.h"

#include <string.h>

/* Where an entry of the dynamic section points to. glibc replaces the offsets of the file by addresses where it may
 * write. */
static uintptr_t pointer_of(const object *of, const ElfW(Dyn) * entry) {
    uintptr_t value = (uintptr_t)entry->d_un.d_ptr;
    return value < of->base ? value + of->base : value;
}

static void read_dynamic(object *read) {
    for (const ElfW(Dyn) *entry = read->dynamic; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_SYMTAB) read->symbols = (const ElfW(Sym) *)pointer_of(read, entry);
        if (entry->d_tag == DT_STRTAB) read->strings = (const char *)pointer_of(read, entry);
        if (entry->d_tag == DT_GNU_HASH) read->hash = (const uint32_t *)pointer_of(read, entry);
    }
}

bool flat_object_read(object *read, const struct dl_phdr_info *info) {
    *read = (object){.base = info->dlpi_addr, .headers = info->dlpi_phdr, .header_count = info->dlpi_phnum};
    for (size_t i = 0; i < read->header_count; i++) {
        if (read->headers[i].p_type == PT_DYNAMIC)
            read->dynamic = (const ElfW(Dyn) *)(read->base + read->headers[i].p_vaddr);
    }
    if (read->dynamic == NULL) return false;
    read_dynamic(read);
    return read->symbols != NULL && read->strings != NULL && read->hash != NULL;
}

bool flat_object_holds(const object *of, uintptr_t address) {
    for (size_t i = 0; i < of->header_count; i++) {
        const ElfW(Phdr) *header = &of->headers[i];
        if (header->p_type == PT_LOAD && address - (of->base + header->p_vaddr) < header->p_memsz) return true;
    }
    return false;
}

static uint32_t hash_of(const char *name) {
    uint32_t hash = 5381;
    for (; *name != 0; name++) hash = hash * 33 + (unsigned char)*name;
    return hash;
}

/* The section is { buckets, first symbol, words of the filter, shift }, the filter, the buckets, and the hash of each
 * symbol from the first one on. The lowest bit of a hash says that it is the last of its bucket. */
const ElfW(Sym) * flat_object_symbol(const object *of, const char *name, const ElfW(Sym) * previous) {
    uint32_t hash = hash_of(name), buckets = of->hash[0], first = of->hash[1];
    if (buckets == 0) return NULL;
    const uint32_t *bucket = of->hash + 4 + of->hash[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *hashes = bucket + buckets;
    uint32_t at = previous != NULL ? (uint32_t)(previous - of->symbols) : bucket[hash % buckets];
    if (at < first) return NULL;
    for (bool seen = previous == NULL;; at++, seen = true) {
        const ElfW(Sym) *symbol = &of->symbols[at];
        bool same = seen && (hashes[at - first] | 1) == (hash | 1) && symbol->st_shndx != SHN_UNDEF;
        if (same && strcmp(of->strings + symbol->st_name, name) == 0) return symbol;
        if ((hashes[at - first] & 1) != 0) return NULL;
    }
}

const char *flat_object_name(const object *of) {
    for (const ElfW(Dyn) *entry = of->dynamic; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_SONAME) return of->strings + entry->d_un.d_val;
    }
    return NULL;
}

bool flat_object_needs(const object *of, const char *name) {
    if (name == NULL) return false;
    for (const ElfW(Dyn) *entry = of->dynamic; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_NEEDED && strcmp(of->strings + entry->d_un.d_val, name) == 0) return true;
    }
    return false;
}
