#include "bench.hpp"

#include "bench_dispatch_text.hpp"
#include "bench_programs.hpp"
#include "bench_rounds.hpp"
#include "bench_summary.hpp"
#include "bench_table.hpp"
#include "bench_tasks.hpp"
#include "meanwhile.hpp"
#include "output.hpp"
#include "processor.hpp"
#include "progress.hpp"
#include "terminal.hpp"
#include "unfinished.hpp"

#include "bench/document.hpp"
#include "bench/readiness.hpp"

#include <algorithm>
#include <cstdio>
#include <random>

#include <fmt/format.h>
#include <unistd.h>

namespace flat::cli {
namespace {

/// The slowest cell takes about a second on a slow machine; a driver that takes this long hangs. An overload lasts for
/// up to a minute.
constexpr std::chrono::milliseconds driver_limit{60'000}, overload_limit{240'000};

constexpr unsigned usual_processes = 6;

/// The suite of real programs, which takes half an hour and runs by itself.
const std::string programs_suite = "programs";

/// The part of the suite engine that has two workers, which runs by itself.
const std::string dispatch_suite = "dispatch", engine_suite = "engine";
constexpr std::size_t dispatch_runs = 8, dispatch_tasks = 4000, quick_dispatch_tasks = 400;

template <typename T> bool chosen(const std::vector<T> &from, const T &item) {
    return from.empty() || std::ranges::find(from, item) != from.end();
}

std::vector<bench::Cell> chosen_cells(const BenchOptions &options) {
    std::vector<bench::Cell> cells;
    const bool all = options.full || !options.suites.empty(); // what is named is run
    const bench::Mode mode = all ? bench::Mode::full : bench::Mode::quick;
    for (const bench::Cell &cell : bench::cells(mode, options.threads)) {
        if ((options.suites.empty() && suite_of(cell).has_tasks) || (options.quick && cell.is_long)) continue;
        if (chosen(options.suites, std::string(cell.suite)) && chosen(options.sizes, cell.size)) cells.push_back(cell);
    }
    if (cells.empty())
        throw std::runtime_error("none of the chosen suites has this size or this number of threads: `flatline "
                                 "bench --list` shows all");
    state_bounds(cells);
    return cells;
}

/// Allocators and queues do not take part in each other's suites, and are not missed there.
bool is_wanted(const bench::Backend &backend, const BenchOptions &options) {
    if (options.list) return true;
    const auto has_tasks = [](const std::string &name) {
        const bench::Suite *suite = bench::find_suite(name);
        return suite != nullptr && suite->has_tasks;
    };
    return is_queue(backend) ? std::ranges::any_of(options.suites, has_tasks)
                             : options.suites.empty() || !std::ranges::all_of(options.suites, has_tasks);
}

std::vector<const bench::Backend *> chosen_backends(const BenchOptions &options) {
    std::vector<const bench::Backend *> backends;
    for (const bench::Backend &backend : bench::backends()) {
        if (!is_wanted(backend, options)) continue;
        const bool is_named = !options.backends.empty() || !options.suites.empty();
        if (!(is_named || options.full || options.list || backend.in_quick)) continue;
        if (chosen(options.backends, std::string(backend.name))) backends.push_back(&backend);
    }
    return backends;
}

struct Results {
    bench::Campaign campaign;
    std::vector<bench::Group> groups;
    bench::Circumstances circumstances;
};

Results measure(const bench::Schedule &schedule, std::vector<bench::Missing> missing, const std::string &mode,
                bench::Journal &journal) {
    Results results;
    bench::Circumstances &about = results.circumstances;
    bench::stay_off(schedule.cpu);
    about.mode = mode;
    about.rounds = schedule.rounds;
    about.seed = schedule.seed;
    about.cpu = schedule.cpu;
    about.missing = std::move(missing);
    about.resumed = !journal.entries().empty();
    Meanwhile meanwhile(about);
    {
        const bench::SignalWatch signals;
        Progress progress(Look::of(STDERR_FILENO));
        const auto show = [&](const bench::CampaignStep &step) { progress.show(step); };
        results.campaign =
            bench::run_campaign(schedule, signals, {show, [&] { meanwhile.between_rounds(); }, &journal});
    }
    meanwhile.finish();
    results.groups = bench::groups_of(results.campaign);
    return results;
}

std::string or_none(const std::string &text) { return text.empty() ? "none" : text; }

/// The machine in a few lines: what it has, and what it lacks that would improve such figures.
std::string machine_text(const Results &results, std::size_t width) {
    const bench::Circumstances &about = results.circumstances;
    const bench::Machine &machine = about.machine;
    const bench::Hiccups hiccups = together(together(about.hiccups_before, about.hiccups_between), about.hiccups_after);
    return wrapped(fmt::format("Machine: {}, {} processors, {}, hypervisor {}; timed on processor {}; isolated "
                               "processors: {}; nohz_full: {}; SMT {}; governor {}; huge pages {}.",
                               machine.processor, machine.logical_cpus, machine.kernel, machine.hypervisor, about.cpu,
                               or_none(machine.isolated_cpus), or_none(machine.nohz_full), machine.smt,
                               machine.governor, machine.transparent_huge_pages),
                   width) +
           wrapped(
               fmt::format("During the run: steal {:.1f} %; context switches {}; before, between and after the rounds "
                           "an idle loop lost {:.0f} us a second to {:.0f} interruptions of over 10 us, the "
                           "longest {:.0f} us.",
                           steal_percent(about.time_before, about.time_after), results.campaign.context_switches,
                           hiccups.lost_ns / 1000 / hiccups.seconds,
                           static_cast<double>(hiccups.over_10us) / hiccups.seconds,
                           static_cast<double>(hiccups.max_ns) / 1000),
               width);
}

/// How the figures were taken.
std::string method_text(const Results &results, std::size_t width) {
    const bench::Circumstances &about = results.circumstances;
    std::string text = fmt::format("Run: {} for each cell and backend, seed {}, {:.0f} s",
                                   about.rounds == 1 ? "one process" : fmt::format("{} processes", about.rounds),
                                   about.seed, about.duration_seconds);
    if (!results.campaign.identities.empty()) {
        const bench::DriverReport &report = results.campaign.identities.front().report;
        text += fmt::format(
            "; {}, {}; {} has steps of {:.3g} ns, and reading it takes {:.1f} ns, which every sample includes",
            report.compiler, report.flags, report.timer,
            static_cast<double>(results.campaign.clock_step) / results.campaign.ticks_per_ns, report.timer_cost_ns);
    }
    return wrapped(text + ".", width);
}

std::string libraries_text(const Results &results) {
    std::string text;
    for (const bench::Identity &identity : results.campaign.identities)
        text +=
            fmt::format("  {:<23} {:<16} {}\n", identity.backend->name,
                        identity.report.version.substr(0, identity.report.version.find('-')), identity.report.library);
    return text;
}

/// Prints the details first and the summary last, where a terminal shows it when the run is over.
void print_results(const Results &results, bool all_columns) {
    const Look look = Look::of(STDOUT_FILENO);
    for (const bench::Group &group : results.groups)
        fmt::print("{}\n", cell_table(group, results.campaign.failures, look));
    const std::size_t width = std::min(look.width, widest);
    fmt::print("{}{}{}\n", machine_text(results, width), method_text(results, width), libraries_text(results));
    fmt::print("{}\n{}", summary_table(results.groups, all_columns, look), verdict_text(results.groups, look));
    fmt::print("{}\n{}", rounds_summary(results.groups, look), rounds_verdict(results.groups, look));
    fmt::print("{}\n{}", tasks_summary(results.groups, look), tasks_verdict(results.groups, look));
    fmt::print("{}", failures_text(results.campaign.failures, look));
    for (const bench::Missing &missing : results.circumstances.missing)
        fmt::print("missing: {} ({})\n", missing.backend->title, missing.how);
    fmt::print("{}", outcome_text(results.groups, look));
}

/// The file that stands for a backend: the library that is preloaded, else a driver.
const std::filesystem::path &file_of(const bench::Place &place) {
    if (!place.preload.empty()) return place.preload;
    return place.driver.empty() ? place.containers : place.driver;
}

void print_list(const bench::Places &places) {
    fmt::print("suites and sizes\n");
    for (const bench::Suite &suite : bench::suites()) {
        const char *when = suite.in_quick ? "" : suite.has_tasks ? "; by its name" : "; with --full or by its name";
        fmt::print("  {}: {}{}\n", suite.name, suite.description, when);
        for (const bench::Cell &cell : bench::cells(bench::Mode::full)) {
            if (cell.suite == suite.name) fmt::print("    {}\n", describe(cell));
        }
    }
    fmt::print("  {}: which of two workers gets a task, live and simulated; by its name\n", dispatch_suite);
    fmt::print("backends\n");
    for (const bench::Place &place : places.found)
        fmt::print("  {:<23} {}\n", place.backend->name, file_of(place).string());
    for (const bench::Missing &missing : places.missing)
        fmt::print("  {:<23} missing: {}\n", missing.backend->name, missing.how);
}

bench::Schedule schedule_of(const BenchOptions &options, std::vector<bench::Place> places) {
    if (places.empty())
        throw std::runtime_error(fmt::format("none of the chosen backends can run: {} has no driver for them; "
                                             "`flatline bench --list` shows how to get each",
                                             bench::drivers_directory().string()));
    std::vector<bench::Cell> cells = chosen_cells(options);
    const bool has_tasks = std::ranges::any_of(cells, [](const bench::Cell &cell) { return suite_of(cell).has_tasks; });
    if (has_tasks) require_two_processors();
    return {std::move(places),
            std::move(cells),
            options.processes.value_or(usual_processes),
            processor_to_time_on(options.pin),
            options.seed.value_or(std::random_device{}()),
            has_tasks ? overload_limit : driver_limit};
}

void require_isolation(int cpu) {
    const std::string reason = bench::reason_not_isolated(bench::read_conditions(cpu, bench::read_permissions()));
    if (!reason.empty())
        throw std::runtime_error(fmt::format(
            "--isolated: processor {} is not isolated from other work: {}; `flatline env` shows all conditions", cpu,
            reason));
}

int run_programs(const BenchOptions &options, std::optional<bench::Journal> left, const BenchWriter &writer) {
    if (options.suites.size() > 1)
        throw std::runtime_error("the suite programs takes half an hour and runs alone: leave out the other suites");
    const ProgramsOutcome outcome = run_bench_programs(options, std::move(left), writer);
    if (!options.outputs.to_standard_output()) fmt::print("{}", writer.paths());
    if (outcome.failures == 0) return 0;
    fmt::print(stderr, "flatline bench: {} measurements of programs failed; the first: {}\n", outcome.failures,
               outcome.first);
    return 2;
}

/// Runs the policies live and simulated.
int run_dispatch(const BenchOptions &options) {
    const BenchOutputs &outputs = options.outputs;
    if (options.suites.size() > 1)
        throw std::runtime_error("the suite dispatch runs alone: leave out the other suites");
    if (!(outputs.html + outputs.csv + outputs.markdown + outputs.hgrm).empty())
        throw std::runtime_error("the suite dispatch has no page and no curves: of the outputs give it only --json");
    if (options.processes && *options.processes < 2)
        throw std::runtime_error("--processes: the suite dispatch needs 2 runs at least, for an interval");
    require_writable("--json", outputs.json);
    require_two_processors();
    Progress progress(Look::of(STDERR_FILENO));
    const auto begun = std::chrono::steady_clock::now();
    const auto show = [&](std::size_t done, std::size_t total) {
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begun;
        const double left = passed.count() * static_cast<double>(total - done) / static_cast<double>(done);
        progress.show({done, total, 0, 0, left}, "policies", "policies");
    };
    const DispatchComparison comparison =
        compare_dispatch(options.seed.value_or(1), options.processes.value_or(dispatch_runs),
                         options.quick ? quick_dispatch_tasks : dispatch_tasks, show);
    const bench::Machine machine = bench::read_machine(bench::allowed_cpus().front());
    if (outputs.json != "-") fmt::print("{}", dispatch_text(comparison, machine, Look::of(STDOUT_FILENO)));
    if (!outputs.json.empty()) write_output(outputs.json, dispatch_document(comparison, machine));
    return 0;
}

} // namespace

CLI::App *add_bench(CLI::App &program, BenchOptions &options) {
    std::vector<std::string> suites{programs_suite, dispatch_suite}, backends, programs;
    for (const bench::Suite &suite : bench::suites()) suites.emplace_back(suite.name);
    for (const bench::Program &each : bench::programs()) programs.emplace_back(each.name);
    for (const bench::Backend &backend : bench::backends()) backends.emplace_back(backend.name);
    CLI::App *verb = program.add_subcommand("bench", "Time allocators side by side on this machine");
    verb->footer("About four minutes on an otherwise idle machine. Exit status: 0 done, 2 could not be run.");
    verb->add_option("suites", options.suites, "Run only these suites, by their names in --list")
        ->check(CLI::IsMember(suites).description(""))
        ->type_name("SUITE");
    CLI::Option *quick = verb->add_flag("--quick", options.quick,
                                        "Run the suites that take four minutes (default), or a part of engine");
    verb->add_flag("--full", options.full, "Run every suite but engine and programs, within an hour")->excludes(quick);
    verb->add_option("--backends", options.backends, "Measure only these allocators, by their names in --list")
        ->check(CLI::IsMember(backends).description(""))
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name("A,B");
    verb->add_option("--sizes", options.sizes, "Run only these block sizes in bytes (0: mixed sizes)")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name("N,N");
    verb->add_option("--programs", options.programs,
                     "Run only these programs: " + fmt::format("{}", fmt::join(programs, " ")))
        ->check(CLI::IsMember(programs).description(""))
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name("A,B");
    verb->add_option("--processes", options.processes,
                     "Processes for each cell, 1 to 1000 (default 6; programs 5; dispatch 8)")
        ->check(CLI::Range(1U, 1000U).description(""))
        ->type_name("N");
    verb->add_option("--threads", options.threads, "2 to 64 threads in suites threads (default 2,4,8) and pipeline (2)")
        ->check(CLI::Range(bench::fewest_threads, bench::most_threads).description(""))
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name("N,N");
    verb->add_option("--pin", options.pin, "Run on this processor (default: the last one allowed)")->type_name("CPU");
    verb->add_option("--seed", options.seed, "The seed of all random choices (default: a new one, which is printed)")
        ->type_name("N");
    verb->add_flag("--all", options.all_columns, "Show a column for every allocator, in several tables if necessary");
    verb->add_option("--json", options.outputs.json, "Write the figures, flatline.bench/1 (-: standard output)")
        ->type_name("FILE");
    add_outputs(*verb, options.outputs);
    verb->add_option("--resume", options.resume, "Continue an interrupted run with the options it began with")
        ->type_name("FILE");
    verb->add_flag("--isolated", options.isolated, "Refuse to run unless the processor is isolated from other work");
    verb->add_flag("--list", options.list, "List suites and backends, and how to get missing ones");
    return verb;
}

int run_bench(const BenchOptions &given) {
    std::optional<bench::Journal> left;
    if (!given.resume.empty()) left = bench::Journal::go_on(given.resume);
    const BenchOptions options = left ? options_of(left->head()) : given;
    bench::Places places =
        bench::locate(chosen_backends(options), bench::drivers_directory(), bench::library_directories());
    if (options.list) {
        print_list(places);
        return 0;
    }
    if (std::ranges::find(options.suites, dispatch_suite) != options.suites.end()) return run_dispatch(options);
    const BenchWriter writer(options.outputs);
    if (options.isolated) require_isolation(processor_to_time_on(options.pin));
    if (std::ranges::find(options.suites, programs_suite) != options.suites.end())
        return run_programs(options, std::move(left), writer);
    const bench::Schedule schedule = schedule_of(options, std::move(places.found));
    const Results results =
        measure_and_keep(journal_of(decided(options, schedule), stamped(schedule.places), std::move(left)),
                         [&](bench::Journal &journal) {
                             Results measured =
                                 measure(schedule, std::move(places.missing), options.full ? "full" : "quick", journal);
                             writer.write(document_of(measured.campaign, measured.groups, measured.circumstances));
                             return measured;
                         });
    const bool quiet = options.outputs.to_standard_output();
    if (!quiet) print_results(results, given.all_columns);
    if (!quiet) fmt::print("{}", writer.paths());
    if (!quiet && std::ranges::find(options.suites, engine_suite) != options.suites.end())
        fmt::print("The policies that choose between two workers: `flatline bench dispatch`\n");
    if (results.campaign.failures.empty()) return 0;
    const bench::Failure &first = results.campaign.failures.front();
    fmt::print(stderr, "flatline bench: {} measurements failed; the first: {} in {}: {}\n",
               results.campaign.failures.size(), first.backend->name, describe(first.cell), first.message);
    return 2;
}

} // namespace flat::cli
