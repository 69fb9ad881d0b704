/* What is done to a region's body once it is mapped, and what is then verified. */
#define _GNU_SOURCE
#include "region.h"

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

/* Writes what is there already: a page that is only read stays the common page of zeroes. By an exchange, since another
 * process may be at work in memory that it shares. */
static void touch(char *body, size_t size) {
    size_t page = flat_base_page();
    for (size_t at = 0; at < size; at += page) {
        char *byte = body + at;
        char content = __atomic_load_n(byte, __ATOMIC_RELAXED);
        (void)__atomic_compare_exchange_n(byte, &content, content, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
}

/* Whether the kernel has brought every page, or this could not be done (before Linux 5.14, or a device's memory). */
static bool populate(char *body, const region_plan *plan) {
#ifdef MADV_POPULATE_WRITE
    if (madvise(body, plan->body, MADV_POPULATE_WRITE) == 0) return true;
    if (errno != EINVAL) return false;
#endif
    /* Touching a page that a file has no room for would end the program. */
    if (!plan->from_file || !plan->is_memory) return true;
    if (fallocate(plan->descriptor, 0, (off_t)plan->offset, (off_t)plan->size) == 0) return true;
    return errno == EOPNOTSUPP; /* such a file system finds room when it must */
}

/* Every page there, writable and written. An emulator may answer yes and do nothing, so they are touched in any case. A
 * device's pages are not: they are as resident as its driver made them. */
static flat_status make_resident(char *body, const region_plan *plan) {
    if (!populate(body, plan))
        return flat_refuse(plan->options, FLAT_OUT_OF_MEMORY, "the system cannot make %zu bytes resident: %s",
                           plan->body, flat_error_text(errno));
    if (plan->is_memory) touch(body, plan->body);
    return FLAT_OK;
}

/* Huge pages are asked for only while a body is made resident: pages granted then stay as they are, and the kernel does
 * not collapse the others later, which would stop the program for the time it takes. Where the kernel has none the
 * advice is refused, and base pages serve. */
static flat_status fill(char *body, const region_plan *plan) {
    bool huge = plan->pages == FLAT_PAGES_TRANSPARENT && plan->body >= HUGE_PAGE;
    if (huge) (void)madvise(body, plan->body, MADV_HUGEPAGE);
    if (plan->pages == FLAT_PAGES_SMALL) (void)madvise(body, plan->body, MADV_NOHUGEPAGE);
    if (plan->options->lazy) return FLAT_OK;
    flat_status status = make_resident(body, plan);
    if (plan->pages != FLAT_PAGES_EXPLICIT) (void)madvise(body, plan->body, MADV_NOHUGEPAGE);
    return status;
}

/* The nodes that have memory, as the kernel lists them ("0-1,4"). */
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
        /* The kernel takes one bit less than it is told of. */
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

/* The limit in words. */
static const char *bytes_or_none(rlim_t limit, char *text, size_t size) {
    if (limit == RLIM_INFINITY) return "unlimited";
    (void)snprintf(text, size, "%llu bytes", (unsigned long long)limit);
    return text;
}

flat_status flat_lock(char *body, size_t size, const flat_region_options *options) {
    if (mlock2(body, size, options->lazy ? MLOCK_ONFAULT : 0) == 0) return FLAT_OK;
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    char soft[32], hard[32];
    int error = errno;
    (void)getrlimit(RLIMIT_MEMLOCK, &limit);
    if (error != EPERM && (error != ENOMEM || limit.rlim_cur == RLIM_INFINITY))
        return flat_refuse_call(options, "locking the region (mlock)", error);
    return flat_refuse(
        options, FLAT_NOT_PERMITTED,
        "locking %zu bytes exceeds RLIMIT_MEMLOCK (%s, hard limit %s, for all that the process locks): raise "
        "it (ulimit -l, LimitMEMLOCK= in systemd, memlock in limits.conf) or give the program CAP_IPC_LOCK",
        size, bytes_or_none(limit.rlim_cur, soft, sizeof soft), bytes_or_none(limit.rlim_max, hard, sizeof hard));
}

/* What the kernel says of the body's pages, against what was required of them. */
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
