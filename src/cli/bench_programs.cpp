#include "bench_programs.hpp"

#include "bench_columns.hpp"
#include "meanwhile.hpp"
#include "processor.hpp"
#include "progress.hpp"
#include "unfinished.hpp"

#include "bench/document.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace flat::cli {
namespace {

namespace fs = std::filesystem;

using bench::ProgramGroup;
using bench::ProgramRow;
using bench::Spread;

/// The lowest and the highest of five are a 94 % interval for the median. With 72 pairs of a program and an allocator,
/// seven runs each take half an hour.
constexpr unsigned usual_processes = 5;

/// A run takes three seconds, and at most a minute under the slowest allocator with every system call counted.
constexpr std::chrono::milliseconds run_limit{180'000};

/// Enough calls to learn a library's version from the process that it serves.
constexpr bench::Cell glance{"hot", 64, 32, "", 8};
constexpr std::chrono::milliseconds driver_limit{20'000};

template <typename Item>
std::vector<const Item *> chosen(std::span<const Item> from, const std::vector<std::string> &names) {
    std::vector<const Item *> items;
    for (const Item &item : from) {
        if (names.empty() || std::ranges::find(names, item.name) != names.end()) items.push_back(&item);
    }
    return items;
}

std::vector<const bench::Backend *> general_backends(const std::vector<std::string> &names) {
    std::vector<const bench::Backend *> general = chosen(bench::backends(), names);
    std::erase_if(general, [](const bench::Backend *backend) {
        return is_queue(*backend) || (backend->kind != bench::Kind::general && backend->kind != bench::Kind::drop_in);
    });
    if (general.empty())
        throw std::runtime_error(
            "programs run only under general-purpose allocators, and you chose none: `flatline peers` lists them");
    return general;
}

/// Everything that is decided before the first program runs.
struct Preparation {
    bench::ProgramSchedule schedule;
    bench::Campaign glances; // one look at each allocator: its version
    std::vector<std::string> versions;
    std::vector<bench::MissingProgram> missing_programs;
    std::vector<bench::Missing> missing_backends;
};

bench::FoundPrograms chosen_programs(const BenchOptions &options) {
    bench::FoundPrograms programs =
        bench::locate_programs(chosen(bench::programs(), options.programs), bench::program_directories());
    if (programs.found.empty())
        throw std::runtime_error(
            "none of the programs is installed: run scripts/bootstrap programs or, for one of them, " +
            programs.missing.front().how);
    return programs;
}

Preparation prepare(const BenchOptions &options, const fs::path &scratch, const bench::SignalWatch &signals) {
    bench::FoundPrograms programs = chosen_programs(options);
    bench::Places places =
        bench::locate(general_backends(options.backends), bench::drivers_directory(), bench::library_directories());
    if (places.found.empty())
        throw std::runtime_error("none of the chosen allocators is installed: " + places.missing.front().how);
    const fs::path probe = bench::drivers_directory() / "libflatline-probe.so";
    if (!fs::is_regular_file(probe))
        throw std::runtime_error(probe.string() + " is missing: build or install all of Flatline");
    Preparation ready{.schedule = {.programs = std::move(programs.found),
                                   .places = std::move(places.found),
                                   .libc = bench::own_libc(),
                                   .probe = fs::canonical(probe),
                                   .scratch = scratch,
                                   .rounds = options.processes.value_or(usual_processes),
                                   .cpu = processor_to_time_on(options.pin),
                                   .seed = options.seed.value_or(std::random_device{}()),
                                   .scale = 1,
                                   .limit = run_limit},
                      .glances = {},
                      .versions = {},
                      .missing_programs = std::move(programs.missing),
                      .missing_backends = std::move(places.missing)};
    ready.glances = bench::run_campaign(
        {ready.schedule.places, {glance}, 1, ready.schedule.cpu, ready.schedule.seed, driver_limit}, signals, {});
    for (const bench::FoundProgram &found : ready.schedule.programs)
        ready.versions.push_back(bench::version_of(found, signals));
    return ready;
}

std::string version_among(const bench::Campaign &glances, const bench::Backend *backend) {
    const auto found = std::ranges::find(glances.identities, backend, &bench::Identity::backend);
    return found == glances.identities.end() ? "unknown" : found->report.version;
}

struct Measured {
    std::vector<bench::ProgramMeasurement> measurements; // what the groups point to
    bench::ProgramResults results;
    bench::Circumstances about;
};

/// The journal of the run, which records the files that must not change before it is resumed.
bench::Journal journal_of(const Preparation &ready, const BenchOptions &options, std::optional<bench::Journal> left) {
    const bench::ProgramSchedule &schedule = ready.schedule;
    Stamped files = stamped(schedule.places);
    files.emplace_back("glibc", schedule.libc);
    files.emplace_back("probe", schedule.probe);
    for (const bench::FoundProgram &found : schedule.programs) {
        files.emplace_back(found.program->name, found.executable);
        if (!found.client.empty()) files.emplace_back(found.program->name, found.client);
    }
    return journal_of(decided(options, schedule), files, std::move(left));
}

Measured measure(const Preparation &ready, const bench::SignalWatch &signals, bench::Journal &journal) {
    Measured measured;
    bench::Circumstances &about = measured.about;
    const bench::ProgramSchedule &schedule = ready.schedule;
    about.rounds = schedule.rounds;
    about.seed = schedule.seed;
    about.cpu = schedule.cpu;
    about.missing = ready.missing_backends;
    about.resumed = !journal.entries().empty();
    Meanwhile meanwhile(about);
    {
        Progress progress(Look::of(STDERR_FILENO));
        const auto show = [&](const bench::ProgramStep &step) {
            const std::string_view what = step.round == 0 ? "counting" : "programs";
            const std::size_t tenths = 10 * step.done / step.total; // one line each if there is no terminal
            progress.show({step.done, step.total, step.round, step.rounds, step.seconds_left},
                          fmt::format("{}: {}: {}", what, step.program->name, step.backend->name),
                          fmt::format("{}, {} %", what, tenths * 10));
        };
        measured.measurements =
            bench::run_programs(schedule, signals, {show, [&] { meanwhile.between_rounds(); }, &journal});
    }
    meanwhile.finish();
    for (bench::ProgramMeasurement &measurement : measured.measurements)
        measurement.version = version_among(ready.glances, measurement.backend);
    measured.results = {bench::program_groups_of(schedule.programs, ready.versions, measured.measurements),
                        ready.missing_programs};
    return measured;
}

double mebibytes(double kib) { return kib / 1024; }

std::string range_text(const Spread &interval) { return fmt::format("{:.2f}..{:.2f}", interval.low, interval.high); }

std::string count_text(std::uint64_t count) { return bench::grouped(count); }

std::string in_billions(const std::optional<Spread> &count) {
    return count ? fmt::format("{:.2f}", count->median / 1e9) : "-";
}

struct Column {
    std::string_view head;
    std::size_t width;
    bool only_wide; // left out where the terminal is too narrow for all
    std::string (*text)(const ProgramRow &row);
};

constexpr std::size_t title_width = 16;

const std::vector<Column> all_columns{
    {"wall s", 7, false, [](const ProgramRow &row) { return fmt::format("{:.2f}", row.wall_s.median); }},
    {"low..high", 12, true, [](const ProgramRow &row) { return range_text(row.wall_s); }},
    {"user s", 7, false, [](const ProgramRow &row) { return fmt::format("{:.2f}", row.user_s.median); }},
    {"sys s", 6, true, [](const ProgramRow &row) { return fmt::format("{:.2f}", row.system_s.median); }},
    {"peak MiB", 9, false,
     [](const ProgramRow &row) { return fmt::format("{:.1f}", mebibytes(row.peak_rss_kib.median)); }},
    {"final", 7, false,
     [](const ProgramRow &row) { return fmt::format("{:.1f}", mebibytes(row.final_rss_kib.median)); }},
    {"faults", 10, true,
     [](const ProgramRow &row) { return count_text(static_cast<std::uint64_t>(row.page_faults.median)); }},
    {"syscalls", 9, true,
     [](const ProgramRow &row) {
         const auto &calls = row.measurement->system_calls;
         return calls ? count_text(*calls) : std::string("-");
     }},
    {"G instr", 8, true, [](const ProgramRow &row) { return in_billions(row.instructions); }},
    {"alloc", 6, false, [](const ProgramRow &row) { return fmt::format("{:.0f} %", row.share * 100); }},
};

std::string rows_text(const ProgramGroup &group, const Look &look) {
    std::vector<const ProgramRow *> rows;
    for (const ProgramRow &row : group.rows) rows.push_back(&row);
    std::ranges::sort(rows, {},
                      [](const ProgramRow *row) { return std::pair(row->wall_s.median, row->measurement->backend); });
    std::string head(2 + title_width, ' ');
    for (const Column &column : all_columns) {
        if (look.width >= widest || !column.only_wide) head += fmt::format("{:>{}}", column.head, column.width);
    }
    std::string text = look.dress(head, Style::faint) + "\n";
    for (const ProgramRow *row : rows) {
        std::string line =
            fmt::format("{} {:<{}}", row->frontier ? "*" : " ", row->measurement->backend->title, title_width);
        for (const Column &column : all_columns) {
            if (look.width >= widest || !column.only_wide)
                line += fmt::format("{:>{}}", column.text(*row), column.width);
        }
        text += look.dress(line, row->frontier ? Style::good : Style::plain) + "\n";
    }
    return text;
}

/// What the program does and how much it allocates under glibc, which shows whether it can compare allocators.
std::string standing_text(const ProgramGroup &group) {
    std::string text =
        fmt::format("{}, {}: {}.", group.found.executable.string(), group.version, group.found.program->work);
    for (const ProgramRow &row : group.rows) {
        if (row.measurement->backend->name == "glibc")
            text += fmt::format(
                " Under glibc it makes {} allocations and {} frees, which take {:.1f} % of its processor time.",
                count_text(row.measurement->probe.allocations), count_text(row.measurement->probe.frees),
                row.share * 100);
    }
    return text;
}

void print_results(const Preparation &ready, const Measured &measured) {
    const Look look = Look::of(STDOUT_FILENO);
    const std::size_t width = std::min(look.width, widest);
    for (const ProgramGroup &group : measured.results.groups) fmt::print("{}\n", program_table(group, look));
    fmt::print(
        "{}",
        wrapped("* frontier: no other allocator needs less time and no more memory, or less memory and no "
                "more time (wall, peak). Medians over processes; low..high: the range of wall. Memory is resident "
                "memory in MiB; final: at the end of the process, after its own cleanup. alloc: share of "
                "processor time in the allocator, from a run under a probe.",
                width));
    fmt::print("{}",
               wrapped(fmt::format("Run: {} timed processes for each program and allocator, in random order, seed "
                                   "{}, on processor {}, {:.0f} s.",
                                   ready.schedule.rounds, ready.schedule.seed, ready.schedule.cpu,
                                   measured.about.duration_seconds),
                       width));
    for (const bench::Missing &missing : ready.missing_backends)
        fmt::print("missing: {} ({})\n", missing.backend->title, missing.how);
    for (const bench::MissingProgram &missing : ready.missing_programs)
        fmt::print("missing: {} ({})\n", missing.program->title, missing.how);
}

} // namespace

std::string program_table(const ProgramGroup &group, const Look &look) {
    const std::size_t width = std::min(look.width, widest);
    std::string text =
        look.dress(group.found.program->title, Style::strong) + "\n" + wrapped(standing_text(group), width);
    for (const std::string &shortfall : group.shortfalls)
        text += look.dress(wrapped("! says little about allocators: " + shortfall, width), Style::bad);
    if (!group.rows.empty()) text += rows_text(group, look);
    for (const bench::ProgramMeasurement *failure : group.failures)
        text += look.dress(wrapped(fmt::format("! {} failed: {}", failure->backend->title, failure->failure), width),
                           Style::bad);
    return text;
}

ProgramsOutcome run_bench_programs(const BenchOptions &options, std::optional<bench::Journal> left,
                                   const BenchWriter &writer) {
    const bench::SignalWatch signals;
    const bench::ScratchFolder scratch;
    Preparation ready = prepare(options, scratch.path(), signals);
    bench::stay_off(ready.schedule.cpu);
    const Measured measured =
        measure_and_keep(journal_of(ready, options, std::move(left)), [&](bench::Journal &journal) {
            Measured made = measure(ready, signals, journal);
            for (const bench::ProgramMeasurement &measurement : made.measurements) {
                for (const bench::ProgramRun &run : measurement.runs)
                    ready.glances.context_switches += run.context_switches;
            }
            writer.write(document_of(ready.glances, {}, made.about, made.results));
            return made;
        });
    if (!options.outputs.to_standard_output()) print_results(ready, measured);
    ProgramsOutcome outcome;
    for (const ProgramGroup &group : measured.results.groups) {
        for (const bench::ProgramMeasurement *failure : group.failures) {
            if (outcome.failures++ == 0)
                outcome.first =
                    fmt::format("{} under {}: {}", group.found.program->name, failure->backend->name, failure->failure);
        }
    }
    return outcome;
}

} // namespace flat::cli
