// All calls of a recording, of which the slow ones are kept with their causes.
#pragma once

#include "durations.hpp"
#include "evidence.hpp"
#include "first_touch.hpp"
#include "history.hpp"
#include "live_blocks.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <vector>

namespace flat::audit {

inline constexpr std::uint32_t first_touch_operation = AUDIT_CALLS_END;

struct SlowSample {
    std::uint64_t begin = 0, duration = 0, bytes = 0; // times in ticks
    std::uint64_t page_faults = 0, system_calls = 0;
    std::uint32_t operation = 0, stack = 0, thread = 0; // first_touch_operation; serial number, 0: of none
    Cause cause;
};

/// All calls of one operation with one stack.
struct StackSum {
    std::uint32_t operation = 0, stack = 0;
    std::uint64_t count = 0, bytes = 0, total = 0, greatest = 0;
};

struct ThreadSum {
    std::uint64_t calls = 0, total = 0, slow = 0;
};

/// Memory grows with the slow calls, the places, and the pages that were touched.
class SlowCalls final : private HistoryVisitor {
  public:
    struct Limits {
        std::uint64_t over = 0;  // ticks from which a call is slow
        std::uint64_t apart = 0; // ticks between two faults of a burst
        bool by_counts = false;  // the kernel told only how many events there were
        bool all_calls = true;   // false: they were not timed but attributed, and most are not in the recording
        CostOfMachine cost;
    };
    SlowCalls(History &history, const Limits &limits);

    /// Visits the history, once.
    void read();

    const std::vector<SlowSample> &samples() const { return samples_; }
    Durations all(CallKind kind) const;
    /// Of those calls in which no system call was told.
    const Durations &undisturbed(CallKind kind) const {
        return kind == CallKind::takes ? taking_undisturbed_ : giving_undisturbed_;
    }
    std::vector<StackSum> stacks() const;
    const std::map<std::uint32_t, ThreadSum> &threads() const { return threads_; } // by serial number

  private:
    struct Happened {
        KernelEvent event;
        std::optional<LiveBlock> block;
    };
    /// By the system's number of a thread.
    struct Watched {
        std::deque<Happened> events; // since the thread's last call
        FirstTouch touch, within;    // `within`: faults of calls that are only attributed
        std::uint32_t serial = 0;    // of the thread's last call; before any of the first thread of that number
    };

    void on_call(const Call &call) override;
    void on_calls(std::uint32_t thread, std::span<const audit_record> records) override;
    void on_event(const KernelEvent &event) override;
    void announce_questions();
    void finish();
    Watched &watched(std::int32_t thread);
    void change_thread(std::uint32_t serial);
    void take_earlier(Watched &thread, std::uint64_t before);
    std::vector<KernelEvent> take_inner(Watched &thread, std::uint64_t end);
    StackSum &sum_of(std::uint32_t operation, std::uint32_t stack);
    StackSum &new_sum_of(std::uint32_t operation, std::uint32_t stack);
    static void add_time(StackSum &sum, ThreadSum &thread, std::uint64_t duration);
    void count(std::uint32_t operation, std::uint32_t stack, std::uint64_t size, std::uint64_t duration);
    Durations &undisturbed_of(CallKind kind) {
        return kind == CallKind::takes ? taking_undisturbed_ : giving_undisturbed_;
    }
    void take_fast_call(const audit_record &record, std::uint32_t duration);
    void count_duration(const Call &call);
    void keep_if_slow(const Call &call, const Evidence &evidence);
    void follow_blocks(const Call &call);
    void add_touch(const TouchBurst &burst, std::int32_t thread, bool in_call);

    History &history_;
    Limits limits_;
    std::vector<SlowSample> samples_;
    Durations taking_undisturbed_, giving_undisturbed_, taking_told_, giving_told_;
    std::vector<StackSum> sums_;                                             // by stack; `count` 0: there is none
    std::map<std::pair<std::uint32_t, std::uint32_t>, StackSum> other_sums_; // where a stack has two operations
    std::map<std::uint32_t, ThreadSum> threads_;
    std::unordered_map<std::int32_t, std::uint32_t> first_serial_; // by the system's number
    std::unordered_map<std::int32_t, Watched> watched_;
    std::unordered_map<std::int32_t, LiveBlocks> blocks_; // by process
    std::uint32_t last_serial_ = 0;                       // of the last call, with what belongs to its thread
    ThreadSum *last_sum_ = nullptr;
    Watched *last_watched_ = nullptr;
    LiveBlocks *last_blocks_ = nullptr;
};

} // namespace flat::audit
