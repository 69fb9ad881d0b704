/* Marks for `flatline prove`. FLAT_BOUNDED says that a function has a bound, so that it is proved without being named
 * on the command line; FLAT_LOOP_AT_MOST says how often a loop repeats at most.
 *
 * A mark is a record in a section of the file that is not loaded: it takes no time and no memory when the program runs.
 * Where there is no ELF (and for loops, no 64 bits) the macros do nothing. C11 and C++17. */
#ifndef FLATLINE_BOUNDED_H
#define FLATLINE_BOUNDED_H

/* At file scope, followed by a semicolon: FLAT_BOUNDED("function"), with the name that the linker sees, in C++ mangled.
 * The function's code must have a bound. It has no loops except those that count between constants and those with
 * FLAT_LOOP_AT_MOST, no calls out of the file, no locks and no waits. Any of these may follow the name:
 *
 *   apart=NAME         a call of NAME, a function of this file or another, counts as one instruction: its cost is
 *                      stated apart
 *   hands-over=PLACES  at no more places than these the function ends by a jump to code that its caller named, which is
 *                      not counted
 *
 * A certificate lists both as assumptions. */
#ifdef __ELF__
#define FLAT_BOUNDED(text)                                                                                             \
    __asm__(".pushsection .flatline.bounded, \"\", %progbits\n\t.asciz \"" text "\"\n\t.popsection")
#elif defined(__cplusplus)
#define FLAT_BOUNDED(text) static_assert(sizeof(text) > 1, "")
#else
#define FLAT_BOUNDED(text) _Static_assert(sizeof(text) > 1, "")
#endif

/* The first statement of a loop's body: in each call of the enclosing function, control passes here at most `times`
 * times, a constant of at most 10^9. It costs one no-operation per iteration, which `flatline prove` counts. If the
 * code itself counts its iterations between constants, the bound is checked; otherwise it is an assumption. */
#if defined(__ELF__) && defined(__LP64__)
#define FLAT_LOOP_AT_MOST(times)                                                                                       \
    __asm__ __volatile__(                                                                                              \
        "771: nop\n\t.pushsection .flatline.loops, \"\", %%progbits\n\t.quad 771b, %c0\n\t.popsection"                 \
        :                                                                                                              \
        : "i"(times))
#else
#define FLAT_LOOP_AT_MOST(times) ((void)0)
#endif

#endif
