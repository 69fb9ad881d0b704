#define _GNU_SOURCE
#include "page_guard.h"

#include "region_plan.h"
#include "region_room.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool flat_guard_page(void *page) {
    size_t size = flat_base_page();
    return mmap(page, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED;
}

/* Maps the file elsewhere, fills it, and then moves it over the pages, so that nothing is lost where a step fails. */
static bool move_over(int file, void *start, size_t size, bool locked) {
    void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
    if (mapped == MAP_FAILED) return false;
    memcpy(mapped, start, size);
    bool fits = !locked || mlock(mapped, size) == 0;
    if (fits && mremap(mapped, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, start) != MAP_FAILED) return true;
    (void)munmap(mapped, size);
    return false;
}

int flat_show_pages(void *start, size_t size, const char *name, bool locked) {
    int file = memfd_create(name, MFD_CLOEXEC);
    if (file < 0) return -1;
    if (flat_set_file_size(file, size) == 0 && flat_reserve_room(file, 0, size) == 0 &&
        move_over(file, start, size, locked)) {
        return file;
    }
    (void)close(file); /* nothing is in it */
    return -1;
}
