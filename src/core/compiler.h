/* Compiler extensions, under the names that the field uses for them. */
#ifndef FLATLINE_CORE_COMPILER_H
#define FLATLINE_CORE_COMPILER_H

/* The compiler may assume that a condition nearly always holds, hardly ever holds, or holds as often as not. Only the
 * layout of the machine code depends on it. */
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define UNPREDICTABLE(condition) __builtin_expect_with_probability(!!(condition), 1, 0.5)

/* Before a function's type: the function is inlined into every caller, or into none. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))

/* Hides from the compiler what it knows of a variable, which is in a register from then on. The compiler can then
 * neither keep a value that it computed from the variable, nor merge two paths that end alike. It produces no
 * instruction. */
#define HIDE_VALUE(variable) __asm__("" : "+r"(variable))

#endif
