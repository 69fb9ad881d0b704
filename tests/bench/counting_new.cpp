// A preload library with counting versions of operator new and delete. It prints both counts at the process's end.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

struct counts {
    unsigned long made = 0, ended = 0;
    ~counts() { std::fprintf(stderr, "new: %lu, delete: %lu\n", made, ended); }
} count;

} // namespace

void *operator new(std::size_t size) {
    ++count.made;
    void *object = std::malloc(size);
    if (object == nullptr) throw std::bad_alloc();
    return object;
}

void operator delete(void *object) noexcept {
    ++count.ended;
    std::free(object);
}

void operator delete(void *object, std::size_t) noexcept {
    ++count.ended;
    std::free(object);
}
