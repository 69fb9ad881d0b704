#include "first_touch.hpp"

namespace flat::audit {

void FirstTouch::take(const KernelEvent &event, const std::optional<LiveBlock> &block) {
    switch (event.kind) {
    case KernelEventKind::fault_begins:
        faults_ = true;
        since_ = event.time;
        away_ = out_since_ = 0;
        block_ = block;
        break;
    case KernelEventKind::minor_fault_ends:
    case KernelEventKind::major_fault_ends:
        if (faults_) end_fault(event.time);
        faults_ = false;
        break;
    case KernelEventKind::preempted: out_since_ = event.time; break;
    case KernelEventKind::blocked: out_since_ = 0; break; // a fault that waits for its page is one all the same
    case KernelEventKind::runs_on:
        if (out_since_ != 0) away_ += event.time - out_since_;
        out_since_ = 0;
        break;
    case KernelEventKind::forked:
    case KernelEventKind::executed: break; // of processes, not of a fault
    }
}

void FirstTouch::end_fault(std::uint64_t time) {
    if (!block_) return;
    const bool goes_on = burst_.count > 0 && block_->stack == burst_.block.stack &&
                         block_->operation == burst_.block.operation && since_ < burst_ends_ + apart_;
    if (!goes_on) {
        finish();
        burst_.begin = since_;
    }
    burst_.duration += time - since_ > away_ ? time - since_ - away_ : 0;
    burst_.count++;
    burst_.block = *block_;
    burst_ends_ = time;
}

void FirstTouch::finish() {
    if (burst_.count > 0) found_(burst_);
    burst_ = {};
}

} // namespace flat::audit
