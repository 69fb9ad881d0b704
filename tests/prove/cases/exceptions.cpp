// Functions whose callees may throw. A caught exception continues the path, an uncaught one ends it.
#define FUNCTION extern "C" __attribute__((noinline))

volatile int shared;

struct Counts {
    ~Counts() { shared = shared + 1; }
};
struct Waits {
    ~Waits() {
        while (shared) {
        }
    }
};

FUNCTION int throws_some(int x) {
    if (x > 3) throw x;
    return x + 1;
}
FUNCTION int passes_on(int x) { return throws_some(x) * 2; }
FUNCTION int cleans_up(int x) {
    Counts counts;
    return throws_some(x);
}
FUNCTION int cleans_up_for_ever(int x) {
    Waits waits;
    return throws_some(x);
}
FUNCTION int may_not_throw(int x) noexcept { return throws_some(x); }
FUNCTION int throws_again(int x) {
    try {
        return throws_some(x);
    } catch (int) {
        shared = x;
        throw;
    }
}
FUNCTION int catches(int x) {
    try {
        return throws_some(x);
    } catch (...) {
        return -1;
    }
}
FUNCTION int catches_for_ever(int x) {
    try {
        return throws_some(x);
    } catch (int) {
        for (;;) shared = x;
    }
}
FUNCTION int catches_its_own(int x) {
    try {
        if (x > 2) throw x;
    } catch (int) {
        for (;;) shared = x;
    }
    return x;
}
FUNCTION int tries_again(int x) {
    for (;;) {
        try {
            x = throws_some(x);
            if (x == 2) return 1;
        } catch (int) {
            x = 7;
        }
    }
}
FUNCTION int calls_what_catches(int x) { return catches(x) + 1; }
static __attribute__((noinline, noreturn)) void fails(int x) { throw x; }
FUNCTION int catches_what_never_returns(int x) {
    try {
        if (x > 2) fails(x);
    } catch (int) {
        while (shared != x) {
        }
    }
    return x;
}

namespace named {
__attribute__((noinline)) int overloaded(int x, char c) { return x + c; }
__attribute__((noinline)) int overloaded(int x) { return x - 1; }
template <typename T> __attribute__((noinline)) T twice(T x) { return x * 2; }
template int twice<int>(int);
struct Thing {
    int x;
    __attribute__((noinline)) int get() const volatile { return x; }
};
volatile Thing thing;
FUNCTION int uses_thing() { return thing.get(); }
} // namespace named
