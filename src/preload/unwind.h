/* The stack of the calling thread, by the unwinder of gcc's run time, which is linked into the preloaded library. It
 * finds the tables by _dl_find_object (glibc 2.35), which takes no lock, and allocates nothing. */
#ifndef FLATLINE_PRELOAD_UNWIND_H
#define FLATLINE_PRELOAD_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most frames that are kept of a stack: the innermost ones. */
#define UNWIND_DEPTH 64

/* Writes the return addresses of the callers of the function whose own return address is `innermost`, that one first,
 * to `addresses`, and returns their number. If the unwinder does not come past `innermost`, as in code without tables,
 * that address alone. About 0.1 to 0.2 us a frame.
 *
 * `slots`, unless it is NULL: where on the stack each of them should be found, by the convention that a call pushes its
 * return address. 0: not on the stack, as where a signal struck, and everywhere on other processors than x86-64. */
size_t unwind_from(const void *innermost, uintptr_t addresses[UNWIND_DEPTH], uintptr_t slots[UNWIND_DEPTH]);

/* The same, but not further out than where `is_known` says so, which is asked behind each frame with how many there
 * are.
 */
size_t unwind_until(const void *innermost, uintptr_t addresses[UNWIND_DEPTH], uintptr_t slots[UNWIND_DEPTH],
                    bool (*is_known)(void *context, size_t count), void *context);

#endif
