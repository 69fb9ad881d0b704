/* Marks for `flatline prove`: what its authors call bounded, so that it is proved without being named, and how often a
 * loop goes round at most.
 *
 * A mark is a record in a section of the file that is not loaded: it takes no time and no memory when the program runs.
 * Where there is no ELF (and for loops, no 64 bits) the macros do nothing. C11 and C++17. */
#ifndef FLATLINE_BOUNDED_H
#define FLATLINE_BOUNDED_H

/* At file scope, ended by a semicolon: FLAT_BOUNDED("function"); the function as the linker names it, in C++ mangled.
 * Its code must have a bound: without loops but those that count between constants and those of FLAT_LOOP_AT_MOST,
 * without calls out of the file, locks or waits. Behind the name, as many as apply:
 *
 *   apart=NAME         a call of NAME, a function of another file, counts as one instruction: its cost is stated apart
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

/* As the first statement of a loop's body: in each call of the function around it, control passes here at most `times`
 * times, a constant of at most 10^9. Costs one no-operation a round, which is what the bound is counted by. Where the
 * code counts its rounds itself, between constants, the statement is checked; elsewhere it is an assumption. */
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
