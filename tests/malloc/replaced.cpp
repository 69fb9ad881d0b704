// A program that replaces only the plain operators new and delete, as most do that replace any: all others are built on
// these. Each block has 16 bytes before it, so that nobody else can free it. Exit status 0: each call reached these.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>

namespace {
int news, deletes;
constexpr std::size_t before = 16;
} // namespace

void *operator new(std::size_t size) {
    news++;
    void *block = size < SIZE_MAX / 2 ? std::malloc(size + before) : nullptr;
    if (block == nullptr) throw std::bad_alloc();
    return static_cast<char *>(block) + before;
}

void operator delete(void *block) noexcept {
    if (block == nullptr) return;
    deletes++;
    std::free(static_cast<char *>(block) - before);
}

int main() {
    ::operator delete(::operator new(40));
    ::operator delete(::operator new(40), 40);
    ::operator delete(::operator new(40, std::nothrow), std::nothrow);
    ::operator delete[](::operator new[](40));
    ::operator delete[](::operator new[](40), 40);
    ::operator delete[](::operator new[](40, std::nothrow), std::nothrow);
    std::make_shared<int>(3).reset();
    const volatile std::size_t too_much = SIZE_MAX / 2;
    const bool refused = ::operator new(too_much, std::nothrow) == nullptr;
    constexpr auto at_64 = std::align_val_t{64}; // not replaced: these do not call the plain ones
    ::operator delete(::operator new(40, at_64), 40, at_64);
    ::operator delete[](::operator new[](40, at_64, std::nothrow), at_64);
    std::printf("%d news, %d deletes\n", news, deletes);
    return news == 8 && deletes == 7 && refused ? 0 : 1;
}
