#include "slow_calls.hpp"

#include <algorithm>
#include <iterator>

namespace flat::audit {
namespace {

constexpr std::size_t most_waiting = 1U << 21; // events of a thread that makes no call; then the older half is taken as
                                               // outside of any

constexpr std::size_t most_ancestors = 32; // of a process whose page faults are charged to their blocks

bool told_system_call(const Call &call) {
    return std::any_of(call.details.begin(), call.details.end(),
                       [](auto &detail) { return audit_operation_of(&detail) == AUDIT_SYSTEM_CALL; });
}

bool asks_for_block(const KernelEvent &event) {
    return event.within == 0 && event.kind == KernelEventKind::fault_begins;
}

} // namespace

SlowCalls::SlowCalls(History &history, const Limits &limits) : history_(history), limits_(limits) {
    for (const auto &[serial, entry] : history.threads()) first_serial_.try_emplace(entry.thread, serial);
}

void SlowCalls::read() {
    if (limits_.all_calls) announce_questions();
    history_.visit(*this);
    finish();
}

/// Which addresses will be asked for, of the processes themselves and of those that they come from.
void SlowCalls::announce_questions() {
    std::unordered_map<std::int32_t, std::int32_t> parents;
    history_.for_each_event([&](const KernelEvent &event) {
        if (event.kind == KernelEventKind::forked) parents[event.process] = static_cast<std::int32_t>(event.address);
    });
    history_.for_each_event([&](const KernelEvent &event) {
        if (!asks_for_block(event)) return;
        std::int32_t process = event.process;
        for (std::size_t i = 0; i < most_ancestors; i++) { // a system's numbers are used again: there may be no first
            blocks_[process].expect(event.address);
            const auto parent = parents.find(process);
            if (parent == parents.end()) break;
            process = parent->second;
        }
    });
}

Durations SlowCalls::all(CallKind kind) const {
    Durations durations = undisturbed(kind);
    durations.add(kind == CallKind::takes ? taking_told_ : giving_told_);
    return durations;
}

SlowCalls::Watched &SlowCalls::watched(std::int32_t thread) {
    const auto found = watched_.find(thread);
    if (found != watched_.end()) return found->second;
    const auto bursts = [&](bool in_call) {
        return FirstTouch(limits_.apart,
                          [this, thread, in_call](const TouchBurst &burst) { add_touch(burst, thread, in_call); });
    };
    const auto serial = first_serial_.find(thread);
    return watched_
        .emplace(thread, Watched{{}, bursts(false), bursts(true), serial != first_serial_.end() ? serial->second : 0})
        .first->second;
}

void SlowCalls::on_event(const KernelEvent &event) {
    if (event.kind == KernelEventKind::forked) {
        const auto parent = blocks_.find(static_cast<std::int32_t>(event.address));
        const auto child = blocks_.find(event.process);
        if (parent != blocks_.end() && child != blocks_.end() && parent != child) child->second.inherit(parent->second);
        return;
    }
    if (event.kind == KernelEventKind::executed) {
        if (const auto blocks = blocks_.find(event.process); blocks != blocks_.end()) blocks->second.clear();
        return;
    }
    Watched &thread = watched(event.thread);
    std::optional<LiveBlock> block;
    if (event.within != 0)
        block = LiveBlock{.operation = event.within >> AUDIT_STACK_BITS,
                          .stack = event.within & ((1U << AUDIT_STACK_BITS) - 1)};
    else if (asks_for_block(event))
        block = blocks_[event.process].at(event.address);
    thread.events.push_back({event, block});
    if (thread.events.size() > most_waiting) take_earlier(thread, thread.events[thread.events.size() / 2].event.time);
}

void SlowCalls::take_earlier(Watched &thread, std::uint64_t before) {
    while (!thread.events.empty() && thread.events.front().event.time < before) {
        const auto &[event, block] = thread.events.front();
        const bool in_program = event.within == 0 || event.kind != KernelEventKind::fault_begins;
        const bool in_call = event.within != 0 || event.kind != KernelEventKind::fault_begins;
        if (in_program) thread.touch.take(event, block);
        if (in_call) thread.within.take(event, block);
        thread.events.pop_front();
    }
}

std::vector<KernelEvent> SlowCalls::take_inner(Watched &thread, std::uint64_t end) {
    std::vector<KernelEvent> inner;
    while (!thread.events.empty() && thread.events.front().event.time <= end) {
        inner.push_back(thread.events.front().event);
        thread.events.pop_front();
    }
    return inner;
}

void SlowCalls::on_call(const Call &call) {
    if (call.thread != last_serial_ || last_sum_ == nullptr) change_thread(call.thread);
    if (last_sum_ == nullptr) return;
    std::vector<KernelEvent> inner;
    if (!last_watched_->events.empty()) {
        take_earlier(*last_watched_, call.begin);
        inner = take_inner(*last_watched_, call.end());
    }
    if (limits_.all_calls) {
        count(call.operation, call.stack, call.size, call.duration);
        count_duration(call);
        if (call.duration >= limits_.over)
            keep_if_slow(call, limits_.by_counts ? evidence_by_counts(call, limits_.cost)
                                                 : evidence_by_events(call, inner, limits_.cost));
    } else {
        const Evidence evidence = evidence_of_attributed(call, inner, limits_.cost);
        count(call.operation, call.stack, call.size, evidence.duration);
        keep_if_slow(call, evidence);
    }
    follow_blocks(call);
}

/// Nearly all calls of a program are fast, and nothing happened to their threads meanwhile: these are only counted.
void SlowCalls::on_calls(std::uint32_t thread, std::span<const audit_record> records) {
    for (const audit_record &record : records) {
        const std::uint32_t duration = audit_duration_of(&record);
        const bool is_known = thread == last_serial_ && last_sum_ != nullptr && last_watched_->events.empty();
        if (is_known && limits_.all_calls && duration < limits_.over)
            take_fast_call(record, duration);
        else
            on_call(call_of(thread, record));
    }
}

inline void SlowCalls::take_fast_call(const audit_record &record, std::uint32_t duration) {
    const std::uint32_t operation = audit_operation_of(&record), stack = audit_stack_of(&record);
    const CallKind kind = kind_of(operation);
    const std::uint64_t size = audit_size_of(&record), block = audit_block_of(&record), begin = audit_time_of(&record);
    count(operation, stack, size, duration);
    if (kind == CallKind::trims) return;
    undisturbed_of(kind).add(duration);
    if (kind == CallKind::gives)
        last_blocks_->remove(block, begin);
    else
        last_blocks_->add({block, size, begin + duration, operation, stack});
}

/// A thread whose entry is missing is none: its entry is written before its records.
void SlowCalls::change_thread(std::uint32_t serial) {
    last_sum_ = nullptr;
    const auto entry = history_.threads().find(serial);
    if (entry == history_.threads().end()) return;
    last_serial_ = serial;
    last_sum_ = &threads_[serial];
    last_watched_ = &watched(entry->second.thread); // stays where it is, as what unordered_map holds does
    last_watched_->serial = serial;
    last_blocks_ = &blocks_[entry->second.process];
}

/// A stack ends in the call itself, so that it has one operation, as long as its number is known.
StackSum &SlowCalls::sum_of(std::uint32_t operation, std::uint32_t stack) {
    if (stack < sums_.size() && sums_[stack].operation == operation) return sums_[stack];
    return new_sum_of(operation, stack);
}

StackSum &SlowCalls::new_sum_of(std::uint32_t operation, std::uint32_t stack) {
    if (stack >= sums_.size()) sums_.resize(stack + std::size_t{1});
    const bool is_first = sums_[stack].count == 0;
    StackSum &sum = is_first ? sums_[stack] : other_sums_[{stack, operation}];
    sum.operation = operation;
    sum.stack = stack;
    return sum;
}

std::vector<StackSum> SlowCalls::stacks() const {
    std::vector<StackSum> all;
    std::copy_if(sums_.begin(), sums_.end(), std::back_inserter(all),
                 [](const StackSum &sum) { return sum.count > 0; });
    for (const auto &[key, sum] : other_sums_) all.push_back(sum);
    return all;
}

void SlowCalls::add_time(StackSum &sum, ThreadSum &thread, std::uint64_t duration) {
    sum.count++;
    sum.total += duration;
    sum.greatest = std::max(sum.greatest, duration);
    thread.total += duration;
}

void SlowCalls::count(std::uint32_t operation, std::uint32_t stack, std::uint64_t size, std::uint64_t duration) {
    last_sum_->calls++;
    StackSum &sum = sum_of(operation, stack);
    sum.bytes += kind_of(operation) == CallKind::takes ? size : 0;
    add_time(sum, *last_sum_, duration);
}

void SlowCalls::count_duration(const Call &call) {
    const CallKind kind = kind_of(call.operation);
    if (kind == CallKind::trims) return;
    const bool takes = kind == CallKind::takes;
    if (call.details.empty() || !told_system_call(call))
        undisturbed_of(kind).add(call.duration);
    else
        (takes ? taking_told_ : giving_told_).add(evidence_by_events(call, {}, limits_.cost).duration);
}

void SlowCalls::keep_if_slow(const Call &call, const Evidence &evidence) {
    if (evidence.duration < limits_.over) return;
    SlowSample sample;
    sample.begin = call.begin;
    sample.duration = evidence.duration;
    sample.bytes = call.size;
    sample.page_faults = evidence.fault_count;
    sample.system_calls = evidence.system_call_count;
    sample.operation = call.operation;
    sample.stack = call.stack;
    sample.thread = call.thread;
    sample.cause = evidence.cause();
    samples_.push_back(sample);
    last_sum_->slow += evidence.duration;
}

void SlowCalls::follow_blocks(const Call &call) {
    const CallKind kind = kind_of(call.operation);
    if (kind == CallKind::trims) return;
    if (kind == CallKind::gives) {
        last_blocks_->remove(call.block, call.begin);
        return;
    }
    const bool moved = call.old_block != 0 && (call.block != 0 || call.size == 0);
    if (moved) last_blocks_->remove(call.old_block, call.begin);
    last_blocks_->add({call.block, call.size, call.end(), call.operation, call.stack});
}

void SlowCalls::add_touch(const TouchBurst &burst, std::int32_t thread, bool in_call) {
    const std::uint32_t serial = watched(thread).serial;
    if (in_call) add_time(sum_of(burst.block.operation, burst.block.stack), threads_[serial], burst.duration);
    if (burst.duration < limits_.over) return;
    SlowSample sample;
    sample.begin = burst.begin;
    sample.duration = burst.duration;
    sample.bytes = burst.block.size;
    sample.page_faults = burst.count;
    sample.operation = in_call ? burst.block.operation : first_touch_operation;
    sample.stack = burst.block.stack;
    sample.thread = serial;
    sample.cause = {CauseKind::page_fault, -1};
    samples_.push_back(sample);
    if (serial != 0) threads_[serial].slow += burst.duration;
}

void SlowCalls::finish() {
    for (auto &[number, thread] : watched_) {
        take_earlier(thread, UINT64_MAX);
        thread.touch.finish();
        thread.within.finish();
    }
}

} // namespace flat::audit
