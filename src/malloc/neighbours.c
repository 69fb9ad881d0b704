/* If one malloc frees a block of another, the program ends, or worse. Callers of malloc by name get this one, because
 * it comes first in the dynamic linker's search. Two searches begin elsewhere and end at the C library's malloc: that
 * of a library opened with RTLD_DEEPBIND, as php opens its extensions, and dlsym() in the C library itself, as Python's
 * ctypes calls it. So the C library's symbol table, in this process's memory, is changed: for each function of malloc
 * it says where this library has it. This is done in one piece or not at all, at the start, and only if this malloc is
 * the program's: not if it is opened late, next to another. */
#define _GNU_SOURCE
#include "neighbours.h"

#include "objects.h"
#include "runs.h"

#include <flatline/status.h>

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

FLAT_API void *__libc_malloc(size_t size) { return malloc(size); }
FLAT_API void *__libc_calloc(size_t count, size_t size) { return calloc(count, size); }
FLAT_API void *__libc_realloc(void *block, size_t size) { return realloc(block, size); }
FLAT_API void *__libc_memalign(size_t alignment, size_t size) { return memalign(alignment, size); }
FLAT_API void *__libc_valloc(size_t size) { return valloc(size); }
FLAT_API void *__libc_pvalloc(size_t size) { return pvalloc(size); }
FLAT_API void __libc_free(void *block) { free(block); }

/* All that glibc's malloc exports. Names that a glibc lacks are skipped. Old programs know free by another name as
 * well, which must not be exported here: libraries have functions of their own with that name. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* mallinfo, which programs call nevertheless */
#define BY_NAME(name, function) {name, (uintptr_t)&function}
#define FUNCTION(name) BY_NAME(#name, name)
static const struct {
    const char *name;
    uintptr_t address;
} functions[] = {FUNCTION(malloc),
                 FUNCTION(free),
                 FUNCTION(calloc),
                 FUNCTION(realloc),
                 FUNCTION(reallocarray),
                 FUNCTION(memalign),
                 FUNCTION(aligned_alloc),
                 FUNCTION(posix_memalign),
                 FUNCTION(valloc),
                 FUNCTION(pvalloc),
                 BY_NAME("cfree", free),
                 FUNCTION(malloc_usable_size),
                 FUNCTION(malloc_trim),
                 FUNCTION(mallinfo),
                 FUNCTION(mallinfo2),
                 FUNCTION(malloc_info),
                 FUNCTION(malloc_stats),
                 FUNCTION(mallopt),
                 FUNCTION(__libc_malloc),
                 FUNCTION(__libc_free),
                 FUNCTION(__libc_calloc),
                 FUNCTION(__libc_realloc),
                 FUNCTION(__libc_memalign),
                 FUNCTION(__libc_valloc),
                 FUNCTION(__libc_pvalloc),
                 BY_NAME("__libc_reallocarray", reallocarray),
                 BY_NAME("__libc_mallinfo", mallinfo),
                 BY_NAME("__libc_mallopt", mallopt)};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

typedef struct neighbourhood {
    bool ours_comes_first; /* of all objects that define malloc */
    bool has_libc;
    object libc;
} neighbourhood;

static bool is_libc(const object *here) {
    const char *name = flat_object_name(here);
    return name != NULL && strcmp(name, "libc.so.6") == 0;
}

/* The objects come in the order in which the dynamic linker searches them. */
static int look(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    neighbourhood *found = context;
    object here;
    if (!flat_object_read(&here, info) || flat_object_symbol(&here, "malloc", NULL) == NULL) return 0;
    if (!found->ours_comes_first && !flat_object_holds(&here, (uintptr_t)&look)) return 1;
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
static range symbols_to_change(const object *libc) {
    range all = {UINTPTR_MAX, 0};
    for (size_t i = 0; i < FUNCTIONS; i++) {
        for (const ElfW(Sym) *symbol = NULL; (symbol = flat_object_symbol(libc, functions[i].name, symbol)) != NULL;) {
            if ((uintptr_t)symbol < all.first) all.first = (uintptr_t)symbol;
            if ((uintptr_t)(symbol + 1) > all.end) all.end = (uintptr_t)(symbol + 1);
        }
    }
    all.first &= ~(PAGE - 1);
    all.end = (all.end + PAGE - 1) & ~(PAGE - 1);
    return all;
}

/* Another thread that searches meanwhile sees the old or the new value. A symbol that is chosen by a function of its
 * own is not one of malloc's. */
static void change_symbols(const object *libc) {
    for (size_t i = 0; i < FUNCTIONS; i++) {
        for (const ElfW(Sym) *symbol = NULL; (symbol = flat_object_symbol(libc, functions[i].name, symbol)) != NULL;) {
            if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC) continue;
            ElfW(Addr) *value = (ElfW(Addr) *)&symbol->st_value;
            __atomic_store_n(value, functions[i].address - libc->base, __ATOMIC_RELAXED);
        }
    }
}

/* If the system refuses, everything stays as it is. The table is changed only if it is mapped readable. In what linkers
 * have made for twenty years, the only other segment that can hold it is one that is also executable, and its pages
 * must stay executable at every moment. */
__attribute__((constructor)) void flat_redirect_c_library(void) {
    int error = errno;
    neighbourhood found = {.has_libc = false};
    (void)dl_iterate_phdr(look, &found);
    if (found.has_libc) {
        range pages = symbols_to_change(&found.libc);
        int as_before = protection_at(&found.libc, pages.first);
        bool same = pages.first < pages.end && protection_at(&found.libc, pages.end - 1) == as_before;
        if (same && as_before > 0 &&
            mprotect((void *)pages.first, pages.end - pages.first, as_before | PROT_WRITE) == 0) {
            change_symbols(&found.libc);
            (void)mprotect((void *)pages.first, pages.end - pages.first, as_before);
        }
    }
    errno = error;
}
