// The program: reads the command line and hands over to a verb.
//
// Exit status: 0 done; 1 the answer is no (a gate failed); 2 it could not be run, and one line on standard error says
// what to do.
#include "bench.hpp"
#include "compare.hpp"
#include "env.hpp"
#include "peers.hpp"
#include "plan.hpp"
#include "prove.hpp"
#include "report.hpp"
#include "run.hpp"

#include <flatline/version.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>

namespace {

constexpr int status_not_run = 2;

/// A message that names the verb, and ends where its options are explained.
int report_misuse(const CLI::App &program, const CLI::ParseError &error) {
    std::string name = "flatline";
    for (const CLI::App *verb : program.get_subcommands()) // those that were given
        name += " " + verb->get_name();
    std::string what = error.what();
    std::replace(what.begin(), what.end(), '\n', ' ');
    fmt::print(stderr, "{}: {}: see `{} --help`\n", name, what, name);
    return status_not_run;
}

} // namespace

int main(int argc, char **argv) {
    CLI::App program("Deterministic memory for C and C++: what the worst call costs, on this machine", "flatline");
    program.set_version_flag("--version", "flatline " FLAT_VERSION_STRING);
    program.require_subcommand(0, 1);
    flat::cli::BenchOptions bench_options;
    flat::cli::CompareOptions compare_options;
    flat::cli::EnvOptions env_options;
    flat::cli::PeersOptions peers_options;
    flat::cli::PlanOptions plan_options;
    flat::cli::ProveOptions prove_options;
    flat::cli::ReportOptions report_options;
    flat::cli::RunOptions run_options;
    const struct {
        const CLI::App *app;
        std::function<int()> run;
    } verbs[] = {
        {flat::cli::add_bench(program, bench_options), [&] { return flat::cli::run_bench(bench_options); }},
        {flat::cli::add_compare(program, compare_options), [&] { return flat::cli::run_compare(compare_options); }},
        {flat::cli::add_env(program, env_options), [&] { return flat::cli::run_env(env_options); }},
        {flat::cli::add_peers(program, peers_options), [&] { return flat::cli::run_peers(peers_options); }},
        {flat::cli::add_plan(program, plan_options), [&] { return flat::cli::run_plan(plan_options); }},
        {flat::cli::add_prove(program, prove_options), [&] { return flat::cli::run_prove(prove_options); }},
        {flat::cli::add_report(program, report_options), [&] { return flat::cli::run_report(report_options); }},
        {flat::cli::add_run(program, run_options), [&] { return flat::cli::run_command(run_options); }},
    };
    try {
        program.parse(argc, argv);
    } catch (const CLI::Success &asked) { // --help, --version
        return program.exit(asked);
    } catch (const CLI::ParseError &error) {
        return report_misuse(program, error);
    }
    for (const auto &verb : verbs) {
        if (!verb.app->parsed()) continue;
        try {
            return verb.run();
        } catch (const std::exception &error) {
            fmt::print(stderr, "flatline {}: {}\n", verb.app->get_name(), error.what());
            return status_not_run;
        }
    }
    fmt::print(stderr, "flatline: no verb was given: see `flatline --help`\n");
    return status_not_run;
}
