// C++'s twenty operators: each is this library's, each delete takes the blocks of the matching new, and refusals follow
// the standard.
#include "refusals.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <dlfcn.h>
#include <new>
#include <string>
#include <vector>

namespace {

constexpr auto at_64 = std::align_val_t{64};

bool is_ours(const char *symbol) {
    Dl_info info{};
    void *function = dlsym(RTLD_DEFAULT, symbol);
    return function != nullptr && dladdr(function, &info) != 0 &&
           std::string(info.dli_fname).find("libflatline-malloc.so") != std::string::npos;
}

TEST(malloc_operators, are_all_twenty_here) {
    for (const char *symbol : {"_Znwm",
                               "_Znam",
                               "_ZnwmRKSt9nothrow_t",
                               "_ZnamRKSt9nothrow_t",
                               "_ZnwmSt11align_val_t",
                               "_ZnamSt11align_val_t",
                               "_ZnwmSt11align_val_tRKSt9nothrow_t",
                               "_ZnamSt11align_val_tRKSt9nothrow_t",
                               "_ZdlPv",
                               "_ZdaPv",
                               "_ZdlPvm",
                               "_ZdaPvm",
                               "_ZdlPvRKSt9nothrow_t",
                               "_ZdaPvRKSt9nothrow_t",
                               "_ZdlPvSt11align_val_t",
                               "_ZdaPvSt11align_val_t",
                               "_ZdlPvmSt11align_val_t",
                               "_ZdaPvmSt11align_val_t",
                               "_ZdlPvSt11align_val_tRKSt9nothrow_t",
                               "_ZdaPvSt11align_val_tRKSt9nothrow_t"}) {
        EXPECT_TRUE(is_ours(symbol)) << symbol;
    }
}

TEST(malloc_operators, take_what_their_like_gave) {
    ::operator delete(::operator new(40));
    ::operator delete[](::operator new[](40));
    ::operator delete(::operator new(40), 40);
    ::operator delete[](::operator new[](40), 40);
    ::operator delete(::operator new(40, std::nothrow), std::nothrow);
    ::operator delete[](::operator new[](40, std::nothrow), std::nothrow);
    void *block = ::operator new(40, at_64);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0U);
    ::operator delete(block, at_64);
    ::operator delete[](::operator new[](40, at_64), at_64);
    ::operator delete(::operator new(40, at_64), 40, at_64);
    ::operator delete[](::operator new[](40, at_64), 40, at_64);
    ::operator delete(::operator new(40, at_64, std::nothrow), at_64, std::nothrow);
    ::operator delete[](::operator new[](40, at_64, std::nothrow), at_64, std::nothrow);
    ::operator delete(nullptr);
}

const volatile std::size_t too_much = SIZE_MAX / 2;

TEST(malloc_operators, throw_what_the_standard_says_where_there_is_no_memory) {
    EXPECT_THROW((void)::operator new(too_much), std::bad_alloc);
    EXPECT_THROW((void)::operator new[](too_much), std::bad_alloc);
    EXPECT_THROW((void)::operator new(too_much, at_64), std::bad_alloc);
    EXPECT_EQ(::operator new(too_much, std::nothrow), nullptr);
    EXPECT_EQ(::operator new[](too_much, at_64, std::nothrow), nullptr);
}

// Tests the eight operators new with a handler that has nothing to free and throws one exception or another.
TEST(malloc_operators, give_null_where_they_may_not_throw_and_the_handler_does) {
    EXPECT_EQ(test::refusals(), 0);
    EXPECT_EQ(test::handler_calls, 8);
}

int handler_calls = 0;

TEST(malloc_operators, ask_the_new_handler_until_it_gives_up) {
    handler_calls = 0;
    std::set_new_handler([] {
        if (++handler_calls == 3) std::set_new_handler(nullptr);
    });
    EXPECT_THROW((void)::operator new(too_much), std::bad_alloc);
    EXPECT_EQ(handler_calls, 3);
    struct gave_up {};
    std::set_new_handler([] { throw gave_up{}; });
    EXPECT_THROW((void)::operator new(too_much), gave_up);
    std::set_new_handler(nullptr);
}

} // namespace
