// The part of a recording that a plan or a replay is for: one phase, one thread, both, or all.
#pragma once

#include "audit/block_history.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace flat::cli {

/// What was asked for.
struct PartNames {
    std::string phase;  // empty: all
    std::string thread; // its name, its number, or both, as "name (number)"; empty: all

    bool is_whole() const { return phase.empty() && thread.empty(); }
};

/// "name (number)".
std::string thread_name(const audit::ThreadEntry &entry);

/// The part, of one program of the recording. A block belongs to the phase in which it was taken, and to the thread
/// that took it, whoever gives it back.
class ChosenPart {
  public:
    /// Throws std::runtime_error, with a message that says what to do, iff the program has not exactly one such thread.
    ChosenPart(const audit::History &history, audit::ProgramRun program, PartNames names);

    /// The serial number that stands for the thread of this one, which must be of the program: a thread that calls
    /// after its end was told has two.
    std::uint32_t same_thread(std::uint32_t serial) const { return same_.at(serial); }
    /// Whether the program has this thread, by the system's numbers.
    bool has_thread(std::int32_t process, std::int32_t thread) const { return threads_.contains({process, thread}); }

    bool is_of_thread(const audit::BlockStep &step) const { return !thread_ || *thread_ == same_thread(step.owner); }
    bool is_in_phase(const audit::BlockStep &step, const audit::BlockHistory &blocks) const {
        return names_.phase.empty() || blocks.phases()[step.phase] == names_.phase;
    }

    /// The chosen thread's name; empty: all.
    std::string chosen_thread(const audit::History &history) const;

    /// Throws std::runtime_error, with a message that says what to do, iff the phase is none of `phases`, or there was
    /// no request.
    void require_requests(const std::vector<std::string> &phases, std::uint64_t requests) const;

  private:
    std::uint32_t thread_named(const audit::History &history, audit::ProgramRun program) const;

    PartNames names_;
    std::set<std::pair<std::int32_t, std::int32_t>> threads_; // of the program, by the system's numbers
    std::unordered_map<std::uint32_t, std::uint32_t> same_;   // serial numbers of the program's threads
    std::optional<std::uint32_t> thread_;                     // serial number
};

} // namespace flat::cli
