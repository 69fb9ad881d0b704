/* The programs and libraries that are loaded in the process, and what they define. It uses no handles of dlopen: it
 * finds what RTLD_LOCAL hides, allocates nothing, and needs no lock but that of dl_iterate_phdr. */
#ifndef FLATLINE_MALLOC_OBJECTS_H
#define FLATLINE_MALLOC_OBJECTS_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The tables of one object, as the dynamic linker reads them. */
typedef struct object {
    uintptr_t base; /* its addresses are relative to this */
    const ElfW(Phdr) * headers;
    size_t header_count;
    const ElfW(Dyn) * dynamic;
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *hash; /* DT_GNU_HASH: every object linked in the last fifteen years has it */
} object;

/* False: it has no such tables, like a statically linked program, or the kernel's own object. */
bool flat_object_read(object *read, const struct dl_phdr_info *info);

/* Whether the address lies in one of its segments. */
bool flat_object_holds(const object *of, uintptr_t address);

/* The symbol of that name which it defines; if there are several of different versions, the one after `previous`. NULL:
 * there is none, or no other one. */
const ElfW(Sym) * flat_object_symbol(const object *of, const char *name, const ElfW(Sym) * previous);

static inline uintptr_t flat_symbol_address(const object *of, const ElfW(Sym) * symbol) {
    return of->base + symbol->st_value;
}

/* The name by which other objects need it; NULL: it has none. */
const char *flat_object_name(const object *of);

/* Whether it needs the library of that name directly. */
bool flat_object_needs(const object *of, const char *name);

#endif
