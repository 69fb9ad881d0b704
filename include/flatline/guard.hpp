// A section that may not allocate, wait or call the operating system, as an object: see <flatline/guard.h>.
//
//     void callback(std::span<float> samples) {
//         const flat::guard section;
//         process(samples);
//     }
#pragma once

#include <flatline/guard.h>

namespace flat {

/// The section of the calling thread from here to the end of the scope, however that is left. The thread that made it
/// must destroy it.
class guard {
  public:
    __attribute__((always_inline)) guard() noexcept { flat_guard_enter(); }
    __attribute__((always_inline)) ~guard() { flat_guard_leave(); }
    guard(const guard &) = delete;
    guard &operator=(const guard &) = delete;
};

} // namespace flat
