/* A block of one malloc that another frees is the end of the program, or worse. Who calls malloc by its name gets this
 * one, since it comes first in the search that the dynamic linker makes. Two searches begin elsewhere and end at the C
 * library's: that of a library opened with RTLD_DEEPBIND, as php opens its extensions, and dlsym() in the C library
 * itself, as Python's ctypes asks. So the C library's table of symbols, in this process's memory, says of each function
 * of malloc's where this library has it. It is done in one piece or not at all, at the start, and only where the
 * program has this malloc: not where somebody opens it late, beside another. */
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

/* All that glibc's malloc exports: what it has not is passed over. Old programs know free by another name as well,
 * which is not to be given to anybody else here: libraries have functions of their own that are called so. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* mallinfo, which programs call all the same */
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

/* What the segment that holds an address of the object is mapped for; -1: none. */
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

/* Of all symbols that are to be changed: whole pages. */
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

/* Another thread that searches meanwhile sees the one or the other. A symbol that is chosen by a function of its own is
 * none of malloc's. */
static void change_symbols(const object *libc) {
    for (size_t i = 0; i < FUNCTIONS; i++) {
        for (const ElfW(Sym) *symbol = NULL; (symbol = flat_object_symbol(libc, functions[i].name, symbol)) != NULL;) {
            if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC) continue;
            ElfW(Addr) *value = (ElfW(Addr) *)&symbol->st_value;
            __atomic_store_n(value, functions[i].address - libc->base, __ATOMIC_RELAXED);
        }
    }
}

/* Where the system refuses, everything stays as it is. Only a table that is mapped to be read is changed; no other
 * segment holds it in what linkers have made for twenty years but one that is executable as well, and then its pages
 * must not stop being that even for a moment. */
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
