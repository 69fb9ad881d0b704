// A recording as what happened: calls with all that is known of each, phases, and the kernel's events, by thread or all
// in the order of time.
#pragma once

#include "recording.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <nlohmann/json.hpp>

namespace flat::audit {

/// Times are in ticks of the processor's clock since the session began. `details` is valid during the visit.
struct Call {
    std::uint32_t operation = AUDIT_NONE; // of AUDIT_CALLS
    std::uint32_t thread = 0;             // serial number
    std::uint32_t stack = 0;              // 0: not known
    std::uint64_t begin = 0, duration = 0;
    std::uint64_t size = 0;      // bytes that were asked for; of realloc the new size; of malloc_trim what stays
    std::uint64_t block = 0;     // that was returned or freed; 0: none
    std::uint64_t old_block = 0; // that realloc was given
    std::uint64_t alignment = 0; // that was asked for; 0: none
    std::span<const audit_record> details; // AUDIT_SYSTEM_CALL, AUDIT_FAULTS, AUDIT_SWITCHES

    std::uint64_t end() const { return begin + duration; }
};

/// What the record alone tells of a call.
Call call_of(std::uint32_t thread, const audit_record &record);

enum class CallKind { takes, gives, trims };

/// Of an operation of AUDIT_CALLS; of any other: `trims`.
constexpr CallKind kind_of(std::uint32_t operation) {
    if (operation > AUDIT_NONE && operation < AUDIT_FREE) return CallKind::takes;
    return operation >= AUDIT_FREE && operation <= AUDIT_DELETE_ARRAY ? CallKind::gives : CallKind::trims;
}

/// The function's name.
const char *name_of(std::uint32_t operation);

/// What a visit is told. A phase begins at `time`, and `name` is interned.
class HistoryVisitor {
  public:
    virtual ~HistoryVisitor() = default;
    virtual void on_call(const Call &call) = 0;
    /// Calls of a thread, one after another, of which no details are known. Tells each of them to on_call, unless it is
    /// done otherwise.
    virtual void on_calls(std::uint32_t thread, std::span<const audit_record> records);
    virtual void on_phase(std::uint32_t /*thread*/, std::uint64_t /*time*/, const std::string & /*name*/) {}
    /// With its time in ticks since the session began.
    virtual void on_event(const KernelEvent & /*event*/) {}
};

class History {
  public:
    /// Reads all but the calls. Throws std::runtime_error, which says what to do, iff the file is no recording or has
    /// nothing to read in it.
    explicit History(const std::filesystem::path &file);

    /// By the order in which calls ended and events happened. One whose record was written late, as by a thread that
    /// was preempted meanwhile, comes later; each thread's own are always in their order. Memory grows with what was
    /// taken out at a time, not with the recording.
    void visit(HistoryVisitor &visitor);

    /// The kernel's events alone, in the order in which they were written, and with their times as the kernel told
    /// them.
    void for_each_event(const std::function<void(const KernelEvent &)> &tell);

    const nlohmann::json &start() const { return start_; }
    const nlohmann::json &end() const { return end_; } // an empty object if the recording was cut
    bool is_whole() const { return whole_; }
    /// Throws std::runtime_error, which says what to do, iff calls were attributed alone (--causes): then most are not
    /// in the recording.
    void require_calls() const;

    /// By serial number, as each was written last.
    const std::map<std::uint32_t, ThreadEntry> &threads() const { return threads_; }

    double ns(std::uint64_t ticks) const { return static_cast<double>(ticks) / ticks_per_ns_; }
    std::uint64_t last_tick() const { return last_tick_; } // of the last look at both clocks, since the session began

    /// An interned text; empty if it is not known.
    std::string text(std::uint32_t entry) const;
    /// The frames of a stack, innermost first, as src/preload/stacks.h has them; none if it is not known.
    std::vector<std::uint64_t> frames(std::uint32_t stack) const;

  private:
    void read_entries(std::span<const std::byte> payload);
    std::uint64_t word_of(std::uint32_t entry) const;
    void set_clock(const ClockPair &first, const ClockPair &last);
    std::uint64_t ticks_of(std::uint64_t ns) const;
    friend class MergedHistory;

    RecordingReader reader_;
    nlohmann::json start_ = nlohmann::json::object(), end_ = nlohmann::json::object();
    bool whole_ = false;
    std::map<std::uint32_t, ThreadEntry> threads_;
    std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> entries_;
    ClockPair first_clock_;
    double ticks_per_ns_ = 1;
    std::uint64_t last_tick_ = 0, begin_ticks_ = 0;
};

} // namespace flat::audit
