/* The pool's backend with idle instructions before every alloc. scripts/calibrate measures by how many percent they
 * slow it down. The call itself remains a jump, as in the pool's own backend. */
#define bench_alloc alloc_from_pool
#include "bench/backends/pool.c"
#undef bench_alloc

#ifndef IDLE_INSTRUCTIONS
#error "IDLE_INSTRUCTIONS says how many"
#endif

__attribute__((aligned(64))) void *bench_alloc(size_t size) {
    __asm__ volatile(".rept %c0\n\tnop\n\t.endr" : : "i"(IDLE_INSTRUCTIONS));
    return alloc_from_pool(size);
}
