/* Gives the process its own copies of its code and constants.
 *
 * All processes that run a file share its pages. Where these pages lie in memory decides which other cache lines they
 * compete with, including those of a neighbour on the same core, which a virtual machine cannot see. So one file may be
 * slower than an equal copy of it (docs/experiments/pool.md), and an A/A pair, which runs one file, cannot show it.
 * Here each process gets pages of its own, newly placed, so that the effect is chance and not bias. */
#define _GNU_SOURCE
#include "driver.h"

#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

/* A write to a page of a private file mapping gives the process a copy. So each page is written with its own
 * content. */
static bool copy_pages(char *start, const char *end, size_t page, int rights) {
    if (mprotect(start, (size_t)(end - start), rights | PROT_WRITE) != 0) return false;
    for (volatile char *at = start; at < end; at += page) *at = *at;
    __builtin___clear_cache(start, (char *)(uintptr_t)end);
    return mprotect(start, (size_t)(end - start), rights) == 0;
}

static int copy_object(struct dl_phdr_info *object, size_t size, void *all) {
    (void)size;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W) != 0) continue;
        uintptr_t start = object->dlpi_addr + segment->p_vaddr, end = start + segment->p_memsz;
        if (start <= getauxval(AT_SYSINFO_EHDR) && getauxval(AT_SYSINFO_EHDR) < end) continue; /* the vDSO */
        start &= ~(uintptr_t)(page - 1);
        end = (end + page - 1) & ~(uintptr_t)(page - 1);
        int rights = PROT_READ | ((segment->p_flags & PF_X) != 0 ? PROT_EXEC : 0);
        if (!copy_pages((char *)start, (char *)end, page, rights)) *(bool *)all = false;
    }
    return 0;
}

bool draw_code(void) {
    bool all = true;
    (void)dl_iterate_phdr(copy_object, &all);
    return all;
}
