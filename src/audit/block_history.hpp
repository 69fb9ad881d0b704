// What a program did with its blocks, from a recording: each block that it took and gave back, in order.
#pragma once

#include "history.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace flat::audit {

/// A block that is taken or given back.
struct BlockStep {
    std::uint32_t slot = 0;                // unique among the blocks that are live, and as small as possible
    std::uint32_t thread = 0;              // serial number of the thread that calls
    std::uint32_t owner = 0;               // serial number of the thread that took the block
    std::uint32_t phase = 0;               // in which the block was taken: an index in BlockHistory::phases
    std::uint64_t size = 0, alignment = 1; // bytes, at least 1
    const Call *call = nullptr;            // valid during the visit
};

class BlockVisitor {
  public:
    virtual ~BlockVisitor() = default;
    virtual void on_take(const BlockStep &step) = 0;
    virtual void on_give(const BlockStep &step) = 0;
};

/// One program in one process: another program that the process executes later is another one.
struct ProgramRun {
    std::int32_t process = 0;
    std::uint32_t program = 0; // the interned path
    bool operator==(const ProgramRun &) const = default;
    auto operator<=>(const ProgramRun &) const = default;
};

/// The one with the most calls; of a recording without any call a process that does not exist.
ProgramRun main_program(const History &history);

/// Follows the blocks of one program during a visit of a history. Memory grows with the blocks that are live at a time.
///
/// A resize takes its new block before it gives the old one back, as it must where it cannot be done in place. A call
/// that has returned no block is no step.
class BlockHistory final : public HistoryVisitor {
  public:
    BlockHistory(const History &history, ProgramRun program, BlockVisitor &visitor);

    void on_call(const Call &call) override;
    void on_phase(std::uint32_t thread, std::uint64_t time, const std::string &name) override;

    /// By their first begin. The first one, "start", lasts until the program names another.
    const std::vector<std::string> &phases() const { return phases_; }

    std::uint64_t resizes() const { return resizes_; } // of a block to another size
    /// Blocks that were given back and not taken before: they are from before the audit, or their call was dropped.
    std::uint64_t unknown() const { return unknown_; }

  private:
    struct Block {
        BlockStep step;
        std::uint64_t born = 0; // when the call that returned it ended
    };

    void take(const Call &call);
    void end_earlier(const Call &call);
    void give(const Call &call, std::uint64_t address);
    void give_slot(const Call &call, std::uint32_t slot);
    bool is_ours(std::uint32_t thread) const { return ours_.count(thread) != 0; }

    BlockVisitor &visitor_;
    std::unordered_set<std::uint32_t> ours_; // serial numbers of threads
    std::vector<std::string> phases_{"start"};
    std::map<std::string, std::uint32_t> phase_index_{{"start", 0}};
    std::uint32_t phase_ = 0;
    std::vector<Block> blocks_; // by slot
    std::vector<std::uint32_t> free_slots_;
    std::unordered_map<std::uint64_t, std::uint32_t> live_;  // slot by address
    std::unordered_map<std::uint64_t, std::uint64_t> early_; // by address: gives that were told and not seen yet
    std::uint64_t resizes_ = 0, unknown_ = 0;
};

} // namespace flat::audit
