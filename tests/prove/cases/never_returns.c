/* Callees that never return, and callees that return but have the name of one that does not. */
#include <stdio.h>
#include <stdlib.h>
#define FUNCTION __attribute__((noinline))
#define NEVER static __attribute__((noinline, noreturn))

volatile int shared;

NEVER void die(const char *why, int n) {
    for (int i = 0; i < n; i++) fprintf(stderr, "%s\n", why);
    exit(2);
}
NEVER void die_deep(int n) {
    if (n & 1) abort();
    die("deep", n);
}
NEVER void spin(void) {
    for (;;) shared = 1;
}
NEVER void spin_or_abort(int n) {
    if (n & 1) abort();
    spin();
}

FUNCTION int checked(const int *a, unsigned i) {
    if (i >= 8) die("index", (int)i);
    return a[i];
}
FUNCTION int checked_deep(const int *a, unsigned i) {
    if (i >= 8) die_deep((int)i);
    return a[i];
}
FUNCTION int aborts(int x) {
    if (x > 5) abort();
    return x;
}
FUNCTION int spins(int x) {
    if (x > 5) spin();
    return x;
}
FUNCTION int spins_deep(int x) {
    if (x > 5) spin_or_abort(x);
    return x;
}

/* Each of these returns, in spite of its name. */
#define RETURNS(name, symbol)                                                                                          \
    __attribute__((noinline, visibility("hidden"))) void name(int x) __asm__(symbol);                                  \
    void name(int x) { shared = x; }                                                                                   \
    FUNCTION int believes_##name(int x) {                                                                              \
        name(x);                                                                                                       \
        while (shared == x) {                                                                                          \
        }                                                                                                              \
        return x;                                                                                                      \
    }
RETURNS(named_chk_fail, "__chk_fail")
RETURNS(named_fortify_fail, "__fortify_fail")
RETURNS(named_assert, "__assert")
RETURNS(named_terminate, "_ZSt9terminatev")
RETURNS(named_resume, "_Unwind_Resume")
RETURNS(named_throw, "__cxa_throw")
RETURNS(named_longjmp, "__longjmp_chk")
RETURNS(named_thread_exit, "pthread_exit")
