// What the kernel says of a program's threads: their page faults, and when they are taken from a processor. By software
// events of perf, which need no right beyond the program's own as long as perf_event_paranoid is at most 2.
#pragma once

#include "recording.hpp"

#include <cstdint>
#include <memory>
#include <vector>

#include <sys/types.h>

namespace flat::audit {

/// Where this machine does not allow it: why, as the end of a sentence that begins with what cannot be told.
struct EventsRefused {
    std::string why;
};

/// One ring a processor, for a process, its threads and its children. One thread at a time.
class KernelEvents {
  public:
    /// For a process that has not executed its program yet: it begins when that does. With `finds_calls`, the stack
    /// that a fault finds is searched for the call that is on it. Throws EventsRefused.
    explicit KernelEvents(pid_t process, bool finds_calls);
    ~KernelEvents();
    KernelEvents(const KernelEvents &) = delete;
    KernelEvents &operator=(const KernelEvents &) = delete;

    /// Appends what has happened since the last time: those of each processor in their order.
    void read(std::vector<KernelEvent> &events);

    /// Events for which the rings had no room.
    std::uint64_t lost() const { return lost_; }

  private:
    struct Ring;
    std::vector<std::unique_ptr<Ring>> rings_; // by processor
    std::uint64_t lost_ = 0;
};

} // namespace flat::audit
