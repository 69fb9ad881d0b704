#include "engine_text.hpp"

#include "plan_lines.hpp"

#include "bench/catalogue.hpp"
#include "plan/number_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace flat::cli {
namespace {

using bench::grouped;
using plan::EnginePlan;
using plan::PlannedPayload;
using plan::PlannedWorkers;
using plan::SojournBound;

std::string payload_text(const PlannedPayload &payload) {
    return payload.block_size == 0 ? "inline" : size_text(payload.block_size);
}

/// Three digits, rounded up: a bound must not promise too much.
std::string rounded_up(std::uint64_t ns) {
    constexpr std::array<std::pair<std::string_view, double>, 4> units{
        {{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}, {"ns", 1}}};
    std::size_t unit = 0;
    while (unit + 1 < units.size() && static_cast<double>(ns) < units[unit].second) ++unit;
    const double value = static_cast<double>(ns) / units[unit].second;
    const double step = value < 10 ? 0.01 : value < 100 ? 0.1 : 1;
    const int digits = value < 10 ? 2 : value < 100 ? 1 : 0;
    const bool exact = units[unit].second == 1;
    return fmt::format("{:.{}f} {}", std::ceil(value / step - 1e-9) * step, exact ? 0 : digits, units[unit].first);
}

/// Text at the right of a column; a µ is one column and two bytes.
std::string right(const std::string &text, std::size_t width) {
    const auto columns = static_cast<std::size_t>(
        std::ranges::count_if(text, [](char each) { return (static_cast<unsigned char>(each) & 0xc0) != 0x80; }));
    return std::string(width > columns ? width - columns : 0, ' ') + text;
}

/// "worker 0", "workers 0 to 3", "workers 0, 2 and 5 more".
std::string workers_text(const std::vector<std::size_t> &numbers) {
    if (numbers.size() == 1) return fmt::format("worker {}", numbers.front());
    if (numbers.back() - numbers.front() + 1 == numbers.size())
        return fmt::format("workers {} to {}", numbers.front(), numbers.back());
    if (numbers.size() == 2) return fmt::format("workers {} and {}", numbers.front(), numbers.back());
    return fmt::format("workers {}, {} and {} more", numbers[0], numbers[1], numbers.size() - 2);
}

std::string memory_text(const EnginePlan &engine, const Look &look) {
    const engine_parts &parts = engine.parts;
    const std::uint64_t guards = parts.stack_guards + parts.block_guards;
    std::string text = look.dress(fmt::format("{:>16}", "bytes"), Style::faint) + "\n";
    for (const auto &[bytes, what] : {std::pair{parts.stacks, "stacks"},
                                      {parts.workers, "of the workers: metadata of their pools, records of tasks"},
                                      {parts.lanes, "lanes: rings, and what submitters know of their grants"},
                                      {parts.statistics, "statistics"},
                                      {parts.others, "the engine itself, and alignment"},
                                      {engine.parked_bytes, "blocks parked as grants"},
                                      {engine.left_bytes, "blocks left to tasks"},
                                      {engine.padding, "padding of the blocks"},
                                      {guards, "guard pages: not resident if the library maps the memory"}}) {
        if (bytes > 0) text += fmt::format("{:>16}  {}\n", grouped(bytes), what);
    }
    return text + look.dress(fmt::format("{:>16}  in all", grouped(engine.bytes())), Style::strong) + "\n";
}

/// A table with a heading for each kind of worker, unless all are alike.
template <typename Row>
std::string by_worker(const EnginePlan &engine, const std::string &head, const Row &row, const Look &look) {
    std::string text = look.dress(head, Style::faint) + "\n";
    for (const PlannedWorkers &kind : engine.kinds) {
        if (engine.kinds.size() > 1) text += look.dress(workers_text(kind.numbers), Style::strong) + "\n";
        for (const PlannedPayload &payload : kind.payloads) text += row(payload);
    }
    return text;
}

std::string grants_text(const EnginePlan &engine, const Look &look) {
    const std::string head = fmt::format("{:>11}{:>12}{:>12}{:>14}{:>12}{:>15}", "blocks of", "blocks", "each lane",
                                         "each worker", "all lanes", "left to tasks");
    return by_worker(
        engine, head,
        [](const PlannedPayload &each) {
            const bool inlined = each.block_size == 0;
            return fmt::format("{:>11}{:>12}{:>12}{:>14}{:>12}{:>15}\n", payload_text(each),
                               inlined ? "-" : grouped(each.block_count), grouped(each.lane_grants),
                               grouped(each.worker_grants), grouped(each.granted),
                               inlined ? "-" : grouped(each.left()));
        },
        look);
}

std::string bound_row(const PlannedPayload &payload, const SojournBound &bound) {
    const plan::TasksBefore &before = bound.before;
    const std::uint64_t less = before.all() - before.running - before.as_urgent - before.more_urgent;
    return fmt::format("{:>11}{:>9}{}{:>12}{:>13}{:>13}{}\n", payload_text(payload), bound.urgency,
                       right(payload.service_ns != 0 ? rounded_up(payload.service_ns) : "no limit", 11),
                       grouped(before.as_urgent), grouped(before.more_urgent), grouped(less),
                       right(bound.ns ? rounded_up(*bound.ns) : "none", 11));
}

std::string bounds_text(const EnginePlan &engine, const Look &look) {
    const std::string head = fmt::format("{:>11}{:>9}{:>11}{:>12}{:>13}{:>13}{:>11}", "payload", "urgency", "one run",
                                         "as urgent", "more urgent", "less urgent", "bound");
    return by_worker(
        engine, head,
        [](const PlannedPayload &payload) {
            std::string rows;
            for (const SojournBound &bound : payload.bounds) rows += bound_row(payload, bound);
            return rows;
        },
        look);
}

/// The first payload without a limit, which leaves its worker without a bound; "" if there is none.
std::string without_limit(const EnginePlan &engine) {
    for (const PlannedWorkers &kind : engine.kinds) {
        for (const PlannedPayload &payload : kind.payloads) {
            if (payload.granted == 0 || payload.service_ns != 0) continue;
            const std::string what =
                payload.block_size == 0 ? "inline payloads" : "payloads in blocks of " + size_text(payload.block_size);
            return fmt::format("Tasks with {} state no `service` at {}. Each of them may run for any time, so nothing "
                               "bounds what waits behind it: state how long a run may take",
                               what, workers_text(kind.numbers)) +
                   (payload.block_size == 0 ? ", or write grants and worker_grants \"none\"." : ".");
        }
    }
    return "";
}

std::string bound_summary(const EnginePlan &engine, const plan::EngineDeclaration &declared) {
    std::string text = fmt::format(
        "From the return of a submit to the end of the task: one run of it, one of the task that runs as it comes, "
        "the runs in the table, and {} for each of these and each grant, which is what the engine {}. An urgency is "
        "passed over by at most {} more urgent tasks in a row. What keeps the worker's thread from running is not in "
        "it: interrupts, other threads",
        rounded_up(engine.overhead_ns), declared.overhead_ns ? "was declared to take" : "is assumed to take",
        grouped(engine.starvation_limit));
    if (declared.waiting != FLAT_WAITING_BUSY) text += ", and waking it up if it sleeps";
    return text + ".";
}

} // namespace

std::string engine_tables(const EnginePlan &engine, const Look &look) {
    return section("Memory of the engine", memory_text(engine, look), look) +
           section("Grants", grants_text(engine, look), look) +
           section("Bounds of the sojourn, and the tasks that can be run before", bounds_text(engine, look), look);
}

std::string engine_summary(const EnginePlan &engine, const plan::EngineDeclaration &declared, const Look &look) {
    const flat_footprint &need = engine.footprint;
    std::string text = about(
        "Engine",
        fmt::format("{} bytes exactly: {} for the blocks of {} worker{}, and {} of metadata, both at a multiple of "
                    "{}. The stacks are in the metadata.",
                    grouped(engine.bytes()), grouped(need.block_bytes), engine.workers, engine.workers == 1 ? "" : "s",
                    grouped(need.metadata_bytes), grouped(need.block_alignment)),
        look, Style::strong);
    text +=
        about("Grants",
              fmt::format("{} lane{}, and one of each worker. A submitter can have as many tasks in flight as it has "
                          "grants, and is refused more. {:.1f} % of the blocks' bytes are parked as grants.",
                          grouped(engine.lanes), engine.lanes == 1 ? "" : "s",
                          percent_of(engine.parked_bytes, engine.parked_bytes + engine.left_bytes)),
              look);
    const std::string missing = without_limit(engine);
    if (!missing.empty()) text += about("No bound", missing, look, Style::bad);
    return text + about("Bound", bound_summary(engine, declared), look);
}

} // namespace flat::cli
