/* Memory that several processes can map: without a name, by name, or in a file that the caller has opened. */
#define _GNU_SOURCE
#include "region_file.h"

#include "region_map.h"
#include "region_refusal.h"
#include "region_room.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static const flat_region_options defaults = {0};

flat_status flat_judge_name(const char *name, const flat_region_options *options) {
    size_t length = name != NULL && name[0] == '/' ? strlen(name + 1) : 0;
    if (length > 0 && length < 255 && strchr(name + 1, '/') == NULL) return FLAT_OK;
    return flat_refuse(options, FLAT_INVALID_ARGUMENT,
                       "a name is \"/\" and 1 to 254 further characters, none of them \"/\"");
}

flat_status flat_make_memory_file(region_plan *plan) {
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    if (plan->pages == FLAT_PAGES_EXPLICIT)
        flags |= MFD_HUGETLB | (unsigned)HUGE_PAGE_LOG << MAP_HUGE_SHIFT; /* as in mmap */
    int file = memfd_create("flatline-region", flags);
    if (file < 0) return flat_refuse_call(plan->options, "making a memory file (memfd_create)", errno);
    int error = flat_set_file_size(file, plan->file_size);
    if (error == 0 && fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) error = errno;
    if (error != 0) {
        (void)close(file);
        return flat_refuse_call(plan->options, "sizing a memory file", error);
    }
    plan->descriptor = file;
    return FLAT_OK;
}

flat_status flat_make_named_file(region_plan *plan) {
    const char *name = plan->options->name;
    int file = shm_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (file < 0 && errno == EEXIST)
        return flat_refuse(plan->options, FLAT_UNAVAILABLE,
                           "the name %s is taken, by a program that runs or by one that left it behind: "
                           "flat_region_unlink frees it",
                           name);
    if (file < 0) return flat_refuse_call(plan->options, "making shared memory of that name (shm_open)", errno);
    int error = flat_set_file_size(file, plan->file_size);
    if (error != 0) {
        (void)close(file);
        (void)shm_unlink(name);
        return flat_refuse_call(plan->options, "sizing the shared memory", error);
    }
    plan->descriptor = file;
    return FLAT_OK;
}

flat_status flat_region_unlink(const char *name) {
    if (flat_judge_name(name, NULL) != FLAT_OK) return FLAT_INVALID_ARGUMENT;
    if (shm_unlink(name) == 0) return FLAT_OK;
    return errno == EACCES || errno == EPERM || errno == EROFS ? FLAT_NOT_PERMITTED : FLAT_UNAVAILABLE;
}

/* Reads the file's kind, its size, and the size of its pages. */
static flat_status look_at(region_plan *plan) {
    const flat_region_options *options = plan->options;
    struct stat file;
    struct statfs system;
    if (fstat(plan->descriptor, &file) != 0) {
        if (errno != EBADF) return flat_refuse_call(options, "looking at the file (fstat)", errno);
        return flat_refuse(options, FLAT_INVALID_ARGUMENT, "descriptor %d is not open", plan->descriptor);
    }
    plan->is_memory = S_ISREG(file.st_mode);
    size_t page = flat_base_page();
    if (plan->pages == FLAT_PAGES_EXPLICIT) plan->pages = FLAT_PAGES_TRANSPARENT; /* the file decides, see below */
    /* A file system that does not report its type is not the one of explicit huge pages. */
    if (fstatfs(plan->descriptor, &system) == 0 && system.f_type == HUGETLBFS_MAGIC) {
        plan->pages = FLAT_PAGES_EXPLICIT;
        page = (size_t)system.f_bsize;
        plan->alignment = page;
    }
    if (plan->offset % page != 0)
        return flat_refuse(options, FLAT_INVALID_ARGUMENT, "offset %llu is not a multiple of the page, %zu bytes",
                           (unsigned long long)plan->offset, page);
    if (plan->is_memory) {
        uint64_t end = (uint64_t)file.st_size, left = plan->offset < end ? end - plan->offset : 0;
        if (plan->size == 0) plan->size = (size_t)left;
        if (plan->size == 0 || plan->size > left)
            return flat_refuse(options, FLAT_INVALID_ARGUMENT, "the file has %llu bytes from offset %llu on",
                               (unsigned long long)left, (unsigned long long)plan->offset);
    }
    if (plan->size == 0)
        return flat_refuse(options, FLAT_INVALID_ARGUMENT, "a device does not tell its size: name the size");
    if (plan->size > PTRDIFF_MAX / 2 || plan->offset > INT64_MAX - (uint64_t)PTRDIFF_MAX / 2)
        return flat_refuse(options, FLAT_INVALID_ARGUMENT, "size or offset is above PTRDIFF_MAX / 2");
    plan->body = flat_round_up(plan->size, page);
    return FLAT_OK;
}

flat_status flat_region_map(flat_region *region, int descriptor, uint64_t offset, size_t size,
                            const flat_region_options *options) {
    if (options == NULL) options = &defaults;
    if (region == NULL) return flat_refuse(options, FLAT_INVALID_ARGUMENT, "no region to describe the memory in");
    if (options->shared || options->name != NULL)
        return flat_refuse(options, FLAT_INVALID_ARGUMENT, "shared and name are for new memory, not for an open file");
    region_plan plan = {.size = size,
                        .alignment = 1,
                        .from_file = true,
                        .descriptor = descriptor,
                        .offset = offset,
                        .options = options};
    flat_status status = flat_choose_pages(options, &plan.pages, &plan.required);
    if (status == FLAT_OK) status = look_at(&plan);
    if (status == FLAT_OK) status = flat_map_plan(region, &plan);
    if (status == FLAT_OK) region->can_trim = false; /* the content of the file is not ours to discard */
    return status;
}

flat_status flat_region_open(flat_region *region, const char *name, const flat_region_options *options) {
    if (region == NULL) return flat_refuse(options, FLAT_INVALID_ARGUMENT, "no region to describe the memory in");
    flat_status status = flat_judge_name(name, options);
    if (status != FLAT_OK) return status;
    int file = shm_open(name, O_RDWR | O_CLOEXEC, 0);
    if (file < 0 && errno == ENOENT)
        return flat_refuse(options, FLAT_UNAVAILABLE, "there is no shared memory of the name %s", name);
    if (file < 0) return flat_refuse_call(options, "opening the shared memory (shm_open)", errno);
    struct stat made;
    if (fstat(file, &made) != 0)
        status = flat_refuse_call(options, "looking at the shared memory (fstat)", errno);
    else if (made.st_size == 0)
        status = flat_refuse(options, FLAT_UNAVAILABLE, "the shared memory %s has no size yet: try again", name);
    if (status == FLAT_OK) status = flat_region_map(region, file, 0, 0, options);
    (void)close(file);
    return status;
}
