#include "simulate.hpp"

#include "output.hpp"
#include "progress.hpp"
#include "simulate_text.hpp"

#include "simulate/document.hpp"
#include "simulate/recording.hpp"
#include "simulate/workloads.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <mutex>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>
#include <unistd.h>

namespace flat::cli {
namespace {

using simulate::Chooser;
using simulate::Length;
using simulate::PolicyCampaign;
using simulate::Workload;

/// Shows how far the runs are; of any thread. Runs differ in length, so the first tenth of them tells nothing of the
/// rest.
class Watch {
  public:
    Watch(std::string what) : what_(std::move(what)), progress_(Look::of(STDERR_FILENO)) {}

    void operator()(std::size_t done, std::size_t total) {
        const std::lock_guard lock(showing_);
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begun_;
        const double left = passed.count() * static_cast<double>(total - done) / static_cast<double>(done);
        progress_.show({done, total, 0, 0, 10 * done < total ? -1 : left}, what_, what_);
    }

  private:
    std::string what_;
    Progress progress_;
    std::mutex showing_;
    std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

bool is_named(std::string_view name, const std::vector<std::string> &parts) {
    return parts.empty() ||
           std::ranges::any_of(parts, [&](const std::string &part) { return name.find(part) != name.npos; });
}

template <typename Each, typename Name>
void keep_named(std::vector<Each> &all, const std::vector<std::string> &parts, const std::string &option, Name name) {
    std::string known;
    for (const Each &each : all) known += fmt::format("{}{}", known.empty() ? "" : ", ", name(each));
    std::erase_if(all, [&](const Each &each) { return !is_named(name(each), parts); });
    if (all.empty())
        throw std::runtime_error(fmt::format("{}: there is none of that name: give one of {}", option, known));
}

/// What is to be simulated: what the options name, and without any of these the policies in workloads.
struct Parts {
    bool gates = false, cells = false, what_if = false, switchback = false;

    explicit Parts(const SimulateOptions &options)
        : gates(options.all || options.gate),
          cells(options.all || (!options.gate && !options.what_if && !options.switchback)),
          what_if(options.all || options.what_if), switchback(options.all || options.switchback) {}
};

std::vector<Workload> workloads_of(const SimulateOptions &options) {
    if (options.training) return simulate::training_workloads();
    std::vector<Workload> workloads = simulate::held_out_workloads(simulate::reference_draw, 1);
    if (options.all) std::ranges::move(simulate::training_workloads(), std::back_inserter(workloads));
    return workloads;
}

void keep_policies(std::vector<Chooser> &choices, const SimulateOptions &options) {
    keep_named(choices, options.policies, "--policy", [](const Chooser &each) { return simulate::name_of(each); });
}

simulate::Recording recording_in(const std::string &file) {
    try {
        return simulate::recording_of(content_of(file));
    } catch (const std::runtime_error &why) {
        throw std::runtime_error(fmt::format("--record: {}: {}", file, why.what()));
    }
}

/// The first twentieth of what was recorded is not counted.
PolicyCampaign campaign_of(const simulate::Recording &recording, const SimulateOptions &options) {
    PolicyCampaign campaign{
        .workloads = {recording.workload}, .choices = simulate::all_choices(), .first_seed = options.seed};
    const std::size_t tasks = recording.workload.recorded->size();
    campaign.length = {tasks / 20, tasks - tasks / 20};
    keep_policies(campaign.choices, options);
    return campaign;
}

PolicyCampaign campaign_of(const SimulateOptions &options) {
    PolicyCampaign campaign{
        .workloads = workloads_of(options), .choices = simulate::all_choices(), .first_seed = options.seed};
    if (options.quick) campaign.length = {20'000, 200'000};
    if (options.ablations || options.all)
        std::ranges::copy(simulate::ablations(), std::back_inserter(campaign.choices));
    campaign.all_ablations = options.ablations;
    keep_named(campaign.workloads, options.workloads, "--workload",
               [](const Workload &each) { return each.name + (each.held_out ? "" : " (training)"); });
    keep_policies(campaign.choices, options);
    return campaign;
}

std::vector<Chooser> what_if_choices(const SimulateOptions &options) {
    std::vector<Chooser> choices = simulate::all_choices();
    std::erase_if(choices, [](const Chooser &each) { return each.reference != simulate::Reference::none; });
    keep_policies(choices, options);
    return choices;
}

/// With --all, names may be of other parts alone.
simulate::SwitchbackTrials trials_of(const SimulateOptions &options) {
    simulate::SwitchbackTrials trials = simulate::switchback_trials(options.seed, options.quick);
    const auto is_left_out = [&](const simulate::SwitchbackPair &pair) {
        return !is_named(pair.workload + " (training)", options.workloads) ||
               !is_named(simulate::name_of(pair.policy), options.policies) ||
               !is_named(simulate::name_of(pair.fallback), options.policies);
    };
    std::erase_if(trials.pairs, is_left_out);
    if (trials.pairs.empty() && !options.all)
        throw std::runtime_error("--workload, --policy: no pair of the switchback has these names: leave them out to "
                                 "see all pairs");
    return trials;
}

} // namespace

CLI::App *add_simulate(CLI::App &program, SimulateOptions &options) {
    CLI::App *verb = program.add_subcommand("simulate", "Compare policies of dispatch by simulation");
    verb->footer("Without --gate, --what-if, --switchback or --all, simulates policies in workloads: those held out\n"
                 "from tuning, or those for training. Exit status: 0 done, 1 a law does not hold or intervals of the\n"
                 "switchback are wrong or wide, 2 could not be run.");
    verb->add_flag("--all", options.all, "Everything below (ablations: held-out workloads only); some 30 minutes");
    verb->add_flag("--gate", options.gate, "Check the simulator against queueing theory; some five minutes");
    verb->add_flag("--what-if", options.what_if, "Policies by load and by age of the reports; some two minutes");
    verb->add_flag("--switchback", options.switchback,
                   "Whether a switchback measures the gain of a policy; some five minutes");
    verb->add_flag("--quick", options.quick, "With a fifth of the tasks: tails are rough");
    verb->add_flag("--training", options.training, "Only the workloads that parameters are tuned by");
    verb->add_flag("--ablations", options.ablations, "Also the predictive policy without each of its parts");
    verb->add_option("--workload", options.workloads, "Only those whose names contain this")
        ->delimiter(';')
        ->type_name("NAME;...");
    verb->add_option("--policy", options.policies, "Only those whose names contain this")
        ->delimiter(';')
        ->type_name("NAME;...");
    CLI::Option *record =
        verb->add_option("--record", options.record, "Replay what an engine recorded (flat_engine_write_record)");
    record->type_name("FILE");
    for (const char *other :
         {"--all", "--gate", "--what-if", "--switchback", "--training", "--ablations", "--workload"})
        record->excludes(verb->get_option(other));
    verb->add_option("--seed", options.seed, "The first seed; another one gives other tasks (default 1)")
        ->type_name("N");
    verb->add_option("--json", options.outputs.json, "Write all figures, flatline.simulate/1 (-: standard output)")
        ->type_name("FILE");
    verb->add_option("--html", options.outputs.html, "Write the page (-: standard output)")->type_name("FILE");
    return verb;
}

int run_simulate(const SimulateOptions &options) {
    const BenchWriter writer(options.outputs, {{"the record", options.record}});
    const Parts parts(options);
    const std::optional<simulate::Recording> recording =
        options.record.empty() ? std::nullopt : std::optional(recording_in(options.record));
    const PolicyCampaign campaign = recording     ? campaign_of(*recording, options)
                                    : parts.cells ? campaign_of(options)
                                                  : PolicyCampaign{};
    const std::vector<Chooser> what_if = parts.what_if ? what_if_choices(options) : std::vector<Chooser>{};
    const simulate::SwitchbackTrials trials = parts.switchback ? trials_of(options) : simulate::SwitchbackTrials{};
    const Look look = Look::of(STDOUT_FILENO);
    bool first = true;
    const auto say = [&](const std::string &text) {
        if (text.empty() || options.outputs.to_standard_output()) return;
        fmt::print("{}{}", first ? "" : "\n", text);
        first = false;
    };

    simulate::SimulatedResults results{.seed = options.seed};
    if (parts.gates) {
        Watch watch("laws");
        results.gates = simulate::run_gates(options.quick ? 0.02 : 1, options.seed, std::ref(watch));
        say(gates_text(results.gates, look));
    }
    if (parts.cells) {
        Watch watch("policies in workloads");
        results.seeds = campaign.seeds;
        results.length = campaign.length;
        results.cells = simulate::run_campaign(campaign, std::ref(watch));
        say(recording ? recording_text(*recording, results.cells, look) : cells_text(results.cells, look));
    }
    if (parts.what_if) {
        Watch watch("loads and ages of reports");
        results.what_if =
            simulate::usual_what_if(options.seed, options.quick ? Length{10'000, 100'000} : Length{50'000, 500'000});
        simulate::run_what_if(*results.what_if, what_if, std::ref(watch));
        say(what_if_text(*results.what_if, look));
    }
    if (!trials.pairs.empty()) {
        Watch watch("switchbacks");
        results.switchback = simulate::run_switchback_trials(trials, std::ref(watch));
        say(switchback_text(results.switchback, look));
    }
    writer.write(document_of(results));
    say(writer.paths());
    const bool measures = results.switchback.empty() || simulate::sum_of(results.switchback).holds();
    return measures && std::ranges::all_of(results.gates, &simulate::Gate::holds) ? 0 : 1;
}

} // namespace flat::cli
