#define _GNU_SOURCE
#include "c_library.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct search_for_libc {
    uintptr_t ours;
    bool ours_comes_first; /* of all objects that define malloc */
    bool has_libc;
    object libc;
} search_for_libc;

static bool is_libc(const object *here) {
    const char *name = flat_object_name(here);
    return name != NULL && strcmp(name, "libc.so.6") == 0;
}

/* The objects come in the order in which the dynamic linker searches them. */
static int look(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    search_for_libc *found = context;
    object here;
    if (!flat_object_read(&here, info) || flat_object_symbol(&here, "malloc", NULL) == NULL) return 0;
    if (!found->ours_comes_first && !flat_object_holds(&here, found->ours)) return 1;
    found->ours_comes_first = true;
    if (!is_libc(&here)) return 0;
    found->libc = here;
    found->has_libc = true;
    return 1;
}

/* The protection of the segment of the object that holds an address; -1: none does. */
static int protection_at(const object *of, uintptr_t address) {
    for (size_t i = 0; i < of->header_count; i++) {
        const ElfW(Phdr) *header = &of->headers[i];
        if (header->p_type != PT_LOAD || address - (of->base + header->p_vaddr) >= header->p_memsz) continue;
        return ((header->p_flags & PF_R) != 0 ? PROT_READ : 0) | ((header->p_flags & PF_W) != 0 ? PROT_WRITE : 0) |
               ((header->p_flags & PF_X) != 0 ? PROT_EXEC : 0);
    }
    return -1;
}

typedef struct range {
    uintptr_t first, end;
} range;

/* The whole pages that hold all symbols to be changed. */
static range symbols_to_change(const object *libc, const c_library_function *functions, size_t count) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    range all = {UINTPTR_MAX, 0};
    for (size_t i = 0; i < count; i++) {
        for (const ElfW(Sym) *symbol = NULL; (symbol = flat_object_symbol(libc, functions[i].name, symbol)) != NULL;) {
            if ((uintptr_t)symbol < all.first) all.first = (uintptr_t)symbol;
            if ((uintptr_t)(symbol + 1) > all.end) all.end = (uintptr_t)(symbol + 1);
        }
    }
    all.first &= ~(page - 1);
    all.end = (all.end + page - 1) & ~(page - 1);
    return all;
}

/* Another thread that searches meanwhile sees the old or the new value. A symbol that is chosen by a function of its
 * own is not one of malloc's. */
static void change_symbols(const object *libc, const c_library_function *functions, size_t count) {
    for (size_t i = 0; i < count; i++) {
        for (const ElfW(Sym) *symbol = NULL; (symbol = flat_object_symbol(libc, functions[i].name, symbol)) != NULL;) {
            if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC) continue;
            ElfW(Addr) *value = (ElfW(Addr) *)&symbol->st_value;
            __atomic_store_n(value, functions[i].address - libc->base, __ATOMIC_RELAXED);
        }
    }
}

bool flat_c_library_find(object *libc, uintptr_t ours) {
    search_for_libc found = {.ours = ours, .has_libc = false};
    (void)dl_iterate_phdr(look, &found);
    *libc = found.libc;
    return found.has_libc;
}

bool flat_c_library_has(const object *libc, const char *name, uintptr_t address) {
    for (const ElfW(Sym) *symbol = NULL; (symbol = flat_object_symbol(libc, name, symbol)) != NULL;)
        if (flat_symbol_address(libc, symbol) == address) return true;
    return false;
}

/* The table is changed only if it is mapped readable. In what linkers have made for twenty years, the only other
 * segment that can hold it is one that is also executable, and its pages must stay executable at every moment. */
bool flat_c_library_change(const object *libc, const c_library_function *functions, size_t count) {
    const range pages = symbols_to_change(libc, functions, count);
    if (pages.first >= pages.end) return true;
    const int as_before = protection_at(libc, pages.first);
    if (as_before <= 0 || protection_at(libc, pages.end - 1) != as_before ||
        mprotect((void *)pages.first, pages.end - pages.first, as_before | PROT_WRITE) != 0)
        return false;
    change_symbols(libc, functions, count);
    (void)mprotect((void *)pages.first, pages.end - pages.first, as_before);
    return true;
}
