#define _GNU_SOURCE
#include "misuse.h"

#include "large.h"
#include "objects.h"
#include "say.h"
#include "settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The offset of the small block of the page in which an offset lies. SIZE_MAX: it lies in none. */
static uintptr_t small_block_at(uintptr_t offset, size_t class) {
    const size_class *of = &flat_size_classes[class];
    uintptr_t span = (uintptr_t)flat_space.pages[offset >> PAGE_SHIFT].head << PAGE_SHIFT;
    size_t index = (offset - span) / of->size;
    return index < of->capacity ? span + index * of->size : UINTPTR_MAX;
}

/* The first page of the block above SMALL_MAX that could contain the page: the nearest live one before it; 0: none. */
static uint32_t large_block_before(uint32_t page) {
    uint32_t word = page / 64;
    uint64_t bits = large_starts(word) & UINT64_MAX >> (63 - page % 64);
    while (bits == 0 && word != 0) bits = large_starts(--word);
    return bits != 0 ? word * 64 + 63 - (uint32_t)__builtin_clzll(bits) : 0;
}

/* The start of the block above SMALL_MAX in which the offset lies; SIZE_MAX: it lies in none. */
static uintptr_t large_block_at(uintptr_t offset) {
    uint32_t page = large_block_before((uint32_t)(offset >> PAGE_SHIFT));
    uintptr_t start = (uintptr_t)page << PAGE_SHIFT;
    return is_large_live(page) && offset - start < large_bytes(page) ? start : UINTPTR_MAX;
}

static flat_status judge_inside(uintptr_t offset, size_t class) {
    uintptr_t start = class != 0 ? small_block_at(offset, class) : large_block_at(offset);
    if (start == UINTPTR_MAX) return class != 0 ? FLAT_FOREIGN_POINTER : FLAT_DOUBLE_FREE;
    bool live = is_block_live(start / GRANULE);
    return live && start != offset ? FLAT_INTERIOR_POINTER : FLAT_DOUBLE_FREE;
}

flat_status flat_judge(const void *address) {
    uintptr_t offset = offset_of(address);
    if (offset / GRANULE >= usable_granules()) return FLAT_FOREIGN_POINTER;
    return judge_inside(offset, class_of_tag(tag_of(offset >> PAGE_SHIFT)));
}

/* The size of the small block that holds or held the address; 0: there is none, or it was not small. */
static size_t small_size_at(const void *address) {
    uintptr_t offset = offset_of(address);
    if (offset / GRANULE >= usable_granules()) return 0;
    return flat_size_classes[class_of_tag(tag_of(offset >> PAGE_SHIFT))].size;
}

/* A caller that frees the block has freed it before, if there was one; a caller that asks for anything else still uses
 * it. */
static bool is_free(const char *function) { return strcmp(function, "free") == 0; }

static const char *said_of(const char *function, flat_status why) {
    if (why == FLAT_DOUBLE_FREE && !is_free(function)) return "use after free: no block is live there";
    if (why == FLAT_DOUBLE_FREE) return "double free: no block is live there";
    if (why == FLAT_INTERIOR_POINTER) return "interior pointer: a live block starts before it";
    return "foreign pointer: no block of this malloc can lie there";
}

typedef struct place {
    uintptr_t address;
    const char *file;
    uintptr_t offset; /* for addr2line */
} place;

static int find_place(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    place *of = context;
    object here;
    (void)flat_object_read(&here, info);
    if (!flat_object_holds(&here, of->address)) return 0;
    of->file = info->dlpi_name != NULL && *info->dlpi_name != 0 ? info->dlpi_name : program_invocation_name;
    if (*of->file == 0) of->file = "the program"; /* it has not begun yet */
    of->offset = of->address - here.base;
    return 1;
}

/* ", called from FILE+0x12", as addr2line -e FILE needs it. It does not use dladdr, which waits for libraries that are
 * being opened, and those may wait for this thread. */
static void describe_caller(const void *caller, char *text, size_t room) {
    place of = {.address = (uintptr_t)caller};
    *text = 0;
    if (caller == NULL || dl_iterate_phdr(find_place, &of) == 0 || of.file == NULL) return;
    (void)snprintf(text, room, ", called from %.120s+0x%zx", of.file, (size_t)of.offset);
}

static bool only_reports(void) {
    const char *asked = flat_setting("FLATLINE_MISUSE");
    return asked != NULL && strcmp(asked, "report") == 0;
}

void flat_misuse(const char *function, const void *address, flat_status why, const void *caller) {
    int error = errno;
    char block[40] = "", from[160], line[400];
    size_t size = why == FLAT_FOREIGN_POINTER ? 0 : small_size_at(address);
    if (size != 0) (void)snprintf(block, sizeof block, " (blocks of %zu bytes)", size);
    describe_caller(caller, from, sizeof from);
    int length = snprintf(line, sizeof line, "flatline-malloc: %s(%p)%s: %s%s\n", function, address, block,
                          said_of(function, why), from);
    flat_say(line, (size_t)length);
    if (!only_reports()) abort();
    errno = error;
}
