// What happens where C++ leaves no status to return: a free that is refused, and a request that gets nothing.
//
// `deallocate` returns nothing, so a refused free calls the misuse handler; one handler and one line serve every
// resource and allocator here. `allocate` throws std::bad_alloc, and what was asked for is kept for `last_refusal`. In
// code built without exceptions it calls the misuse handler instead and then ends the program: build all of a program
// one way.
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

/// What was refused, and by whom.
struct misuse {
    const char *resource;  ///< the class without its namespace: "pool_resource"
    flat_status status;    ///< why
    const char *what;      ///< the same in words: "double free"
    const void *block;     ///< null where there is none
    std::size_t bytes;     ///< as the caller stated them
    std::size_t alignment; ///< as the caller stated it
};

/// Called on the thread that made the call, after it was refused and with nothing changed; holds no lock of ours. It
/// may return, and then the call that was refused returns too, without effect. It must not throw.
using misuse_handler = void (*)(const misuse &incident);

/// The last request that any resource refused for want of memory.
struct refusal {
    const char *resource;  ///< who was asked; null: nothing was refused yet
    std::size_t bytes;     ///< as asked for
    std::size_t alignment; ///< as asked for
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
        std::fprintf(stderr, "flatline: %s: %s of %p (%zu bytes)\n", of.resource, of.what, of.block, of.bytes);
    }
}

/// Calls the handler that is set, or prints one line and ends the program.
__attribute__((noinline, cold)) inline void report(const misuse &of) {
    if (const misuse_handler handler = current_misuse_handler().load(std::memory_order_acquire)) return handler(of);
    print(of);
    std::abort();
}

/// A free of `block` that was refused as `status` says.
__attribute__((noinline, cold)) inline void report_refused_free(const char *resource, flat_status status,
                                                                const void *block, std::size_t bytes,
                                                                std::size_t alignment) {
    const char *what = status == FLAT_DOUBLE_FREE        ? "double free"
                       : status == FLAT_INTERIOR_POINTER ? "free of the interior pointer"
                                                         : "free of the foreign pointer";
    if (status != FLAT_DOUBLE_FREE && status != FLAT_INTERIOR_POINTER) status = FLAT_FOREIGN_POINTER;
    report({resource, status, what, block, bytes, alignment});
}

/// Keeps the record and throws std::bad_alloc.
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

/// Sets the handler of this program; null: the default, which prints one line to standard error, such as
///     flatline: pool_resource: double free of 0x7f0000001040 (48 bytes)
/// and calls std::abort. Returns the one before, null for the default. Any thread.
inline misuse_handler set_misuse_handler(misuse_handler handler) noexcept {
    return detail::current_misuse_handler().exchange(handler, std::memory_order_acq_rel);
}

/// The last request that was refused, by whichever thread. Any thread; takes a lock that only refusals take.
inline refusal last_refusal() noexcept {
    detail::refusals &all = detail::all_refusals();
    const std::lock_guard<std::mutex> lock(all.mutex);
    return all.last;
}

} // namespace flat

#endif
