/* Outcomes of Flatline's functions, and what every public header needs of the language.
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
/** The same of a function that needs an operating system: it is in libflatline, and not in libflatline-core, the
 * archive for programs without one. Where the compiler is told that there is none (`-ffreestanding`), a call is an
 * error. */
#if __STDC_HOSTED__ == 0 && defined(__has_attribute)
#if __has_attribute(unavailable)
#define FLAT_HOSTED_API FLAT_API __attribute__((unavailable("needs an operating system: link libflatline")))
#endif
#endif
#ifndef FLAT_HOSTED_API
#define FLAT_HOSTED_API FLAT_API
#endif
/** The result must be looked at: the compiler warns where it is dropped. */
#define FLAT_NODISCARD __attribute__((warn_unused_result))
/** Conversions as C++ and C each want them written, for code that both compile: from one number to another, and from or
 * to an address. */
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
    FLAT_OUT_OF_MEMORY,    /**< the memory handed over is too small, or the system gave none */
    FLAT_DOUBLE_FREE,      /**< the start of a block that is free already, or was never handed out; of a heap:
                              any address in free memory */
    FLAT_INTERIOR_POINTER, /**< inside a block, but not its start */
    FLAT_FOREIGN_POINTER,  /**< outside every block of this pool, or outside this heap */
    FLAT_CORRUPTED,        /**< `flat_pool_check` and its like only: an invariant of the metadata does not hold */
    FLAT_NOT_PERMITTED,    /**< a limit of the system or a missing privilege forbids it */
    FLAT_UNAVAILABLE       /**< the system has not what was asked for: huge pages, a NUMA node, a name */
} flat_status;

/** A short English phrase, without a full stop, that lives as long as the program. Never NULL: a value outside the
 * enumeration gives "unknown status". O(1); any thread. */
FLAT_API const char *flat_status_string(flat_status status);

#ifdef __cplusplus
}
#endif
#endif
