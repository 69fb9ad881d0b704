/* Regions: memory from an operating system, and the properties that it really has.
 *
 *     [ guard | ......... slack | start: size bytes | slack < alignment | guard ]      private memory
 *     [ guard | start: size bytes | slack ...................... | guard ]             shared memory and files
 *
 * A mapped region is between two guard pages: a write that runs off either end of the mapping stops the program instead
 * of reaching a neighbour. In private memory `start` is as close to the upper guard as its alignment allows; if `size`
 * is a multiple of `alignment`, the guard begins right after the region. Shared memory begins where its file does, so
 * that every process counts offsets from the same byte.
 *
 * A region can also be memory that the caller already has: an array, a DMA buffer (`flat_region_from_memory`).
 *
 * You may not get what you ask for: huge pages may be missing, a limit may be too low. `flat_region_report` reads the
 * actual state of a region from the kernel.
 *
 * All functions here make system calls, except `flat_region_from_memory` and the last two. Those that do are for
 * start-up and shut-down, and have no bounded worst case.
 *
 * Memory in a file (shared, named, mapped) needs room in its file system. Unless the region is lazy, the room is
 * reserved before the first access. An access to a lazy region whose file system is full, or to a file that was
 * truncated, ends the program (SIGBUS). */
#ifndef FLATLINE_REGION_H
#define FLATLINE_REGION_H

#include <flatline/memory.h>
#include <flatline/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct flat_region {
    void *start;         /**< first usable byte */
    size_t size;         /**< usable bytes, as requested */
    void *mapping;       /**< what `flat_region_destroy` unmaps, guards included; NULL: the memory is the caller's */
    size_t mapping_size; /**< bytes */
    int descriptor;      /**< with `shared`: the memory file, for `flat_region_map` in another process; else -1 */
    bool shared;         /**< whether other processes may have mapped the same memory */
    bool can_trim;       /**< lazy, not locked, not on explicit huge pages: its pages may be returned to the OS */
} flat_region;

/** Kinds of pages, ascending. A huge page has one TLB entry for 2 MiB instead of 4 KiB. */
typedef enum flat_pages {
    FLAT_PAGES_DEFAULT = 0,
    FLAT_PAGES_SMALL,       /**< base pages */
    FLAT_PAGES_TRANSPARENT, /**< huge pages that the kernel forms from free memory, if it finds enough in one piece */
    FLAT_PAGES_EXPLICIT     /**< huge pages that an administrator has set aside (vm.nr_hugepages) */
} flat_pages;

#define FLAT_REGION_MESSAGE_SIZE 512 /**< bytes that suffice for every message */

/** Zero in a member is its default. */
typedef struct flat_region_options {
    /** false: every page is resident and written before `flat_region_create` returns, so that no later access faults.
     * true: each page becomes resident at its first access, which costs a page fault. */
    bool lazy;
    /** true: the pages are never paged out (mlock); in a lazy region, from the moment they become resident. Explicit
     * huge pages are never paged out, and need no lock. */
    bool locked;
    /** true: the pages are on NUMA node `node` and nowhere else. */
    bool bound;
    unsigned node;
    /** The best kind of pages that is allowed. Default: transparent. If a kind is not available, the next lower one is
     * used, down to `required_pages`. Huge pages are used from 2 MiB on; a smaller region gets one only if it is
     * required. Transparent ones are requested only while a region is made resident. Afterwards the kernel is told to
     * leave the pages as they are, since a later collapse would stall the program. Lazy regions follow the system's
     * setting by default, get none with FLAT_PAGES_SMALL and request them with FLAT_PAGES_TRANSPARENT. */
    flat_pages allowed_pages;
    /** The lowest kind that is acceptable, for every byte. Default: small. */
    flat_pages required_pages;
    /** true: the memory is a file without a name, sealed so that nobody can change its size. Another process can
     * inherit its `descriptor` or receive it, and map it by `flat_region_map`. */
    bool shared;
    /** Not NULL: the memory is a new POSIX shared memory object of this name ("/" and up to 254 other characters),
     * readable and writable by the same user, which another process maps by `flat_region_open`. */
    const char *name;
    /** Not NULL: gets one line of at most `message_size` bytes, terminator included, that says what was refused, which
     * limit caused it and what to do; "" if nothing was refused. */
    char *message;
    size_t message_size;
} flat_region_options;

/** Maps `size` bytes (1 .. PTRDIFF_MAX / 2) at a multiple of `alignment` (a power of two up to 2 MiB) and describes
 * them in `*region`; they are zero. `options` NULL means all defaults. Any thread. On failure `*region` is unchanged,
 * nothing stays mapped, and no name stays taken.
 * FLAT_INVALID_ARGUMENT iff `region` is NULL, `size` or `alignment` is out of its range, a member is not a
 * `flat_pages`, more pages are required than allowed, transparent pages are required for a lazy region or explicit ones
 * with a name, `name` is not such a name, or `shared` and `name` are both set;
 * FLAT_NOT_PERMITTED iff a limit or a missing privilege forbids the lock, the name, the choice of a node or, for memory
 * in a file, its size (RLIMIT_FSIZE, without its signal; a quota); FLAT_UNAVAILABLE iff the system does not have what
 * was requested: the required pages, the node, a name that is free; FLAT_OUT_OF_MEMORY iff it refuses the mapping or
 * cannot make it resident, because memory, addresses, descriptors or room in the file system are exhausted. */
FLAT_HOSTED_API FLAT_NODISCARD flat_status flat_region_create(flat_region *region, size_t size, size_t alignment,
                                                              const flat_region_options *options);

/** Maps `size` bytes from byte `offset` on of an open file, which must be readable and writable: the memory file of
 * another process's region, a device, a file on disk. `size` 0: up to its end. The content stays: no byte is changed,
 * and on a device none is read. `start` is at a multiple of the page, and of 2 MiB if the size reaches that. The
 * descriptor stays the caller's and may be closed. `options` as for `flat_region_create`, without `shared` and `name`.
 * Fails as `flat_region_create` does, and
 * FLAT_INVALID_ARGUMENT also iff `offset` is not a multiple of the page (2 MiB for a file of explicit huge pages), the
 * file ends before `offset + size`, it cannot tell its size and `size` is 0, or the descriptor is not open;
 * FLAT_NOT_PERMITTED also iff the file is not open for reading and writing;
 * FLAT_UNAVAILABLE also iff it cannot be mapped. */
FLAT_HOSTED_API FLAT_NODISCARD flat_status flat_region_map(flat_region *region, int descriptor, uint64_t offset,
                                                           size_t size, const flat_region_options *options);

/** Maps all of the shared memory object `name`, which another process made, at any free address: the size that was
 * requested there, or whole huge pages if they were required. Fails as `flat_region_map` does; FLAT_UNAVAILABLE also
 * iff there is no such name, or its creator has not finished. */
FLAT_HOSTED_API FLAT_NODISCARD flat_status flat_region_open(flat_region *region, const char *name,
                                                            const flat_region_options *options);

/** Removes the name; the memory lives until the last process that mapped it unmaps it. Names outlive programs: unlink
 * one as soon as every process has opened it. FLAT_INVALID_ARGUMENT iff `name` is NULL or not a valid name;
 * FLAT_NOT_PERMITTED iff it is another user's, or nobody may change it; FLAT_UNAVAILABLE iff it does not exist. */
FLAT_HOSTED_API flat_status flat_region_unlink(const char *name);

/** Describes memory of the caller, which must outlive the region. It maps and touches nothing, makes no system call,
 * and adds no guards. FLAT_INVALID_ARGUMENT iff `region` or the start is NULL, the size is 0, or the memory wraps
 * around; then `*region` is unchanged. O(1). */
FLAT_HOSTED_API FLAT_NODISCARD flat_status flat_region_from_memory(flat_region *region, flat_memory memory);

/** Unmaps the region, closes `descriptor` and clears `*region`. A name stays (`flat_region_unlink`), and so does the
 * caller's memory. NULL, or a region that is already clear, has no effect. No thread may use the memory any more. */
FLAT_HOSTED_API void flat_region_destroy(flat_region *region);

#define FLAT_NODE_UNKNOWN (-1) /**< nothing is resident, or the kernel does not say */
#define FLAT_NODE_SEVERAL (-2) /**< not all resident pages are on one node */

/** The pages of a region, as the kernel reports them. */
typedef struct flat_region_facts {
    size_t bytes;     /**< of the pages that the region covers wholly or in part; the next three count of these */
    size_t resident;  /**< in memory and mapped: an access does not fault */
    size_t huge;      /**< certain to be on huge pages, of either kind */
    size_t locked;    /**< resident and never paged out: locked, or on explicit huge pages */
    size_t page_size; /**< bytes: the smallest page of the mapping; above the base page iff on explicit ones */
    int node;         /**< the NUMA node of all resident bytes, or one of the two above */
} flat_region_facts;

/** Asks the kernel for the present pages of `region`, whatever was requested when it was made. It reads
 * /proc/self/smaps, and page by page move_pages (or without that /proc/self/pagemap, which tells what is resident; then
 * `node` is unknown). Device memory without pages of the kernel counts as not resident. If the caller's memory is part
 * of a larger mapping, `huge` counts only the bytes that the kernel's figure for the mapping proves.
 * O(pages of the region + mappings of the process); any thread. FLAT_INVALID_ARGUMENT iff a pointer is NULL or the
 * region is clear; FLAT_UNAVAILABLE iff /proc does not tell, or nothing is mapped there. On failure `*facts` is
 * unchanged. */
FLAT_HOSTED_API FLAT_NODISCARD flat_status flat_region_report(const flat_region *region, flat_region_facts *facts);

#define FLAT_NO_OFFSET SIZE_MAX /**< for an address outside the region; `flat_region_address` returns NULL for it */

/** Bytes from the region's start to `address`. It identifies a block to a process that has the same memory at another
 * address. FLAT_NO_OFFSET iff `address` is outside the region. O(1); any thread. */
static inline size_t flat_region_offset(const flat_region *region, const void *address) {
    size_t offset = FLAT_REINTERPRET_CAST(uintptr_t, address) - FLAT_REINTERPRET_CAST(uintptr_t, region->start);
    return offset < region->size ? offset : FLAT_NO_OFFSET;
}

/** The address in this process of the byte at `offset` from the region's start. NULL iff that is outside the region: an
 * offset from another process need not be trusted. O(1); any thread. */
static inline void *flat_region_address(const flat_region *region, size_t offset) {
    return offset < region->size ? FLAT_REINTERPRET_CAST(char *, region->start) + offset : NULL;
}

#ifdef __cplusplus
}
#endif
#endif
