#include "compare.hpp"

#include "bench_document.hpp"
#include "output.hpp"
#include "terminal.hpp"

#include "bench/catalogue.hpp"
#include "bench/comparison.hpp"
#include "bench/results.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

namespace flat::cli {
namespace {

using bench::Change;
using json = nlohmann::ordered_json;

constexpr std::string_view schema = "flatline.compare/1";

/// A cell of one run: the figures of each backend's processes.
struct CellOfRun {
    std::string suite, operation, order, unit;
    std::size_t size = 0, calls = 0, threads = 1;
    bool is_void = false;
    double clock_step = 0;                                // ns
    std::map<std::string, std::vector<double>> processes; // by backend

    std::string key() const { return fmt::format("{}/{}/{}/{}/{}/{}", suite, size, calls, operation, order, threads); }

    bool has_rounds() const { return operation == "round"; }

    /// "hot 64 B", "hot 64 B, single alloc calls", "order, lifo free", "containers trades, 32 rounds".
    std::string name() const {
        if (suite == "order") return fmt::format("{}, {} {}", suite, order, operation);
        std::string where = suite;
        for (const std::string &part : {bench::describe_size(suite, size), order}) {
            if (!part.empty()) where += " " + part;
        }
        if (threads > 1) where += fmt::format(", {} threads", threads);
        if (has_rounds()) return calls == 1 ? where : fmt::format("{}, {} rounds", where, calls);
        if (calls == bench::calls_together && operation != "pair")
            return fmt::format("{}, {} calls, blocks of {}", where, operation, calls);
        return calls == 1 ? fmt::format("{}, single {} calls", where, operation) : where;
    }
};

struct ComparedRun {
    std::string machine;
    std::map<std::string, std::string> identities; // by backend: version, source and flags of what served it
    std::set<std::string> others;                  // backends that are not Flatline's and may be controls
    std::map<std::string, std::string> originals;  // by the name of the copy
    std::vector<CellOfRun> cells;
};

/// The tail where single calls were timed, else the median.
const char *figure_of(const json &cell) {
    return cell.at("calls_per_sample") == 1 && cell.at("operation") != "round" ? "process_p999" : "process_p50";
}

void add_row(ComparedRun &run, const json &cell, double clock_step) {
    if (!cell.value("ranked", true)) return; // not a merit of the backend: a change is neither good nor bad
    CellOfRun fresh;
    fresh.suite = cell.at("suite");
    fresh.operation = cell.at("operation");
    fresh.order = cell.at("order");
    fresh.unit = cell.at("unit");
    fresh.size = cell.at("size");
    fresh.calls = cell.at("calls_per_sample");
    fresh.threads = cell.value("threads", std::size_t{1});
    fresh.is_void = cell.at("void");
    fresh.clock_step = clock_step;
    auto place = std::ranges::find(run.cells, fresh.key(), &CellOfRun::key);
    if (place == run.cells.end()) place = run.cells.insert(run.cells.end(), fresh);
    place->processes[cell.at("backend")] = cell.at(figure_of(cell)).get<std::vector<double>>();
}

ComparedRun run_of(const json &bench) {
    ComparedRun run;
    run.machine = fmt::format("{}, {}", bench.at("environment").at("processor").get<std::string>(),
                              bench.at("environment").at("kernel").get<std::string>());
    // Without the path: builds to compare are often in separate folders, each with its own peers.
    for (const json &each : bench.at("environment").at("allocators"))
        run.identities[each.at("backend")] = each.at("version").dump() + each.at("source").dump() +
                                             each.at("flags").dump() + bench.at("environment").at("compiler").dump();
    for (const json &each : bench.at("backends")) {
        if (each.at("kind") == "again")
            run.originals[each.at("name")] = each.value("beside", "flatline-pool"); // alone has a copy in old results
        else if (each.at("kind") != "subject" && each.at("kind") != "drop-in")
            run.others.insert(each.at("name"));
    }
    const double clock_step = bench.at("environment").at("timer").at("tick_ns");
    for (const json &cell : bench.at("cells")) add_row(run, cell, clock_step);
    return run;
}

ComparedRun read_run(const std::string &file) {
    try {
        return read_bench_document(content_of(file), run_of);
    } catch (const std::runtime_error &error) {
        throw std::runtime_error(fmt::format("{}: {}", file, error.what()));
    }
}

/// The backends that are unchanged between the runs, except the backend compared.
std::vector<std::string> controls_of(const ComparedRun &before, const ComparedRun &after, const std::string &backend) {
    std::vector<std::string> controls;
    for (const std::string &name : before.others) {
        const auto was = before.identities.find(name), is = after.identities.find(name);
        if (name != backend && was != before.identities.end() && is != after.identities.end() &&
            was->second == is->second)
            controls.push_back(name);
    }
    return controls;
}

/// How far each copy in the cell differs from its original, by the copy's name; 0 if the clock is too coarse to tell.
std::map<std::string, double> copy_differences(const CellOfRun &cell, const ComparedRun &run) {
    std::map<std::string, double> differences;
    for (const auto &[copy, original] : run.originals) {
        const auto subject = cell.processes.find(original), again = cell.processes.find(copy);
        if (subject == cell.processes.end() || again == cell.processes.end()) continue;
        if (subject->second.empty() || again->second.empty()) continue;
        std::vector<double> rounds;
        for (std::size_t i = 0; i < std::min(subject->second.size(), again->second.size()); ++i) {
            if (again->second[i] > 0) rounds.push_back(subject->second[i] / again->second[i]);
        }
        differences[copy] = rounds.empty() ? 0 : bench::difference_of(bench::ratio_of(rounds).middle);
    }
    return differences;
}

/// The largest difference of any copy.
double copy_difference(const CellOfRun &cell, const ComparedRun &run) {
    double most = 0;
    for (const auto &[copy, difference] : copy_differences(cell, run)) most = std::max(most, difference);
    return most;
}

/// The copies of this backend in a suite, according to the catalogue.
std::set<std::string> copies_of(const std::string &backend, const std::string &suite) {
    std::set<std::string> copies;
    for (const bench::Cell &cell : bench::cells(bench::Mode::full)) {
        for (const bench::Backend &each : bench::backends())
            if (cell.suite == suite && each.kind == bench::Kind::again && each.beside == backend &&
                takes_part(each, cell))
                copies.emplace(each.name);
    }
    return copies;
}

bool is_ours(const std::string &backend) {
    const bench::Backend *found = bench::find_backend(backend);
    return found != nullptr && bench::is_ours(found->kind);
}

bench::Side side_of(const CellOfRun &cell, const ComparedRun &run, const std::string &backend,
                    const std::vector<std::string> &controls) {
    const std::vector<double> &processes = cell.processes.at(backend);
    const double usual = bench::Distribution(processes).at(bench::whole / 2);
    bench::Side side{processes,
                     {},
                     copy_difference(cell, run),
                     bench::resolution(cell.calls == 1, cell.clock_step, usual),
                     cell.is_void};
    for (const std::string &control : controls) side.controls.push_back(cell.processes.at(control));
    return side;
}

struct Line {
    CellOfRun cell;
    bench::Comparison comparison;
    std::size_t controls;
};

/// A cell in both runs.
struct CellOfBoth {
    const ComparedRun &old_run, &new_run;
    const CellOfRun &before, &after;
};

/// `least`: the smallest change that counts, as a share. std::nullopt iff the backend has no figure in one of the runs.
std::optional<Line> line_of(const CellOfBoth &both, const std::vector<std::string> &unchanged,
                            const CompareOptions &options, double least) {
    const auto &[old_run, new_run, before, after] = both;
    const auto told = [](const CellOfRun &cell,
                         const std::string &name) { // and not as 0, as a coarse clock may have it
        const auto found = cell.processes.find(name);
        return found != cell.processes.end() && !found->second.empty() && std::ranges::min(found->second) > 0;
    };
    if (!told(before, options.backend) || !told(after, options.backend)) return {};
    const auto whole = [&](const CellOfRun &cell, const std::string &control) {
        return told(cell, control) && cell.processes.at(control).size() == cell.processes.at(options.backend).size();
    };
    std::vector<std::string> controls;
    std::ranges::copy_if(unchanged, std::back_inserter(controls),
                         [&](const std::string &each) { return whole(before, each) && whole(after, each); });
    return Line{before,
                bench::compare(side_of(before, old_run, options.backend, controls),
                               side_of(after, new_run, options.backend, controls), least,
                               before.unit == "Mops/s" || before.unit == "Mtasks/s"),
                controls.size()};
}

/// The change of each cell, as a share.
using Noise = std::map<std::string, double>;

double change_of(const Line &line) { return bench::difference_of(line.comparison.ratio); }

/// A cell that is not in `noise` has none.
std::vector<Line> lines_of(const ComparedRun &before, const ComparedRun &after, const CompareOptions &options,
                           const Noise &noise) {
    const std::vector<std::string> unchanged = controls_of(before, after, options.backend);
    std::vector<Line> lines;
    for (const CellOfRun &cell : before.cells) {
        const auto other = std::ranges::find(after.cells, cell.key(), &CellOfRun::key);
        if (other == after.cells.end()) continue;
        const auto known = noise.find(cell.key());
        const double least = std::max(options.fail_over / 100, known == noise.end() ? 0 : known->second);
        if (const auto line = line_of({before, after, cell, *other}, unchanged, options, least)) lines.push_back(*line);
    }
    if (lines.empty())
        throw std::runtime_error(fmt::format("the runs have no cell of {} in common: run both with the same suites, "
                                             "sizes and backends",
                                             options.backend));
    return lines;
}

/// Without an A/A copy, noise cannot be told from change: the difference of two runs of one build would be reported as
/// a change. Throws std::runtime_error iff one run lacks a copy that the other has, both lack the backend's copy, or
/// both lack any copy and the backend is one of Flatline's without its own copy in the suite.
void require_copies(const ComparedRun &before, const ComparedRun &after, const CompareOptions &options) {
    for (const CellOfRun &cell : before.cells) {
        const auto other = std::ranges::find(after.cells, cell.key(), &CellOfRun::key);
        if (other == after.cells.end() || !cell.processes.contains(options.backend)) continue;
        const auto was = copy_differences(cell, before), is = copy_differences(*other, after);
        std::set<std::string> wanted = copies_of(options.backend, cell.suite);
        for (const auto &[copy, difference] : was) wanted.insert(copy);
        for (const auto &[copy, difference] : is) wanted.insert(copy);
        if (wanted.empty() && is_ours(options.backend))
            throw std::runtime_error(fmt::format("{} has no figures of an A/A copy, without which noise looks like "
                                                 "change: run both with flatline-pool and flatline-pool-again",
                                                 cell.name()));
        for (const std::string &copy : wanted) {
            const bool old_lacks = !was.contains(copy);
            if (old_lacks || !is.contains(copy))
                throw std::runtime_error(fmt::format(
                    "{}: {} has no figures of {}, the A/A copy without which noise looks like change: run both with it",
                    old_lacks ? options.old_result : options.new_result, cell.name(), copy));
        }
    }
}

/// The noise is measured from two runs of the same build.
Noise noise_of(const CompareOptions &options) {
    Noise noise;
    if (options.noise.empty()) return noise;
    const ComparedRun first = read_run(options.noise[0]), second = read_run(options.noise[1]);
    for (const Line &line : lines_of(first, second, options, {})) noise[line.cell.key()] = change_of(line);
    return noise;
}

std::string_view word_for(Change change) {
    switch (change) {
    case Change::worse: return "worse";
    case Change::better: return "better";
    case Change::none: return "no change";
    case Change::voided: return "void";
    }
    return "";
}

std::size_t count(const std::vector<Line> &lines, Change change) {
    return static_cast<std::size_t>(
        std::ranges::count(lines, change, [](const Line &line) { return line.comparison.change; }));
}

void print_lines(const std::vector<Line> &lines, const CompareOptions &options) {
    const Look look = Look::of(STDOUT_FILENO);
    fmt::print("{}\n", look.dress(fmt::format("{:<36}{:>9}  {:<16}{:<16}{}", options.backend, "new/old", "old 95 %",
                                              "new 95 %", ""),
                                  Style::faint));
    for (const Line &line : lines) {
        const bench::Comparison &found = line.comparison;
        const Style style = found.change == Change::worse    ? Style::bad
                            : found.change == Change::better ? Style::good
                                                             : Style::plain;
        fmt::print("{:<36}{:>9.3f}  {:<16}{:<16}{}\n", line.cell.name(), found.ratio,
                   fmt::format("{:.3f}..{:.3f}", found.before.low, found.before.high),
                   fmt::format("{:.3f}..{:.3f}", found.after.low, found.after.high),
                   look.dress(word_for(found.change), style));
    }
    const Line &most = *std::ranges::max_element(lines, {}, change_of);
    fmt::print("{} of {} cells are worse by more than {:.3g} %, {} better; {} void. Times are relative to {} "
               "allocators that did not change. The largest change: {:.1f} %, {}.\n",
               count(lines, Change::worse), lines.size(), options.fail_over, count(lines, Change::better),
               count(lines, Change::voided), lines.front().controls, change_of(most) * 100, most.cell.name());
}

std::string document_of(const std::vector<Line> &lines, const CompareOptions &options) {
    json document{{"schema", schema},
                  {"backend", options.backend},
                  {"fail_over_percent", options.fail_over},
                  {"worse", count(lines, Change::worse)},
                  {"cells", json::array()}};
    for (const Line &line : lines) {
        const bench::Comparison &found = line.comparison;
        document["cells"].push_back({{"suite", line.cell.suite},
                                     {"size", line.cell.size},
                                     {"calls_per_sample", line.cell.calls},
                                     {"operation", line.cell.operation},
                                     {"order", line.cell.order},
                                     {"threads", line.cell.threads},
                                     {"change", word_for(found.change)},
                                     {"ratio", found.ratio},
                                     {"old_low", found.before.low},
                                     {"old_high", found.before.high},
                                     {"new_low", found.after.low},
                                     {"new_high", found.after.high},
                                     {"controls", line.controls}});
    }
    return document.dump(2) + "\n";
}

} // namespace

CLI::App *add_compare(CLI::App &program, CompareOptions &options) {
    CLI::App *verb = program.add_subcommand("compare", "Check whether an allocator became slower between two runs");
    verb->footer("A cell is worse if it takes more than PERCENT longer, its 95 % intervals do not overlap, and the\n"
                 "A/A copies differ by less in both runs. Times are relative to the allocators that did not change.\n"
                 "Both runs must include the A/A copies of the allocators that they timed.\n"
                 "Exit status: 0 no cell is worse, 1 a cell is worse, 2 could not be run.");
    verb->add_option("old", options.old_result, "The older run, as `flatline bench --json` wrote it")
        ->required()
        ->type_name("OLD");
    verb->add_option("new", options.new_result, "The newer run")->required()->type_name("NEW");
    verb->add_option("--fail-over", options.fail_over, "The smallest change that counts, 0 to 1000 (default 5)")
        ->check(CLI::Range(0.0, 1000.0).description(""))
        ->type_name("PERCENT");
    verb->add_option("--noise", options.noise, "Two runs of one build: only a change larger than theirs counts")
        ->expected(2)
        ->type_name("A.JSON B.JSON");
    verb->add_option("--backend", options.backend, "Compare this allocator (default: flatline-pool)")
        ->type_name("NAME");
    verb->add_option("--json", options.json, "Write the comparison, flatline.compare/1 (-: standard output)")
        ->type_name("FILE");
    return verb;
}

int run_compare(const CompareOptions &options) {
    require_outputs({{"--json", options.json}}, {{"a result", options.old_result}, {"a result", options.new_result}});
    const ComparedRun before = read_run(options.old_result), after = read_run(options.new_result);
    const std::vector<Line> lines = lines_of(before, after, options, noise_of(options));
    require_copies(before, after, options);
    if (before.machine != after.machine)
        fmt::print(stderr, "flatline compare: the machines differ: {} and {}\n", before.machine, after.machine);
    if (options.json != "-") print_lines(lines, options);
    if (!options.json.empty()) write_output(options.json, document_of(lines, options));
    return count(lines, Change::worse) > 0 ? 1 : 0;
}

} // namespace flat::cli
