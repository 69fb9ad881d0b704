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
        : history_(history), choice_(choice), made_(made), program_(audit::main_program(history)),
          part_(history, program_, choice.part) {}

    void write() {
        index_slow_calls();
        audit::BlockHistory blocks(history_, program_, *this);
        blocks_ = &blocks;
        history_.visit(blocks);
        blocks_ = nullptr;
        for (const auto &[begin, call] : slow_)
            ++(part_.has_thread(std::get<0>(begin), std::get<1>(begin)) ? made_.left_out.no_block
                                                                        : made_.left_out.not_chosen);
        made_.threads = made_.work.threads;
        part_.require_requests(blocks.phases(), made_.work.operations.size());
    }

    /// A resize is two operations, of which the first stands for its call.
    void on_take(const audit::BlockStep &step) override { add(step, true, true); }

    /// The call of a block that it takes may end the block before it at the same address: that is not the slow one.
    void on_give(const audit::BlockStep &step) override {
        add(step, false, step.call->block == 0 || gives(*step.call));
    }

  private:
    using Begin = std::tuple<std::int32_t, std::int32_t, double>; // of a call: its process and thread, and the time

    static bool gives(const audit::Call &call) { return audit::kind_of(call.operation) == audit::CallKind::gives; }

    void index_slow_calls() {
        made_.left_out.shorter = made_.findings.slow_count - made_.findings.slow_calls.size();
        for (const audit::SlowCall &call : made_.findings.slow_calls) {
            const audit::ThreadFinding &thread = made_.findings.threads.at(call.thread);
            if (made_.findings.stalls[call.stall].operation == first_touch)
                ++made_.left_out.first_touch;
            else
                slow_[{thread.process, thread.thread, call.at_ns}] = &call;
        }
    }

    void add(const audit::BlockStep &step, bool takes, bool stands_for_its_call) {
        const audit::SlowCall *slow = stands_for_its_call ? take_slow(*step.call) : nullptr;
        if (!part_.is_of_thread(step) || !part_.is_in_phase(step, *blocks_)) {
            if (slow != nullptr) ++made_.left_out.not_chosen;
            return;
        }
        std::vector<replay_operation> &operations = made_.work.operations;
        if (operations.size() >= most_operations) fail_as_too_large("calls");
        if (slow != nullptr) made_.stalls.push_back({operations.size(), slow->stall, slow->duration_ns});
        made_.work.slots = std::max(made_.work.slots, step.slot + 1);
        operations.push_back(
            {size_of(step), step.slot, performer_of(step), static_cast<std::uint8_t>(takes), bits_of(step.alignment)});
    }

    /// So that 1 << these is the alignment, or the next power of two.
    static std::uint8_t bits_of(std::uint64_t alignment) {
        return static_cast<std::uint8_t>(std::min<std::uint64_t>(std::bit_width(alignment - 1), 63));
    }

    std::uint16_t performer_of(const audit::BlockStep &step) {
        const auto [thread, is_new] = performers_.try_emplace(part_.same_thread(step.thread), made_.work.threads);
        if (is_new && ++made_.work.threads >= REPLAY_MOST_THREADS) fail_as_too_large("threads");
        return static_cast<std::uint16_t>(thread->second);
    }

    [[noreturn]] static void fail_as_too_large(const char *what) {
        throw std::runtime_error(
            fmt::format("the recording has more {} than can be replayed: choose a part by --phase or --thread", what));
    }

    /// The slow call that this is; nullptr if it was not slow.
    const audit::SlowCall *take_slow(const audit::Call &call) {
        const audit::ThreadEntry &thread = history_.threads().at(call.thread);
        const auto found = slow_.find({thread.process, thread.thread, history_.ns(call.begin)});
        if (found == slow_.end()) return nullptr;
        const audit::SlowCall *slow = found->second;
        slow_.erase(found);
        return slow;
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
    audit::ProgramRun program_;
    ChosenPart part_;
    const audit::BlockHistory *blocks_ = nullptr; // during the visit
    std::map<Begin, const audit::SlowCall *> slow_;
    std::unordered_map<std::uint32_t, std::uint32_t> performers_; // by the thread's serial number
};

} // namespace

RecordedWork recorded_work(const std::filesystem::path &file, const WorkChoice &choice) {
    audit::History history(file);
    history.require_calls();
    RecordedWork made;
    made.findings = audit::analyse(history, audit::Stacks::sites);
    made.part = choice.part;
    Writer(history, choice, made).write();
    if (choice.pool)
        for (const plan::PlannedClass &each : choice.pool->classes)
            made.work.classes.push_back({each.size, each.declared.block_count});
    if (made.work.classes.empty()) made.work.classes.push_back({1, 1}); // a malloc is prepared for nothing
    return made;
}

} // namespace flat::cli
