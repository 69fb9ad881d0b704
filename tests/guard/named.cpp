// Functions that are sections by `flatline guard --section` alone: the source says nothing of sections. Each is called
// twice (--warm-up 1); marks as in violations.cpp.
//
//   named LIBRARY     (late.cpp, whose late_call is a section too)
#include "section.hpp"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace {
void *volatile kept;
volatile char *volatile fresh;
std::jmp_buf behind;

struct Numbers {
    long first, second;
};

void nothing_outside_is_a_violation() {
    free(malloc(10));
    (void)getppid();
}
} // namespace

/// Arguments and results of every kind, in registers and on the stack.
extern "C" EXPORTED Numbers named_adds(long a, double b, long c, float d, long e, long f, long g, long h, long i,
                                       double j) {
    kept = malloc(10); // guard: malloc
    return {a + c + e + f + g + h + i, static_cast<long>(b + static_cast<double>(d) + j)};
}
extern "C" EXPORTED long double named_halves(long double number) {
    free(kept); // guard: free
    return number / 2;
}

extern "C" EXPORTED void named_touches() {
    (void)getpid();  // guard: system call
    fresh[5000] = 1; // guard: page fault
}

extern "C" EXPORTED void named_in_a_thread() {
    kept = malloc(15); // guard: malloc
}

extern "C" EXPORTED void named_throws() {
    kept = malloc(20); // guard: malloc
    throw 3;           // guard: exception
}

extern "C" EXPORTED void named_jumps() {
    kept = malloc(20); // guard: malloc
    std::longjmp(behind, 1);
}

extern "C" EXPORTED int named_recurses(int depth) {
    if (depth == 0) {
        kept = malloc(30); // guard: malloc
        return 0;
    }
    return 1 + named_recurses(depth - 1);
}

/// There is no room in it for a jump.
extern "C" EXPORTED void too_short() {}

namespace {
void require(bool holds) {
    if (!holds) std::abort();
}

void run(void (*late_call)()) {
    const Numbers sum = named_adds(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
    require(sum.first == 39 && sum.second == 16);
    require(named_halves(3) == 1.5L);
    fresh = static_cast<char *>(mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    named_touches();
    try {
        named_throws();
    } catch (int) {
        free(kept);
    }
    nothing_outside_is_a_violation();
    if (setjmp(behind) == 0) named_jumps();
    free(kept);
    nothing_outside_is_a_violation();
    require(named_recurses(20) == 20);
    free(kept);
    late_call();
    nothing_outside_is_a_violation();
}
} // namespace

int main(int, char **words) {
    void *library = dlopen(words[1], RTLD_NOW);
    void *symbol = library != nullptr ? dlsym(library, "late_call") : nullptr;
    void (*late_call)() = nullptr;
    require(symbol != nullptr);
    std::memcpy(&late_call, &symbol, sizeof late_call);
    run(late_call);
    run(late_call);
    std::thread([] {
        named_in_a_thread();
        named_in_a_thread();
        nothing_outside_is_a_violation();
    }).join();
    std::puts("done");
}
