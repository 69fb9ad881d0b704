// The program: reads the command line and runs a verb.
//
// Exit status: 0 done; 1 the answer is no (a gate failed); 2 it could not be run, and one line on standard error says
// what to do.
#include "audit.hpp"
#include "bench.hpp"
#include "command_words.hpp"
#include "compare.hpp"
#include "env.hpp"
#include "guard.hpp"
#include "output.hpp"
#include "peers.hpp"
#include "plan.hpp"
#include "prove.hpp"
#include "replay.hpp"
#include "report.hpp"
#include "run.hpp"
#include "simulate.hpp"
#include "top.hpp"

#include <flatline/version.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <new>
#include <string>

namespace {

constexpr int status_not_run = 2;

/// Prints a message that names the verb and, at its end, the command that explains its options.
int report_misuse(const CLI::App &program, const CLI::ParseError &error) {
    std::string name = "flatline";
    for (const CLI::App *at = &program; !at->get_subcommands().empty();) { // those that were given
        at = at->get_subcommands().front();
        name += " " + at->get_name();
    }
    std::string what = error.what();
    std::replace(what.begin(), what.end(), '\n', ' ');
    fmt::print(stderr, "{}: {}: see `{} --help`\n", name, what, name);
    return status_not_run;
}

/// Makes a file that exceeds `ulimit -f` an error that is reported like any other, instead of a silent end. It installs
/// a handler, because programs that are run would inherit an ignored signal.
void get_errors_for_files_too_large() {
    struct sigaction before{}, action{};
    action.sa_handler = [](int) {};
    action.sa_flags = SA_RESTART;
    if (sigaction(SIGXFSZ, nullptr, &before) == 0 && before.sa_handler == SIG_DFL)
        (void)sigaction(SIGXFSZ, &action, nullptr); // cannot fail for a valid signal
}

/// What went wrong, in this program's own words.
std::string in_words(const std::exception &error) {
    if (dynamic_cast<const nlohmann::json::exception *>(&error) != nullptr)
        return "an input file is incomplete: create it again";
    if (dynamic_cast<const std::bad_alloc *>(&error) != nullptr)
        return "there is not enough memory: end other programs or raise a limit";
    if (const auto *file = dynamic_cast<const std::filesystem::filesystem_error *>(&error))
        return fmt::format("{}: {}", file->path1().string(), file->code().message());
    return error.what();
}

/// Returns the status of `run`, if everything that it printed was written.
int run_as(const std::string &name, const std::function<int()> &run) {
    try {
        const int status = run();
        flat::cli::require_written();
        return status;
    } catch (const std::exception &error) {
        std::string what = in_words(error);
        try {
            flat::cli::require_written();
        } catch (const std::exception &unwritten) { // the cause, of which `error` says less
            what = unwritten.what();
        }
        fmt::print(stderr, "{}: {}\n", name, what);
        return status_not_run;
    }
}

} // namespace

int main(int argc, char **argv) {
    CLI::App program("Memory allocators for C and C++ with a known worst case: measure, plan and prove them",
                     "flatline");
    program.set_version_flag("--version", "flatline " FLAT_VERSION_STRING);
    program.require_subcommand(0, 1);
    flat::cli::CommandWords words(argc, argv);
    const auto with_command = [&](auto &options, auto run) {
        words.complete(options.command);
        return run(options);
    };
    flat::cli::AuditOptions audit_options;
    flat::cli::BenchOptions bench_options;
    flat::cli::CompareOptions compare_options;
    flat::cli::EnvOptions env_options;
    flat::cli::GuardOptions guard_options;
    flat::cli::PeersOptions peers_options;
    flat::cli::PlanOptions plan_options;
    flat::cli::ProveOptions prove_options;
    flat::cli::ReplayOptions replay_options;
    flat::cli::ReportOptions report_options;
    flat::cli::RunOptions run_options;
    flat::cli::SimulateOptions simulate_options;
    flat::cli::TopOptions top_options;
    const struct {
        const CLI::App *app;
        std::function<int()> run;
    } verbs[] = {
        {flat::cli::add_audit(program, audit_options),
         [&] { return with_command(audit_options, flat::cli::run_audit); }},
        {flat::cli::add_bench(program, bench_options), [&] { return flat::cli::run_bench(bench_options); }},
        {flat::cli::add_compare(program, compare_options), [&] { return flat::cli::run_compare(compare_options); }},
        {flat::cli::add_env(program, env_options), [&] { return flat::cli::run_env(env_options); }},
        {flat::cli::add_guard(program, guard_options),
         [&] { return with_command(guard_options, flat::cli::run_guard); }},
        {flat::cli::add_peers(program, peers_options), [&] { return flat::cli::run_peers(peers_options); }},
        {flat::cli::add_plan(program, plan_options), [&] { return flat::cli::run_plan(plan_options); }},
        {flat::cli::add_prove(program, prove_options), [&] { return flat::cli::run_prove(prove_options); }},
        {flat::cli::add_replay(program, replay_options), [&] { return flat::cli::run_replay(replay_options); }},
        {flat::cli::add_report(program, report_options), [&] { return flat::cli::run_report(report_options); }},
        {flat::cli::add_run(program, run_options), [&] { return with_command(run_options, flat::cli::run_command); }},
        {flat::cli::add_simulate(program, simulate_options), [&] { return flat::cli::run_simulate(simulate_options); }},
        {flat::cli::add_top(program, top_options), [&] { return flat::cli::run_top(top_options); }},
    };
    get_errors_for_files_too_large();
    try {
        program.parse(words.count(), words.own());
    } catch (const CLI::Success &asked) { // --help, --version
        return run_as("flatline", [&] { return program.exit(asked); });
    } catch (const CLI::ParseError &error) {
        return report_misuse(program, error);
    }
    for (const auto &verb : verbs)
        if (verb.app->parsed()) return run_as("flatline " + verb.app->get_name(), verb.run);
    fmt::print(stderr, "flatline: no command was given: see `flatline --help`\n");
    return status_not_run;
}
