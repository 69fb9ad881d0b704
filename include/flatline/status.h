/* The results of Flatline's functions, and the language macros that every public header needs.
 *
 * Errors are values: nothing here aborts, prints or sets errno, in any build type. A call that returns anything but
 * FLAT_OK has changed nothing. */
#ifndef FLATLINE_STATUS_H
#define FLATLINE_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/** Exported from the shared library, whose other symbols are hidden. */
#define FLAT_API __attribute__((visibility("default")))
/** The same for a function that needs an operating system: it is in libflatline, and not in libflatline-core, the
 * archive for programs without one. With `-ffreestanding`, which tells the compiler that there is none, a call is an
 * error. */
#if __STDC_HOSTED__ == 0 && defined(__has_attribute)
#if __has_attribute(unavailable)
#define FLAT_HOSTED_API FLAT_API __attribute__((unavailable("needs an operating system: link libflatline")))
#endif
#endif
#ifndef FLAT_HOSTED_API
#define FLAT_HOSTED_API FLAT_API
#endif
/** The caller must use the result: the compiler warns if it is discarded. */
#define FLAT_NODISCARD __attribute__((warn_unused_result))
/** Conversions for code that both C++ and C compile, in the form that each wants: from one number to another, and from
 * or to an address. */
#ifdef __cplusplus
#define FLAT_STATIC_CAST(type, value) static_cast<type>(value)
#define FLAT_REINTERPRET_CAST(type, value) reinterpret_cast<type>(value)
#else
#define FLAT_STATIC_CAST(type, value) ((type)(value))
#define FLAT_REINTERPRET_CAST(type, value) ((type)(value))
#endif

typedef enum flat_status {
    FLAT_OK = 0,
    FLAT_INVALID_ARGUMENT, /**< an option out of its range, misaligned memory, or percents that do not sum to 100 */
    FLAT_OUT_OF_MEMORY,    /**< the caller's memory is too small, or the system refused to give any */
    FLAT_DOUBLE_FREE,      /**< the start of a block that is already free, or was never allocated; in a heap: any
                                address in free memory */
    FLAT_INTERIOR_POINTER, /**< inside a block, but not its start */
    FLAT_FOREIGN_POINTER,  /**< outside every block of this pool, or outside this heap */
    FLAT_CORRUPTED,        /**< only from `flat_pool_check` and similar functions: an invariant of the metadata does not
                                hold */
    FLAT_NOT_PERMITTED,    /**< a limit of the system or a missing privilege forbids it */
    FLAT_UNAVAILABLE,      /**< the system does not have what was asked for: huge pages, a NUMA node, a name; or all
                                lanes of an engine are in use */
    FLAT_NO_GRANT,         /**< the submitter has no grant of the payload's class left at this worker */
    FLAT_RING_FULL,        /**< the submitter has as many inline payloads in flight to this worker as fit */
    FLAT_DEADLINE_PAST,    /**< the task's deadline has already passed */
    FLAT_DRAINING,         /**< the engine takes no more tasks */
    FLAT_STALE_TICKET,     /**< the task that the ticket names is done */
    FLAT_TIMED_OUT         /**< what was waited for did not come in time */
} flat_status;

/** A short English phrase, without a full stop, that stays valid as long as the program runs. Never NULL: a value
 * outside the enumeration gives "unknown status". O(1); any thread. */
FLAT_API const char *flat_status_string(flat_status status);

#ifdef __cplusplus
}
#endif
#endif
