/* What a section costs that does nothing: under `flatline guard`, and without it. It is run by hand; nothing that it
 * prints is a test, since machines differ. */
#define _POSIX_C_SOURCE 200809L
#include <flatline/guard.h>

#include <stdio.h>
#include <time.h>

#define SECTIONS 10000000

static double spent_ns(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int main(void) {
    double best = 1e9;
    for (int round = 0; round < 10; round++) {
        const double begin = spent_ns();
        for (int i = 0; i < SECTIONS; i++) {
            flat_guard_enter();
            __asm__ volatile("" : : : "memory");
            flat_guard_leave();
        }
        const double each = (spent_ns() - begin) / SECTIONS;
        if (each < best) best = each;
    }
    printf("entering and leaving a section: %.1f ns of processor time, the best of 10 rounds\n", best);
    return 0;
}
