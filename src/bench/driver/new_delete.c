/* new-delete: LOAD times an int is allocated, read and deleted, as in the article that this suite is named after. The
 * same process then runs the plain loop LOAD times without it, and with a bump in a local buffer in its place.
 *
 * `new int(i)` compiles to a call of the C++ run time's `operator new(unsigned long)` and a store, `delete p` to a call
 * of `operator delete(void *, unsigned long)`. Written in C++, a compiler may leave out both. So they are called by
 * address here, which no compiler leaves out. Where the backend is the process's malloc, they are found as the loader
 * finds them for a C++ program: the preloaded library's own if it has them, else libstdc++'s. Otherwise they are the
 * backend's functions, as for a class that has its own operators. */
#define _GNU_SOURCE
#include "driver.h"

#include <dlfcn.h>

enum { LOCAL_BYTES = 65536, WARM_UP = 2 };

typedef void *operator_new(size_t size);
typedef void operator_delete(void *object, size_t size);

typedef struct operators {
    operator_new *make;
    operator_delete *end;
} operators;

static operators find_operators(void) {
    operators found = {bench_alloc, bench_free};
    union {
        void *symbol;
        operator_new *make;
        operator_delete *end;
    } make, end;
    if (!bench_backend.is_malloc) return found;
    if (dlopen("libstdc++.so.6", RTLD_NOW | RTLD_GLOBAL) == NULL)
        fail(STATUS_FAILED, "the C++ run time is needed: apt-get install libstdc++6; ", dlerror());
    make.symbol = dlsym(RTLD_DEFAULT, "_Znwm");
    end.symbol = dlsym(RTLD_DEFAULT, "_ZdlPvm");
    if (make.symbol == NULL || end.symbol == NULL) fail(STATUS_FAILED, "the C++ run time has no operator new", "");
    return (operators){make.make, end.end};
}

static volatile long long sum; /* as in the article: volatile, so that it must be written */

static void loop_new(operators of, size_t count) {
    for (size_t i = 0; i < count; i++) {
        int *p = of.make(sizeof *p);
        if (__builtin_expect(p == NULL, 0)) fail(STATUS_FAILED, "an allocation of the workload returned NULL", "");
        *p = (int)i;
        sum += *p;
        of.end(p, sizeof *p);
    }
}

static void loop_plain(size_t count) {
    for (size_t i = 0; i < count; i++) sum += (int)i;
}

static void loop_bump(size_t count) {
    int local[LOCAL_BYTES / sizeof(int)];
    for (size_t i = 0; i < count; i++) {
        volatile int *p = &local[i % (LOCAL_BYTES / sizeof(int))];
        *p = (int)i;
        sum += *p;
    }
}

/* The sum of 0 .. count - 1, so that a call that was left out is detected. */
static void require_sum(size_t count) {
    if (sum != (long long)(count * (count - 1) / 2))
        fail(STATUS_FAILED, "an int did not keep what was written to it", "");
    sum = 0;
}

void new_delete(run *r) {
    uint64_t *pair = add_series(r, "pair", (uint32_t)r->load)->values;
    series *plain = add_series(r, "loop", (uint32_t)r->load);
    series *bump = add_series(r, "bump", (uint32_t)r->load);
    plain->unranked = bump->unranked = true;
    operators of = find_operators();
    r->own_code = draw_code() && r->own_code; /* the C++ run time was loaded only now */
    prepare(r, &(bench_class){sizeof(int), 1000}, 1, BENCH_PREFAULTED);
    for (size_t i = 0; i < r->samples + WARM_UP; i++) {
        size_t at = i < WARM_UP ? 0 : i - WARM_UP;
        if (i == WARM_UP) begin_timed(r);
        uint64_t begin = flat_clock_begin();
        loop_new(of, r->load);
        pair[at] = flat_clock_end() - begin;
        require_sum(r->load);
        begin = flat_clock_begin();
        loop_plain(r->load);
        plain->values[at] = flat_clock_end() - begin;
        require_sum(r->load);
        begin = flat_clock_begin();
        loop_bump(r->load);
        bump->values[at] = flat_clock_end() - begin;
        require_sum(r->load);
    }
    end_timed(r, 0);
}
