// The same as replaced.cpp for the aligned operators and those of arrays.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {
int news, deletes, many, many_given;
} // namespace

void *operator new(std::size_t size, std::align_val_t to) {
    news++;
    const auto alignment = static_cast<std::size_t>(to);
    void *block = std::aligned_alloc(alignment, (size + 2 * alignment - 1) / alignment * alignment);
    if (block == nullptr) throw std::bad_alloc();
    return static_cast<char *>(block) + alignment;
}

void operator delete(void *block, std::align_val_t to) noexcept {
    deletes++;
    std::free(static_cast<char *>(block) - static_cast<std::size_t>(to));
}

void *operator new[](std::size_t size) {
    many++;
    void *block = std::malloc(size + 16);
    if (block == nullptr) throw std::bad_alloc();
    return static_cast<char *>(block) + 16;
}

void operator delete[](void *block) noexcept {
    many_given++;
    std::free(static_cast<char *>(block) - 16);
}

int main() {
    constexpr auto at_64 = std::align_val_t{64};
    ::operator delete(::operator new(40, at_64), at_64);
    ::operator delete(::operator new(40, at_64), 40, at_64);
    ::operator delete(::operator new(40, at_64, std::nothrow), at_64, std::nothrow);
    ::operator delete[](::operator new[](40, at_64), at_64);
    ::operator delete[](::operator new[](40, at_64), 40, at_64);
    ::operator delete[](::operator new[](40, at_64, std::nothrow), at_64, std::nothrow);
    ::operator delete[](::operator new[](40), 40);
    ::operator delete[](::operator new[](40, std::nothrow), std::nothrow);
    ::operator delete(::operator new(40), 40); // not replaced
    std::printf("%d news, %d deletes, %d news of arrays, %d deletes\n", news, deletes, many, many_given);
    return news == 6 && deletes == 6 && many == 2 && many_given == 2 ? 0 : 1;
}
