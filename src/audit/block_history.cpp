#include "block_history.hpp"

#include <algorithm>

namespace flat::audit {

ProgramRun main_program(const History &history) {
    std::map<ProgramRun, std::uint64_t> calls;
    for (const auto &[serial, entry] : history.threads()) calls[{entry.process, entry.program}] += entry.calls;
    const auto most =
        std::max_element(calls.begin(), calls.end(), [](const auto &a, const auto &b) { return a.second < b.second; });
    return most == calls.end() ? ProgramRun{} : most->first;
}

BlockHistory::BlockHistory(const History &history, ProgramRun program, BlockVisitor &visitor) : visitor_(visitor) {
    for (const auto &[serial, entry] : history.threads()) {
        if (ProgramRun{entry.process, entry.program} == program) ours_.insert(serial);
    }
}

void BlockHistory::on_phase(std::uint32_t thread, std::uint64_t /*time*/, const std::string &name) {
    if (!is_ours(thread)) return;
    const auto [found, is_new] = phase_index_.try_emplace(name, static_cast<std::uint32_t>(phases_.size()));
    if (is_new) phases_.push_back(name);
    phase_ = found->second;
}

void BlockHistory::on_call(const Call &call) {
    if (!is_ours(call.thread)) return;
    switch (kind_of(call.operation)) {
    case CallKind::takes:
        if (call.block != 0)
            take(call);
        else if (call.size == 0 && call.old_block != 0) // realloc to nothing; any other leaves the old block as it is
            give(call, call.old_block);
        break;
    case CallKind::gives:
        if (call.block != 0) give(call, call.block);
        break;
    case CallKind::trims: break;
    }
}

void BlockHistory::take(const Call &call) {
    if (call.old_block != call.block) end_earlier(call);
    if (free_slots_.empty()) {
        free_slots_.push_back(static_cast<std::uint32_t>(blocks_.size()));
        blocks_.emplace_back();
    }
    const std::uint32_t slot = free_slots_.back();
    free_slots_.pop_back();
    BlockStep step{slot,
                   call.thread,
                   call.thread,
                   phase_,
                   std::max<std::uint64_t>(call.size, 1),
                   std::max<std::uint64_t>(call.alignment, 1),
                   nullptr};
    blocks_[slot] = {step, call.end()};
    step.call = &call;
    visitor_.on_take(step);
    if (call.old_block != 0) {
        ++resizes_;
        give(call, call.old_block);
    }
    live_[call.block] = slot;
}

/// A block that is taken where another is live: that one was given back meanwhile, by a call that ends later.
void BlockHistory::end_earlier(const Call &call) {
    const auto found = live_.find(call.block);
    if (found == live_.end()) return;
    ++early_[call.block];
    give_slot(call, found->second);
    live_.erase(found);
}

void BlockHistory::give(const Call &call, std::uint64_t address) {
    const auto found = live_.find(address);
    const auto early = early_.find(address);
    if (early != early_.end() && (found == live_.end() || blocks_[found->second].born > call.begin)) {
        if (--early->second == 0) early_.erase(early);
    } else if (found == live_.end()) {
        ++unknown_;
    } else {
        give_slot(call, found->second);
        live_.erase(found);
    }
}

void BlockHistory::give_slot(const Call &call, std::uint32_t slot) {
    BlockStep step = blocks_[slot].step;
    step.thread = call.thread;
    step.call = &call;
    visitor_.on_give(step);
    free_slots_.push_back(slot);
}

} // namespace flat::audit
