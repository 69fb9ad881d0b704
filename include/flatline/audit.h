/* Phases of a program, for `flatline audit`: a recording tells them apart, so that `flatline plan` can plan the memory
 * of each. See docs/plan.md.
 *
 *     int main(void) {
 *         load();
 *         flat_phase("steady");
 *         while (next()) step();
 *         flat_phase("ending");
 *     }
 *
 * This header needs no library. Without an audit, as in production, a call is one load and one branch that is never
 * taken. */
#ifndef FLATLINE_AUDIT_H
#define FLATLINE_AUDIT_H

#ifdef __cplusplus
extern "C" {
#endif

/* The preloaded library of an audit defines it; in any other run it is NULL. */
typedef void flat_audit_phase_hook(const char *name);

/** The phase `name` of the whole process begins, and the one before it ends; what comes before the first call is the
 * phase "start". A name that occurs again continues its phase. The name is read during the call only. It never fails;
 * any thread; under an audit it takes some 100 ns. */
static inline void flat_phase(const char *name) {
    /* Through the global offset table: a program without position-independent code would take the address of a weak
     * function as NULL when it is linked. */
#if defined(__x86_64__) && defined(__ELF__)
    flat_audit_phase_hook *found;
    __asm__(".weak flat_audit_phase\n\tmovq flat_audit_phase@GOTPCREL(%%rip), %0" : "=r"(found));
#else
    extern __attribute__((weak, visibility("default"))) flat_audit_phase_hook flat_audit_phase;
    flat_audit_phase_hook *const found = flat_audit_phase;
#endif
    if (__builtin_expect(found ? 1 : 0, 0)) found(name);
}

#ifdef __cplusplus
}
#endif
#endif
