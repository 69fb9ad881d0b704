// Asks each operator new for more than there is, and checks that what follows is what the standard says.
#ifndef FLATLINE_TESTS_MALLOC_REFUSALS_HPP
#define FLATLINE_TESTS_MALLOC_REFUSALS_HPP

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>

namespace test {

inline const volatile std::size_t too_much = SIZE_MAX / 2;
inline int handler_calls, wrong_answers;
struct gave_up {};
inline void *volatile unused; // keeps the compiler from removing calls

inline void expect(bool holds, const char *what) {
    if (holds) return;
    wrong_answers++;
    std::printf("%s\n", what);
}

template <typename Exception, typename Call> void expect_throw(Call call, const char *what) {
    try {
        call();
        expect(false, what);
    } catch (const Exception &) {
    }
}

template <typename Exception> void ask_all() {
    constexpr auto at_64 = std::align_val_t{64};
    expect_throw<Exception>([] { unused = ::operator new(too_much); }, "new does not throw");
    expect_throw<Exception>([] { unused = ::operator new[](too_much); }, "new[] does not throw");
    expect_throw<Exception>([&] { unused = ::operator new(too_much, at_64); }, "aligned new does not throw");
    expect_throw<Exception>([&] { unused = ::operator new[](too_much, at_64); }, "aligned new[] does not throw");
    expect(::operator new(too_much, std::nothrow) == nullptr, "new (nothrow) is not null");
    expect(::operator new[](too_much, std::nothrow) == nullptr, "new[] (nothrow) is not null");
    expect(::operator new(too_much, at_64, std::nothrow) == nullptr, "aligned new (nothrow) is not null");
    expect(::operator new[](too_much, at_64, std::nothrow) == nullptr, "aligned new[] (nothrow) is not null");
}

// Returns 0 if all is as it should be.
inline int refusals() {
    ask_all<std::bad_alloc>(); // without a handler
    std::set_new_handler([] {
        handler_calls++;
        throw std::bad_alloc();
    });
    ask_all<std::bad_alloc>();
    std::set_new_handler([] { throw gave_up{}; });
    ask_all<gave_up>();
    std::set_new_handler(nullptr);
    ::operator delete(::operator new(100));
    std::printf("the handler was called %d times\n", handler_calls);
    return wrong_answers;
}

} // namespace test

#endif
