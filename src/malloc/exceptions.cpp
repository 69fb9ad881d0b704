// A try and a throw, the one thing in this library that C cannot express. All that they need is in the C++ runtime, and
// each name of it is weak: nothing is loaded or linked for them, and if one is missing they are not used.
#include "exceptions.h"

#include <new>

#define OF_RUNTIME(name, symbol) extern const char name[] __asm__(symbol) __attribute__((weak))

namespace {

extern "C" {
OF_RUNTIME(personality, "__gxx_personality_v0");
OF_RUNTIME(begin_catch, "__cxa_begin_catch");
OF_RUNTIME(end_catch, "__cxa_end_catch");
OF_RUNTIME(allocate_exception, "__cxa_allocate_exception");
OF_RUNTIME(throw_exception, "__cxa_throw");
OF_RUNTIME(type_of_bad_alloc, "_ZTISt9bad_alloc");
OF_RUNTIME(functions_of_bad_alloc, "_ZTVSt9bad_alloc");
OF_RUNTIME(end_of_bad_alloc, "_ZNSt9bad_allocD1Ev");
}

bool can_catch() { return personality != nullptr && begin_catch != nullptr && end_catch != nullptr; }

bool can_throw() {
    return allocate_exception != nullptr && throw_exception != nullptr && type_of_bad_alloc != nullptr &&
           functions_of_bad_alloc != nullptr && end_of_bad_alloc != nullptr;
}

} // namespace

extern "C" void *flat_take_or_null(flat_taker *take, flat_any_function *by, std::size_t alignment, std::size_t size) {
    if (!can_catch()) return take(by, alignment, size);
    try {
        return take(by, alignment, size);
    } catch (...) {
        return nullptr;
    }
}

extern "C" void flat_throw_bad_alloc() {
    if (can_throw()) throw std::bad_alloc();
}
