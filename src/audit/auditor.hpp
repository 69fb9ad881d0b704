// The audit's side of a session: a thread of this process takes the records out as programs write them, and keeps them
// in a recording together with what the kernel says meanwhile.
#pragma once

#include "kernel_events.hpp"
#include "recording.hpp"
#include "session.h"

#include "preload/session_memory.hpp"

#include <atomic>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <sys/types.h>

namespace flat::audit {

struct AuditorOptions {
    std::filesystem::path out;      // the recording
    std::vector<std::string> words; // of the command, for the recording
    std::string under, machine;     // the allocator and the machine, for the recording
    double over_ns = 10000;         // from which a call is slow
    bool tells_system_calls = true;
    bool attributes = false; // calls are not timed: those with page faults or system calls alone are told
};

class Auditor {
  public:
    /// Creates the session and the recording. Throws std::system_error iff one cannot be created.
    explicit Auditor(const AuditorOptions &options);
    /// As `finish`, for an audit that is given up.
    ~Auditor();
    Auditor(const Auditor &) = delete;
    Auditor &operator=(const Auditor &) = delete;

    /// What the program's environment must have as AUDIT_SESSION_VARIABLE.
    std::string session_path() const { return memory_.path(); }

    /// Begins, for a process that is about to execute the program.
    void begin(pid_t process);

    /// Whether a SIGSYS that ended the program may have been the audit's own.
    bool may_have_ended_program() const;

    /// After the program has ended: takes the rest and closes the recording. `status`: how it ended. Returns the number
    /// of processes that were under the audit. Throws what the thread could not do.
    std::uint64_t finish(int status);

  private:
    void write_start(const AuditorOptions &options, std::uint64_t begin_ns);
    void run();
    void take_round();
    void take_events();
    void put_places(std::span<const KernelEvent> events);
    void keep_touches();
    std::uint64_t fault_outside() const;
    void take_records();
    void take_from(audit_segment &segment, std::uint32_t number);
    void put_records(audit_slot &slot, std::span<const audit_record> records);
    void put_entries(std::span<const audit_record> records);
    std::span<const std::uint64_t> put_entry(std::uint32_t entry);
    void put_stack(std::uint32_t stack);
    void write_new_entries();
    void put_thread(const audit_slot &slot);
    std::vector<bool> slots_of_ended_threads();
    void add_slots_of_the_silent(std::vector<bool> &gone) const;
    void close_ended();
    void free_ended();
    void write_costs();
    void write_end(int status);
    void stop();

    preload::SessionMemory<audit_session> memory_;
    RecordingWriter writer_;
    std::unique_ptr<KernelEvents> events_;
    std::string refused_;                       // why there are none
    std::vector<std::uint32_t> taken_;          // records of each segment that are already in the recording
    std::uint32_t used_slots_ = 0;              // the first ones: a thread takes the first that is free
    std::vector<std::uint32_t> written_serial_; // of each slot: whose entry was written last
    std::vector<bool> known_;                   // entries that the recording has
    std::vector<std::uint64_t> new_entries_;    // as a frame has them
    std::vector<KernelEvent> found_;
    std::vector<KernelEvent> first_faults_; // until the costs are known
    double ticks_per_ns_ = 1;
    bool measured_ = false, has_costs_ = false;
    std::uint64_t rounds_ = 0, busiest_ = 0; // busiest: records of the last round
    std::atomic<bool> ends_{false};
    std::thread thread_;
    std::exception_ptr trouble_;
};

} // namespace flat::audit
