/* Binds, populates and locks a region's body once it is mapped, and verifies its pages. */
#define _GNU_SOURCE
#include "region_settle.h"

#include "region_refusal.h"
#include "region_room.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_NODES 1024 /* the kernel's own limit on 64-bit processors */

/* Writes the bytes that are already there: a page that is only read stays the shared zero page. It writes by an
 * exchange, since another process may be using shared memory. */
static void touch(char *body, size_t size) {
    size_t page = flat_base_page();
    for (size_t at = 0; at < size; at += page) {
        char *byte = body + at;
        char content = __atomic_load_n(byte, __ATOMIC_RELAXED);
        (void)__atomic_compare_exchange_n(byte, &content, content, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
}

/* Makes the kernel populate every page at once. 0; EINVAL if it cannot (before Linux 5.14, a device's memory, a sandbox
 * that forbids it); else the error for what it is short of. */
static int bring_pages(char *body, const region_plan *plan) {
#ifdef MADV_POPULATE_WRITE
    if (madvise(body, plan->body, MADV_POPULATE_WRITE) == 0) return 0;
    return errno == EPERM || errno == ENOSYS || errno == EACCES ? EINVAL : errno;
#else
    (void)body, (void)plan;
    return EINVAL;
#endif
}

/* Reserves a file's room for the region: 0, or the error for what is missing. A file system that cannot reserve room
 * allocates it later. */
static int find_room(const region_plan *plan) {
    int error = flat_reserve_room(plan->descriptor, plan->offset, plan->size);
    bool missing =
        error == ENOSPC || error == EDQUOT || error == EFBIG || error == ENOMEM || error == EIO || error == EINTR;
    return missing ? error : 0;
}

/* Makes every page resident, or returns the error for what the system is short of. Touching a page that a file has no
 * room for would end the program. The kernel reports such a page as a bad address, so the file system is asked what is
 * missing. It is asked in any case, since an emulator may claim to populate pages and do nothing. */
static int populate(char *body, const region_plan *plan) {
    bool in_file = plan->from_file && plan->is_memory;
    int error = bring_pages(body, plan);
    if (in_file && (error == 0 || error == EFAULT || error == EINVAL)) {
        int missing = find_room(plan);
        if (missing != 0) return missing;
        if (error == EFAULT) error = bring_pages(body, plan);
    }
    return error == EINVAL ? 0 : error;
}

/* Makes every page resident, writable and written. An emulator may report success and do nothing, so the pages are
 * touched in any case. A device's pages are not touched: they are as resident as its driver made them. */
static flat_status make_resident(char *body, const region_plan *plan) {
    int error = populate(body, plan);
    if (error == EFAULT && plan->from_file)
        return flat_refuse(plan->options, FLAT_OUT_OF_MEMORY,
                           "the system cannot make %zu bytes resident: the file has no room for them, or was cut",
                           plan->body);
    if (error == ENOSPC || error == EDQUOT || error == EFBIG)
        return flat_refuse_call(plan->options, "making the region resident", error);
    if (error != 0)
        return flat_refuse(plan->options, FLAT_OUT_OF_MEMORY, "the system cannot make %zu bytes resident: %s",
                           plan->body, flat_error_text(error));
    if (plan->is_memory) touch(body, plan->body);
    return FLAT_OK;
}

/* Huge pages are requested only while a body is made resident. Pages granted then stay as they are. The kernel does not
 * collapse the others later, which would stop the program for that time. If the kernel has no huge pages, it refuses
 * the advice, and base pages are used; if a sandbox refuses it, the system's setting applies. */
static flat_status fill(char *body, const region_plan *plan) {
    bool huge = plan->pages == FLAT_PAGES_TRANSPARENT && plan->body >= HUGE_PAGE;
    if (huge) (void)madvise(body, plan->body, MADV_HUGEPAGE);
    if (plan->pages == FLAT_PAGES_SMALL) (void)madvise(body, plan->body, MADV_NOHUGEPAGE);
    if (plan->options->lazy) return FLAT_OK;
    flat_status status = make_resident(body, plan);
    if (plan->pages != FLAT_PAGES_EXPLICIT) (void)madvise(body, plan->body, MADV_NOHUGEPAGE);
    return status;
}

/* The nodes that have memory, in the kernel's format ("0-1,4"). */
static const char *nodes_with_memory(char *text, size_t size) {
    int file = open("/sys/devices/system/node/has_memory", O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? 0 : read(file, text, size - 1);
    if (file >= 0) (void)close(file);
    text[length > 0 ? length : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return text[0] != '\0' ? text : "not told";
}

flat_status flat_bind(char *body, size_t size, const flat_region_options *options) {
    unsigned long nodes[MOST_NODES / (8 * sizeof(unsigned long))] = {0};
    const size_t bits = 8 * sizeof *nodes;
    char text[128];
    errno = EINVAL;
    if (options->node < MOST_NODES) {
        nodes[options->node / bits] = 1ul << options->node % bits;
        /* The kernel reads one bit less than the number that it gets. */
        if (syscall(SYS_mbind, body, size, MPOL_BIND, nodes, MOST_NODES + 1ul, MPOL_MF_STRICT | MPOL_MF_MOVE) == 0)
            return FLAT_OK;
    }
    if (errno == EINVAL)
        return flat_refuse(options, FLAT_UNAVAILABLE,
                           "NUMA node %u does not exist, has no memory, or is not this process's to use; nodes with "
                           "memory: %s",
                           options->node, nodes_with_memory(text, sizeof text));
    if (errno == EIO)
        return flat_refuse(options, FLAT_UNAVAILABLE,
                           "pages of the region lie on another NUMA node than %u already and cannot be moved",
                           options->node);
    return flat_refuse_call(options, "choosing a NUMA node (mbind)", errno);
}

flat_status flat_lock(char *body, size_t size, const flat_region_options *options) {
    if (mlock2(body, size, options->lazy ? MLOCK_ONFAULT : 0) == 0) return FLAT_OK;
    int error = errno;
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY}; /* used if the limits cannot be read */
    char soft[32], hard[32] = "unlimited";
    (void)getrlimit(RLIMIT_MEMLOCK, &limit);
    if (error != EPERM && (error != ENOMEM || limit.rlim_cur == RLIM_INFINITY))
        return flat_refuse_call(options, "locking the region (mlock)", error);
    if (limit.rlim_max != RLIM_INFINITY)
        (void)snprintf(hard, sizeof hard, "%llu bytes", (unsigned long long)limit.rlim_max);
    return flat_refuse(
        options, FLAT_NOT_PERMITTED,
        "locking %zu bytes exceeds RLIMIT_MEMLOCK (%s, hard limit %s, for all that the process locks): raise "
        "it (ulimit -l, LimitMEMLOCK= in systemd, memlock in limits.conf) or give the program CAP_IPC_LOCK",
        size, flat_limit_text(RLIMIT_MEMLOCK, soft, sizeof soft), hard);
}

/* Compares the kernel's report on the body's pages with the required ones. */
static flat_status verify(char *body, const region_plan *plan) {
    const flat_region all = {.start = body, .size = plan->body};
    flat_region_facts facts;
    if (flat_region_report(&all, &facts) != FLAT_OK)
        return flat_refuse(plan->options, FLAT_UNAVAILABLE,
                           "/proc/self/smaps does not tell what pages the region lies on, so that they cannot be "
                           "required");
    if (facts.page_size > flat_base_page()) return FLAT_OK;
    if (plan->required == FLAT_PAGES_EXPLICIT)
        return flat_refuse(plan->options, FLAT_UNAVAILABLE, "the file does not lie on explicit huge pages");
    if (facts.huge == facts.bytes) return FLAT_OK;
    return flat_refuse(plan->options, FLAT_UNAVAILABLE,
                       "%zu of %zu bytes lie on transparent huge pages: the kernel found no more memory in one piece, "
                       "or /sys/kernel/mm/transparent_hugepage/enabled (of shared memory: shmem_enabled) forbids them",
                       facts.huge, facts.bytes);
}

flat_status flat_settle(char *body, const region_plan *plan) {
    const flat_region_options *options = plan->options;
    flat_status status = options->bound ? flat_bind(body, plan->body, options) : FLAT_OK;
    if (status == FLAT_OK) status = fill(body, plan);
    if (status == FLAT_OK && options->locked && plan->pages != FLAT_PAGES_EXPLICIT)
        status = flat_lock(body, plan->body, options);
    if (status == FLAT_OK && plan->required > FLAT_PAGES_SMALL) status = verify(body, plan);
    return status;
}
