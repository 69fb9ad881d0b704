/* What is said to the compiler beyond C, by the names that the field has for it. */
#ifndef FLATLINE_CORE_COMPILER_H
#define FLATLINE_CORE_COMPILER_H

/* What the compiler may assume about a condition: that it nearly always holds, hardly ever, or as often as not. Only
 * the layout of the machine code depends on it. */
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define UNPREDICTABLE(condition) __builtin_expect_with_probability(!!(condition), 1, 0.5)

/* Before a function's type: it is compiled into every caller, or into none. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))

/* Hides from the compiler what it knows of a variable, which is in a register from then on: it can neither keep
 * something that it computed from the variable, nor merge two paths that end alike. No instruction comes of it. */
#define HIDE_VALUE(variable) __asm__("" : "+r"(variable))

#endif
