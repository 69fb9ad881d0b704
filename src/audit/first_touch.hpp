// Page faults that strike in the program, charged to the allocation of the block that was touched.
#pragma once

#include "history.hpp"
#include "live_blocks.hpp"

#include <cstdint>
#include <functional>
#include <optional>

namespace flat::audit {

/// Page faults of one thread in blocks of one place of allocation, one soon after the other.
struct TouchBurst {
    std::uint64_t begin = 0, duration = 0; // the faults' own time, in ticks
    std::uint64_t count = 0;
    LiveBlock block; // the one that was touched last
};

/// Of one thread. Faults belong to one burst while less than `apart` ticks lie between one's end and the next.
class FirstTouch {
  public:
    using Found = std::function<void(const TouchBurst &)>;
    FirstTouch(std::uint64_t apart, Found found) : apart_(apart), found_(std::move(found)) {}

    /// An event of the thread outside of its calls, in order. `block`: what a fault has touched.
    void take(const KernelEvent &event, const std::optional<LiveBlock> &block);

    /// What is still open is told.
    void finish();

  private:
    void end_fault(std::uint64_t time);

    std::uint64_t apart_;
    Found found_;
    TouchBurst burst_;
    std::uint64_t burst_ends_ = 0;
    bool faults_ = false;
    std::uint64_t since_ = 0, away_ = 0, out_since_ = 0; // of the fault: its begin, and time off the processor
    std::optional<LiveBlock> block_;
};

} // namespace flat::audit
