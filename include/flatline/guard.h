/* Sections of a program that may not allocate, wait or call the operating system: `flatline guard` runs the program and
 * reports what its sections do nevertheless. See docs/guard-a-callback.md.
 *
 *     void callback(float *samples, size_t count) {
 *         flat_guard_enter();
 *         process(samples, count);
 *         flat_guard_leave();
 *     }
 *
 * This header needs no library. Without a guard, as in production, each call is one load and one branch that is never
 * taken. Under `flatline guard`, each costs a few nanoseconds, and what the thread does in between is watched: malloc
 * and free, system calls, page faults, waits for a lock, new threads, dlopen and exceptions. */
#ifndef FLATLINE_GUARD_H
#define FLATLINE_GUARD_H

#ifdef __cplusplus
extern "C" {
#endif

/* The preloaded library defines these; in any other run they are NULL. */
typedef void flat_guard_hook(void);

/* Through the global offset table: a program without position-independent code would take the address of a weak
 * function as NULL when it is linked. */
#if defined(__x86_64__) && defined(__ELF__)
#define FLAT_GUARD_CALL(name)                                                                                          \
    do {                                                                                                               \
        flat_guard_hook *flat_guard_found;                                                                             \
        __asm__(".weak " #name "\n\tmovq " #name "@GOTPCREL(%%rip), %0" : "=r"(flat_guard_found));                     \
        if (__builtin_expect(!!flat_guard_found, 0)) flat_guard_found();                                               \
    } while (0)
#else
extern __attribute__((weak, visibility("default"))) flat_guard_hook flat_guard_section_enter, flat_guard_section_leave;
#define FLAT_GUARD_CALL(name)                                                                                          \
    do {                                                                                                               \
        if (__builtin_expect(!!name, 0)) name();                                                                       \
    } while (0)
#endif

/** Enters a section of the calling thread. Sections nest: the outermost one counts. It never fails; any thread; the
 * first one of a thread costs some 50 us under a guard. */
static inline __attribute__((always_inline)) void flat_guard_enter(void) { FLAT_GUARD_CALL(flat_guard_section_enter); }

/** Leaves the section that the calling thread has entered last; without one it does nothing. Each way out of a section
 * must pass it: a return, an exception (in C++, use flat::guard), a longjmp. */
static inline __attribute__((always_inline)) void flat_guard_leave(void) { FLAT_GUARD_CALL(flat_guard_section_leave); }

#ifdef __cplusplus
}
#endif
#endif
