/* A body of memory between two guard pages. */
#define _GNU_SOURCE
#include "region_map.h"

#include "region_refusal.h"
#include "region_settle.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/types.h>

/* Maps the planned memory at `body`, which is reserved for it. Small and transparent pages of private memory are
 * already mapped and need only be made accessible. */
static bool open_body(char *body, const region_plan *plan) {
    int access = PROT_READ | PROT_WRITE;
    if (plan->from_file) {
        void *at = mmap(body, plan->body, access, MAP_SHARED | MAP_FIXED, plan->descriptor, (off_t)plan->offset);
        return at != MAP_FAILED;
    }
    if (plan->pages != FLAT_PAGES_EXPLICIT) return mprotect(body, plan->body, access) == 0;
    /* Without MAP_NORESERVE: the pages are reserved here, and none is missing at the first access. */
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_HUGETLB | HUGE_PAGE_LOG << MAP_HUGE_SHIFT;
    return mmap(body, plan->body, access, flags, -1, 0) != MAP_FAILED;
}

/* Refuses because address space, or access to the reserved addresses, was not available. */
static flat_status refuse_space(const region_plan *plan, int error) {
    char space[32], data[32], locked[32];
    if (error == ENOMEM)
        return flat_refuse(plan->options, FLAT_OUT_OF_MEMORY,
                           "the system has no %zu bytes of address space or memory (RLIMIT_AS: %s, RLIMIT_DATA: %s)",
                           plan->body, flat_limit_text(RLIMIT_AS, space, sizeof space),
                           flat_limit_text(RLIMIT_DATA, data, sizeof data));
    if (error == EAGAIN)
        return flat_refuse(
            plan->options, FLAT_NOT_PERMITTED,
            "the process locks all its memory (mlockall), and %zu bytes more exceed RLIMIT_MEMLOCK (%s): "
            "raise it (ulimit -l) or give the program CAP_IPC_LOCK",
            plan->body, flat_limit_text(RLIMIT_MEMLOCK, locked, sizeof locked));
    return flat_refuse_call(plan->options, "mapping the region", error);
}

static flat_status refuse_body(const region_plan *plan, int error) {
    if (plan->pages == FLAT_PAGES_EXPLICIT)
        return flat_refuse(plan->options, FLAT_UNAVAILABLE,
                           "no explicit huge pages for %zu bytes are free (%s): as root, raise "
                           "/proc/sys/vm/nr_hugepages; it counts pages of 2 MiB",
                           plan->body, flat_error_text(error));
    if (error == EACCES)
        return flat_refuse(plan->options, FLAT_NOT_PERMITTED, "the file is not open for both reading and writing");
    return refuse_space(plan, error);
}

/* A process at its limit of mappings cannot unmap the guards if the kernel has merged them with a neighbouring mapping.
 * The body is a separate mapping, which can always be unmapped; the guards take only addresses. */
void flat_unmap_region(char *mapping, size_t mapping_size, char *body, size_t body_size) {
    if (munmap(mapping, mapping_size) != 0) (void)munmap(body, body_size);
}

flat_status flat_map_plan(flat_region *region, const region_plan *plan) {
    size_t page = flat_base_page();
    /* Room to place the body's end at a multiple of `alignment`, and its start at a multiple of a huge page if it
     * contains one. */
    size_t grain = plan->body >= HUGE_PAGE ? HUGE_PAGE : page;
    if (plan->alignment > grain) grain = plan->alignment;
    size_t mapping_size = plan->body + grain + 2 * page;
    char *mapping = mmap(NULL, mapping_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) return refuse_space(plan, errno);
    char *body = (char *)flat_round_up((uintptr_t)mapping + page, grain);
    flat_status status = open_body(body, plan) ? flat_settle(body, plan) : refuse_body(plan, errno);
    if (status != FLAT_OK) {
        flat_unmap_region(mapping, mapping_size, body, plan->body);
        return status;
    }
    const flat_region_options *options = plan->options;
    size_t slack = plan->from_file ? 0 : plan->body - flat_round_up(plan->size, plan->alignment);
    *region = (flat_region){.start = body + slack,
                            .size = plan->size,
                            .mapping = mapping,
                            .mapping_size = mapping_size,
                            .descriptor = -1,
                            .shared = plan->from_file,
                            .can_trim = options->lazy && !options->locked && plan->pages != FLAT_PAGES_EXPLICIT};
    if (options->message != NULL && options->message_size > 0) options->message[0] = '\0';
    return FLAT_OK;
}
