#include "plan_recording.hpp"

#include "audit/block_history.hpp"
#include "plan/class_meter.hpp"
#include "plan/demand_meter.hpp"

#include <map>
#include <set>
#include <stdexcept>
#include <utility>

namespace flat::cli {
namespace {

/// One phase, one thread, or what was chosen, through the passes.
struct Part {
    plan::DemandMeter demand;
    plan::Choices choices;
    std::optional<plan::ClassMeter> classes;
    std::uint64_t given_by_others = 0;
};

class RecordingPasses : public audit::BlockVisitor {
  public:
    RecordingPasses(audit::History &history, const RecordedChoice &choice)
        : history_(history), choice_(choice), program_(audit::main_program(history)),
          part_(history, program_, choice.part) {}

    RecordedPlan run() {
        pass(Pass::sizes);
        part_.require_requests(phase_names_, chosen_.demand.requests());
        for_all([&](Part &part) { choose(part); });
        pass(Pass::classes);
        for_all([](Part &part) { part.classes->finish(); });
        RecordedPlan made = made_plan();
        if (!exact_.empty()) {
            trial_.emplace(made.declaration.classes, exact_, *chosen_.classes);
            pass(Pass::trial);
            made.exactness = trial_->result();
        }
        return made;
    }

    void on_take(const audit::BlockStep &step) override {
        for_those_of(step, [&](Part &part) {
            if (pass_ == Pass::sizes) part.demand.take(step.size, step.alignment);
            if (pass_ == Pass::classes) part.classes->take(step.size, step.alignment);
            if (pass_ == Pass::trial && &part == &chosen_) trial_->take(step.slot, step.size, step.alignment);
        });
    }

    void on_give(const audit::BlockStep &step) override {
        for_those_of(step, [&](Part &part) {
            if (pass_ == Pass::sizes) {
                part.demand.give(step.size);
                if (part_.same_thread(step.thread) != part_.same_thread(step.owner)) ++part.given_by_others;
            }
            if (pass_ == Pass::classes) part.classes->give(step.size, step.alignment);
            if (pass_ == Pass::trial && &part == &chosen_) trial_->give(step.slot, step.size, step.alignment);
        });
    }

  private:
    enum class Pass { sizes, classes, trial };

    void pass(Pass which) {
        pass_ = which;
        audit::BlockHistory blocks(history_, program_, *this);
        blocks_ = &blocks;
        history_.visit(blocks);
        phase_names_ = blocks.phases();
        resizes_ = blocks.resizes();
        unknown_ = blocks.unknown();
        blocks_ = nullptr;
    }

    template <typename Function> void for_those_of(const audit::BlockStep &step, Function function) {
        const bool of_thread = part_.is_of_thread(step), in_phase = part_.is_in_phase(step, *blocks_);
        if (of_thread) function(phases_[step.phase]);
        if (in_phase) function(threads_[part_.same_thread(step.owner)]);
        if (of_thread && in_phase) function(chosen_);
    }

    template <typename Function> void for_all(Function function) {
        for (auto &[phase, part] : phases_) function(part);
        for (auto &[thread, part] : threads_) function(part);
        function(chosen_);
    }

    void choose(Part &part) const {
        part.choices = plan::choose_classes(part.demand.rows(), 0, choice_.most_classes);
        part.classes.emplace(part.choices);
    }

    RecordedPart recorded(std::string name, const Part &part) const {
        RecordedPart found{std::move(name),
                           part.demand.requests(),
                           part.demand.peak_blocks(),
                           part.demand.peak_bytes(),
                           part.demand.total_bytes(),
                           part.given_by_others,
                           std::nullopt};
        const std::vector<flat_class> exact = part.classes->classes();
        if (!exact.empty()) found.pool = plan::plan_pool(exact);
        return found;
    }

    RecordedPlan made_plan() {
        RecordedPlan made;
        made.program = history_.text(program_.program);
        made.process = program_.process;
        made.phase = choice_.part.phase;
        made.thread = part_.chosen_thread(history_);
        made.chosen = recorded("", chosen_);
        for (const auto &[phase, part] : phases_) made.phases.push_back(recorded(phase_names_[phase], part));
        for (const auto &[serial, part] : threads_)
            made.threads.push_back(recorded(thread_name(history_.threads().at(serial)), part));
        made.resizes = resizes_;
        made.unknown = unknown_;
        count_left_out(made);
        made.margin_percent = choice_.margin_percent;
        declare(made);
        return made;
    }

    void count_left_out(RecordedPlan &made) const {
        std::set<audit::ProgramRun> programs;
        for (const auto &[serial, entry] : history_.threads()) {
            programs.insert({entry.process, entry.program});
            if (audit::ProgramRun{entry.process, entry.program} == program_) made.dropped += entry.dropped;
        }
        made.other_programs = programs.size() - 1;
        made.whole = history_.is_whole();
    }

    void declare(RecordedPlan &made) {
        exact_ = chosen_.classes->classes();
        for (const flat_class &each : exact_)
            made.declaration.classes.push_back(
                {each.block_size, plan::with_margin(each.block_count, choice_.margin_percent)});
        made.declaration.demand = chosen_.classes->demand();
        const std::vector<plan::DemandRow> &beyond = chosen_.choices.beyond;
        made.declaration.demand.insert(made.declaration.demand.end(), beyond.begin(), beyond.end());
        const std::uint64_t bytes = plan::with_margin(made.chosen.arena_bytes, choice_.margin_percent),
                            to = plan::usual_arena_alignment;
        if (bytes <= plan::most_bytes) made.declaration.arena = plan::Arena{(bytes + to - 1) / to * to};
    }

    audit::History &history_;
    const RecordedChoice &choice_;
    audit::ProgramRun program_;
    ChosenPart part_;
    Pass pass_ = Pass::sizes;
    const audit::BlockHistory *blocks_ = nullptr; // during a pass
    std::map<std::uint32_t, Part> phases_;        // by index
    std::map<std::uint32_t, Part> threads_;       // by serial number
    Part chosen_;
    std::vector<std::string> phase_names_;
    std::uint64_t resizes_ = 0, unknown_ = 0;
    std::vector<flat_class> exact_;
    std::optional<plan::ExactnessTrial> trial_;
};

} // namespace

RecordedPlan plan_recording(const std::filesystem::path &file, const RecordedChoice &choice) {
    audit::History history(file);
    history.require_calls();
    return RecordingPasses(history, choice).run();
}

} // namespace flat::cli
