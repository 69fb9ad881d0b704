// Misuse and exhaustion in C++, where no status can be returned: a free that is refused, and a request that fails.
//
// `deallocate` returns nothing, so a refused free calls the misuse handler. One handler and one line of text serve
// every resource and allocator here. `allocate` throws std::bad_alloc, and `last_refusal` returns the request. In code
// built without exceptions it calls the misuse handler instead and then ends the program: build all of a program one
// way.
#ifndef FLATLINE_MISUSE_HPP
#define FLATLINE_MISUSE_HPP

#include <flatline/status.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>

namespace flat {

/// A refused call, and the class that refused it.
struct misuse {
    const char *resource;  ///< the class without its namespace: "pool_resource"
    flat_status status;    ///< why
    const char *what;      ///< the same in words: "double free"
    const void *block;     ///< null if there is none
    std::size_t bytes;     ///< as the caller gave them
    std::size_t alignment; ///< as the caller gave it
};

/// Called on the thread that made the refused call, after the refusal and with nothing changed; Flatline holds no lock
/// meanwhile. It may return; then the refused call returns too, without effect. It must not throw.
using misuse_handler = void (*)(const misuse &incident);

/// The last request that any resource refused because it was out of memory.
struct refusal {
    const char *resource;  ///< the class that was asked; null: nothing was refused yet
    std::size_t bytes;     ///< as requested
    std::size_t alignment; ///< as requested
    std::uint64_t count;   ///< refused requests since the program began
};

namespace detail {

FLAT_API inline std::atomic<misuse_handler> &current_misuse_handler() noexcept {
    static std::atomic<misuse_handler> handler{nullptr};
    return handler;
}

struct refusals {
    std::mutex mutex;
    refusal last{nullptr, 0, 0, 0};
};

FLAT_API inline refusals &all_refusals() noexcept {
    static refusals all;
    return all;
}

inline void print(const misuse &of) noexcept {
    if (of.status == FLAT_OUT_OF_MEMORY) {
        std::fprintf(stderr, "flatline: %s: %s for %zu bytes at alignment %zu\n", of.resource, of.what, of.bytes,
                     of.alignment);
    } else if (of.status == FLAT_INVALID_ARGUMENT) {
        std::fprintf(stderr, "flatline: %s: %s\n", of.resource, of.what);
    } else {
        const char *of_what = of.status == FLAT_DOUBLE_FREE ? " of" : "";
        std::fprintf(stderr, "flatline: %s: %s%s %p (%zu bytes)\n", of.resource, of.what, of_what, of.block, of.bytes);
    }
}

/// Calls the handler that is set, or prints one line and ends the program.
__attribute__((noinline, cold)) inline void report(const misuse &of) {
    if (const misuse_handler handler = current_misuse_handler().load(std::memory_order_acquire)) return handler(of);
    print(of);
    std::abort();
}

/// Reports a free of `block` that was refused with `status`.
__attribute__((noinline, cold)) inline void report_refused_free(const char *resource, flat_status status,
                                                                const void *block, std::size_t bytes,
                                                                std::size_t alignment) {
    const char *what = status == FLAT_DOUBLE_FREE        ? "double free"
                       : status == FLAT_INTERIOR_POINTER ? "free of the interior pointer"
                                                         : "free of the foreign pointer";
    if (status != FLAT_DOUBLE_FREE && status != FLAT_INTERIOR_POINTER) status = FLAT_FOREIGN_POINTER;
    report({resource, status, what, block, bytes, alignment});
}

/// Records the request and throws std::bad_alloc.
[[noreturn]] __attribute__((noinline, cold)) inline void refuse(const char *resource, std::size_t bytes,
                                                                std::size_t alignment) {
    {
        refusals &all = all_refusals();
        const std::lock_guard<std::mutex> lock(all.mutex);
        all.last = {resource, bytes, alignment, all.last.count + 1};
    }
#if defined(__cpp_exceptions)
    throw std::bad_alloc();
#else
    const misuse exhausted{resource, FLAT_OUT_OF_MEMORY, "no memory", nullptr, bytes, alignment};
    report(exhausted);
    print(exhausted);
    std::abort();
#endif
}

} // namespace detail

/// Sets the misuse handler of this program; null sets the default, which prints one line to standard error, such as
///     flatline: pool_resource: double free of 0x7f0000001040 (48 bytes)
/// and calls std::abort. Returns the previous handler, null for the default. Any thread.
inline misuse_handler set_misuse_handler(misuse_handler handler) noexcept {
    return detail::current_misuse_handler().exchange(handler, std::memory_order_acq_rel);
}

/// The last request that was refused, on any thread. Any thread; takes a lock that only refusals take.
inline refusal last_refusal() noexcept {
    detail::refusals &all = detail::all_refusals();
    const std::lock_guard<std::mutex> lock(all.mutex);
    return all.last;
}

} // namespace flat

#endif
