#include "replay_work.hpp"

#include "audit/analysis.hpp"
#include "audit/block_history.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <stdexcept>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

namespace flat::cli {
namespace {

constexpr std::size_t most_operations = std::size_t{1} << 29; // 8 GiB of them
constexpr const char *first_touch = "first touch";

class Writer : public audit::BlockVisitor {
  public:
    Writer(audit::History &history, const WorkChoice &choice, RecordedWork &made)
        : history_(history), choice_(choice), made_(made) {
        index_slow_calls();
        audit::BlockHistory blocks(history, audit::main_program(history), *this);
        blocks_ = &blocks;
        history.visit(blocks);
        blocks_ = nullptr;
        made_.left_out += slow_.size();
        made_.threads = made_.work.threads;
    }

    void on_take(const audit::BlockStep &step) override {
        if (!choice_.phase.empty() && blocks_->phases()[step.phase] != choice_.phase) return;
        add(step, true);
    }

    void on_give(const audit::BlockStep &step) override {
        if (!choice_.phase.empty() && blocks_->phases()[step.phase] != choice_.phase) return;
        add(step, false);
    }

  private:
    using Begin = std::tuple<std::int32_t, std::int32_t, double>; // of a call: its process and thread, and the time

    void index_slow_calls() {
        for (const audit::SlowCall &call : made_.findings.slow_calls) {
            const audit::ThreadFinding &thread = made_.findings.threads.at(call.thread);
            if (made_.findings.stalls[call.stall].operation == first_touch)
                ++made_.left_out;
            else
                slow_[{thread.process, thread.thread, call.at_ns}] = &call;
        }
    }

    void add(const audit::BlockStep &step, bool takes) {
        std::vector<replay_operation> &operations = made_.work.operations;
        if (operations.size() >= most_operations)
            throw std::runtime_error("the recording has more calls than can be replayed: choose a phase by --phase");
        note_if_slow(*step.call);
        const auto [thread, is_new] = threads_.try_emplace(step.thread, made_.work.threads);
        if (is_new && ++made_.work.threads >= REPLAY_MOST_THREADS)
            throw std::runtime_error("the recording has more threads than can be replayed: choose a phase by --phase");
        made_.work.slots = std::max(made_.work.slots, step.slot + 1);
        operations.push_back({size_of(step), step.slot, static_cast<std::uint16_t>(thread->second),
                              static_cast<std::uint8_t>(takes),
                              static_cast<std::uint8_t>(std::bit_width(step.alignment) - 1)});
    }

    /// A resize is two operations, of which the first stands for it.
    void note_if_slow(const audit::Call &call) {
        const audit::ThreadEntry &thread = history_.threads().at(call.thread);
        const auto found = slow_.find({thread.process, thread.thread, history_.ns(call.begin)});
        if (found == slow_.end()) return;
        made_.stalls.push_back({made_.work.operations.size(), found->second->stall, found->second->duration_ns});
        slow_.erase(found);
    }

    std::uint64_t size_of(const audit::BlockStep &step) const {
        if (!choice_.pool || step.alignment <= FLAT_POOL_GRANULE) return step.size;
        for (const plan::PlannedClass &each : choice_.pool->classes)
            if (each.size >= step.size && each.alignment >= step.alignment) return each.size;
        return step.size;
    }

    audit::History &history_;
    const WorkChoice &choice_;
    RecordedWork &made_;
    const audit::BlockHistory *blocks_ = nullptr; // during the visit
    std::map<Begin, const audit::SlowCall *> slow_;
    std::unordered_map<std::uint32_t, std::uint32_t> threads_; // by serial number
};

} // namespace

RecordedWork recorded_work(const std::filesystem::path &file, const WorkChoice &choice) {
    audit::History history(file);
    history.require_calls();
    RecordedWork made;
    made.findings = audit::analyse(history, audit::Stacks::sites);
    Writer(history, choice, made);
    if (made.work.operations.empty())
        throw std::runtime_error("nothing was allocated in what was chosen of the recording: choose another phase");
    if (choice.pool)
        for (const plan::PlannedClass &each : choice.pool->classes)
            made.work.classes.push_back({each.size, each.declared.block_count});
    if (made.work.classes.empty()) made.work.classes.push_back({1, 1}); // a malloc is prepared for nothing
    return made;
}

} // namespace flat::cli
