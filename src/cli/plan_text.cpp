#include "plan_text.hpp"

#include "engine_text.hpp"
#include "plan_lines.hpp"
#include "plan_recording_text.hpp"

#include "bench/catalogue.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace flat::cli {
namespace {

using bench::grouped;
using plan::Plan;
using plan::PlannedClass;
using plan::PoolPlan;

/// The bytes, rounded to be read at a glance.
std::string roughly(std::uint64_t bytes) {
    constexpr std::array<std::string_view, 5> units{"KiB", "MiB", "GiB", "TiB", "PiB"};
    if (bytes < 10000) return fmt::format("{} B", grouped(bytes));
    double value = static_cast<double>(bytes) / 1024;
    std::size_t unit = 0;
    for (; value >= 1000 && unit + 1 < units.size(); ++unit) value /= 1024;
    return fmt::format("{:.3g} {}", value, units[unit]);
}

std::string count_text(std::uint64_t count, std::string_view one) {
    return fmt::format("{} {}{}", grouped(count), one, count == 1 ? "" : one.ends_with('s') ? "es" : "s");
}

/// Rounded down, so that it never promises too much.
std::string times_text(double growth) { return fmt::format("{:.2f}", std::floor(growth * 100 + 1e-9) / 100); }

// The map -------------------------------------------------------------------------------------------------------------

/// A row of the map: its figures, and where it is drawn.
struct LabelPlace {
    std::string what, alignment, count;
    std::uint64_t offset = 0, bytes = 0;
    std::uint64_t padding = 0; // bytes before it
    std::string_view bar;
};

/// A mapping of its own if the library maps it.
struct Memory {
    std::uint64_t bytes = 0;
    std::vector<LabelPlace> places;
};

std::vector<Memory> memories_of(const Plan &plan, bool with_arena) {
    std::vector<Memory> memories;
    if (plan.pool) {
        const flat_footprint &need = plan.pool->footprint;
        Memory blocks{need.block_bytes, {}};
        for (const PlannedClass &each : plan.pool->classes)
            blocks.places.push_back({size_text(each.size), grouped(each.alignment), grouped(each.declared.block_count),
                                     each.offset, each.bytes(), each.padding, "█"});
        memories.push_back(std::move(blocks));
        memories.push_back({need.metadata_bytes,
                            {{"metadata", grouped(need.metadata_alignment), "", 0, need.metadata_bytes, 0, "▓"}}});
    }
    if (plan.arena && with_arena)
        memories.push_back(
            {plan.arena->bytes, {{"arena", grouped(plan.arena->alignment), "", 0, plan.arena->bytes, 0, "█"}}});
    if (plan.heap) {
        const flat_footprint &need = plan.heap->footprint;
        memories.push_back(
            {need.block_bytes, {{"heap", grouped(need.block_alignment), "", 0, need.block_bytes, 0, "█"}}});
        memories.push_back({need.metadata_bytes,
                            {{"metadata", grouped(need.metadata_alignment), "", 0, need.metadata_bytes, 0, "▓"}}});
    }
    return memories;
}

/// Maps bytes to columns. Each memory begins in a column of its own, between two columns for its guard pages.
class Drawing {
  public:
    Drawing(const std::vector<Memory> &memories, std::size_t width) {
        std::uint64_t total = 0;
        for (const Memory &memory : memories) total += memory.bytes;
        const std::uint64_t columns = width - 3 * memories.size();
        scale_ = std::max<std::uint64_t>(1, (total + columns - 1) / columns);
    }

    std::uint64_t scale() const { return scale_; }

    std::size_t columns_of(std::uint64_t bytes) const {
        return static_cast<std::size_t>((bytes + scale_ - 1) / scale_);
    }

    /// A bar of at least one column, with the padding in front of it, in a memory drawn from `column` on. The last bar
    /// in a memory reaches to the memory's end.
    std::string bar(const LabelPlace &place, const Memory &memory, std::size_t column) const {
        const bool last = &place == &memory.places.back();
        const std::size_t free_from = column + static_cast<std::size_t>((place.offset - place.padding) / scale_);
        const std::size_t first = column + static_cast<std::size_t>(place.offset / scale_);
        const std::uint64_t end = last ? columns_of(memory.bytes) : (place.offset + place.bytes) / scale_;
        const std::size_t before = std::max(first + 1, column + static_cast<std::size_t>(end));
        std::string text(free_from, ' ');
        for (std::size_t at = free_from; at < before; ++at) text += at < first ? "░" : place.bar;
        return text;
    }

  private:
    std::uint64_t scale_ = 1;
};

/// The figures of the map, with the padding only if the terminal is wide enough.
std::string figures(bool wide, std::string_view what, std::string_view alignment, std::string_view count,
                    std::string_view bytes, std::string_view offset, std::string_view padding) {
    return fmt::format("{:>11}{:>8}{:>11}{:>15}{:>15}{}  ", what, alignment, count, bytes, offset,
                       wide ? fmt::format("{:>9}", padding) : "");
}

std::string row_text(const LabelPlace &place, bool wide) {
    return figures(wide, place.what, place.alignment, place.count, grouped(place.bytes), grouped(place.offset),
                   place.padding > 0 ? grouped(place.padding) : "");
}

} // namespace

std::string map_text(const Plan &plan, bool with_arena, const Look &look) {
    constexpr std::size_t narrowest = 18; // columns of a drawing
    const std::vector<Memory> memories = memories_of(plan, with_arena);
    const bool wide = look.width >= widest;
    const std::size_t figures_width = figures(wide, "", "", "", "", "", "").size();
    const std::size_t width = std::max(std::min(look.width, widest), figures_width + narrowest) - figures_width;
    const Drawing drawing(memories, width);
    std::string guards(figures_width, ' '), rows;
    std::size_t column = 0;
    for (const Memory &memory : memories) {
        for (const LabelPlace &place : memory.places)
            rows += row_text(place, wide) + drawing.bar(place, memory, column + 1) + "\n";
        guards += "▒" + std::string(drawing.columns_of(memory.bytes), ' ') + "▒";
        column += drawing.columns_of(memory.bytes) + 2;
    }
    const std::string head = figures(wide, "blocks of", "aligned", "blocks", "bytes", "from byte", "padding") +
                             "column: " + roughly(drawing.scale());
    std::string legend = "▒ guard pages, if the library maps the memory: not counted";
    if (plan.pool || plan.heap) legend = "░ padding before a class   ▓ metadata, in separate memory\n" + legend;
    return look.dress(head, Style::faint) + "\n" + rows + look.dress(guards, Style::faint) + "\n" +
           look.dress(legend, Style::faint) + "\n";
}

namespace {

// The demand ----------------------------------------------------------------------------------------------------------

std::string loads_text(const Plan &plan, const Look &look) {
    const plan::Fit &fit = *plan.fit;
    std::string text = look.dress(fmt::format("{:>11}{:>12}{:>12}{:>14}{:>15}{:>9}", "blocks of", "live", "blocks",
                                              "holds up to", "waste, bytes", "of live"),
                                  Style::faint) +
                       "\n";
    for (std::size_t i = 0; i < fit.loads.size(); ++i) {
        const PlannedClass &each = plan.pool->classes[i];
        const plan::Load &load = fit.loads[i];
        std::string line = fmt::format("{:>11}{:>12}{:>12}", size_text(each.size), grouped(load.live),
                                       grouped(each.declared.block_count));
        if (load.live > 0) {
            const std::uint64_t taken = load.live * each.size;
            const double growth = static_cast<double>(each.declared.block_count) / static_cast<double>(load.live);
            line += fmt::format("{:>8} times{:>15}{:>7.1f} %", times_text(growth), grouped(taken - load.requested),
                                percent_of(taken - load.requested, taken));
        }
        const bool first = std::ranges::find(fit.first, i) != fit.first.end();
        if (first) line += "  first";
        const bool refuses = load.live > each.declared.block_count;
        text += look.dress(line, refuses ? Style::bad : first ? Style::strong : Style::plain) + "\n";
    }
    return text;
}

std::string unserved_text(const std::vector<plan::DemandRow> &unserved, const Look &look) {
    std::string text;
    for (const plan::DemandRow &row : unserved) {
        std::string line = fmt::format("{:>11}{:>12}  no class serves it", size_text(row.size), grouped(row.count));
        if (row.alignment > FLAT_POOL_GRANULE) line += fmt::format(", aligned to {}", grouped(row.alignment));
        text += look.dress(line, Style::bad) + "\n";
    }
    return text;
}

// What was chosen -----------------------------------------------------------------------------------------------------

/// Some numbers of classes, including the best one: what fewer classes would cost.
std::string counts_text(const Plan &plan, const Look &look) {
    const plan::Choices &choices = plan.choice->choices;
    const plan::Choice &best = choices.by_count[choices.best];
    std::string text = look.dress(fmt::format("{:>11}{:>17}{:>16}{:>21}", "classes", "footprint, bytes",
                                              "over the least", "waste at the demand"),
                                  Style::faint) +
                       "\n";
    for (const plan::Choice &each : choices.by_count) {
        const bool chosen = &each == &best;
        if (!chosen && !std::has_single_bit(each.classes.size())) continue;
        const std::uint64_t waste = fit(plan::plan_pool(each.classes), plan.demand).waste;
        const std::string line =
            fmt::format("{:>11}{:>17}{:>14.1f} %{:>21}{}", each.classes.size(), grouped(each.bytes),
                        percent_of(each.bytes - best.bytes, best.bytes), grouped(waste), chosen ? "  chosen" : "");
        text += look.dress(line, chosen ? Style::strong : Style::plain) + "\n";
    }
    return text;
}

/// The cost of a margin over none. It may be negative: with more blocks a pool's map may have more and smaller spans,
/// and its classes less padding.
std::int64_t cost_of(const plan::Margin &none, const plan::Margin &with) {
    return static_cast<std::int64_t>(with.bytes) - static_cast<std::int64_t>(none.bytes);
}

std::string cost_text(std::int64_t cost) {
    return cost < 0 ? "-" + grouped(static_cast<std::uint64_t>(-cost)) : grouped(static_cast<std::uint64_t>(cost));
}

/// The bytes for each percent by which the demand may grow, up to this margin.
std::string percent_cost(const plan::Margin &none, const plan::Margin &with) {
    const double percents = (with.growth - none.growth) * 100;
    return grouped(static_cast<std::uint64_t>(std::llround(static_cast<double>(cost_of(none, with)) / percents)));
}

std::string margins_text(const Plan &plan, const Look &look) {
    const plan::Margin &none = plan.margins.front();
    std::string text = look.dress(fmt::format("{:>11}{:>17}{:>15}{:>14}{:>15}", "margin", "footprint, bytes",
                                              "for the margin", "holds up to", "1 % more for"),
                                  Style::faint) +
                       "\n";
    for (const plan::Margin &each : plan.margins) {
        const bool chosen = each.percent == plan.choice->margin_percent;
        std::string line = fmt::format("{:>9} %{:>17}{:>15}{:>8} times", each.percent, grouped(each.bytes),
                                       cost_text(cost_of(none, each)), times_text(each.growth));
        if (cost_of(none, each) > 0) line += fmt::format("{:>15}", percent_cost(none, each));
        if (chosen) line += "  chosen";
        text += look.dress(line, chosen ? Style::strong : Style::plain) + "\n";
    }
    return text;
}

// The summary ---------------------------------------------------------------------------------------------------------

std::string pool_summary(const Plan &plan, const Look &look) {
    const PoolPlan &pool = *plan.pool;
    const flat_footprint &need = pool.footprint;
    std::string text = about(
        "Pool",
        fmt::format("{} bytes exactly: {} for the blocks, at a multiple of {}, and {} of metadata ({:.2f} %), at a "
                    "multiple of {}. In one buffer: {} bytes.",
                    grouped(pool.bytes()), grouped(need.block_bytes), grouped(need.block_alignment),
                    grouped(need.metadata_bytes), percent_of(need.metadata_bytes, pool.bytes()),
                    grouped(need.metadata_alignment), grouped(pool.buffer_bytes())),
        look, Style::strong);
    if (plan.budget > 0)
        text += about("Budget",
                      fmt::format("{} bytes, of which {} are left over.", grouped(plan.budget),
                                  grouped(plan.budget - pool.buffer_bytes())),
                      look);
    return text;
}

std::string waste_summary(const Plan &plan, const Look &look) {
    const std::uint64_t taken = plan.fit->requested + plan.fit->waste;
    return about("Waste",
                 fmt::format("When the demand is reached, {} of the {} bytes in live blocks ({:.1f} %) were not "
                             "requested. Padding between classes: {} bytes.",
                             grouped(plan.fit->waste), grouped(taken), percent_of(plan.fit->waste, taken),
                             grouped(plan.pool->padding)),
                 look);
}

std::string first_summary(const Plan &plan, const Look &look) {
    const plan::Fit &fit = *plan.fit;
    if (!fit.unserved.empty()) {
        const std::size_t more = fit.unserved.size() - 1;
        const std::string sizes =
            size_text(fit.unserved.front().size) + (more == 0 ? "" : " and " + count_text(more, "other size"));
        return about("Refuses",
                     fmt::format("Every request of {}: no class serves {}.", sizes, more == 0 ? "it" : "them"), look,
                     Style::bad);
    }
    const PlannedClass &first = plan.pool->classes[fit.first.front()];
    const std::string others =
        fit.first.size() == 1 ? "" : fmt::format(" and {} more", count_text(fit.first.size() - 1, "class"));
    const std::string when =
        fit.growth < 1 ? fmt::format("before the demand is reached, at {} times its size", times_text(fit.growth))
                       : fmt::format("when the demand grows, in proportion, to more than {} times its size",
                                     times_text(fit.growth));
    return about("Refuses",
                 fmt::format("The class of {}{} {} exhausted first, {}.", size_text(first.size), others,
                             others.empty() ? "is" : "are", when),
                 look, fit.holds() ? Style::plain : Style::bad);
}

std::string margin_summary(const Plan &plan, const Look &look) {
    const auto chosen = std::ranges::find(plan.margins, plan.choice->margin_percent, &plan::Margin::percent);
    const plan::Margin &none = plan.margins.front();
    const std::int64_t cost = cost_of(none, *chosen);
    std::string text = fmt::format("{} % over the demand takes {} bytes", chosen->percent, cost_text(cost));
    if (chosen->percent == 0) text = "None: the plan holds the demand and no more";
    if (cost > 0) text += fmt::format(": {} for each percent of growth", percent_cost(none, *chosen));
    return about("Margin", text + ".", look);
}

std::string tracking_summary(const plan::Tracking &tracking, const Look &look) {
    return about(
        "Recorded",
        fmt::format("{} requests of {} sizes. At most {} bytes were live at once; the peaks of the sizes, which "
                    "the plan adds up as if they were reached together, come to {}.",
                    grouped(tracking.requests), grouped(tracking.peaks.size()), grouped(tracking.peak_bytes),
                    grouped(plan::bytes_of(tracking.peaks))),
        look);
}

/// `ever_requested`: the bytes that an arena holds that is never reset, if the plan was made from a record.
std::string arena_summary(const Plan &plan, std::optional<std::uint64_t> ever_requested, const Look &look) {
    std::string text =
        fmt::format("{} bytes, at a multiple of {}.", grouped(plan.arena->bytes), grouped(plan.arena->alignment));
    if (ever_requested)
        text += fmt::format(" An alternative to the pool: an arena that is never reset holds all {} bytes that were "
                            "ever requested, and the margin.",
                            grouped(*ever_requested));
    return about("Arena", text, look, Style::strong);
}

std::string heap_summary(const plan::HeapPlan &heap, const Look &look) {
    const flat_footprint &need = heap.footprint;
    return about(
        "Heap",
        fmt::format("{} bytes, at a multiple of {}, and {} of metadata ({:.2f} %), at a multiple of {}. It refuses no "
                    "sequence of requests of {} to {} bytes{} as long as at most {} bytes are live.",
                    grouped(need.block_bytes), grouped(need.block_alignment), grouped(need.metadata_bytes),
                    percent_of(need.metadata_bytes, need.block_bytes + need.metadata_bytes),
                    grouped(need.metadata_alignment), grouped(heap.demand.smallest), grouped(heap.demand.largest),
                    heap.demand.reallocates ? ", resizes included," : "", grouped(heap.demand.live)),
        look, Style::strong);
}

/// The arena of a tracking file is an alternative to the pool, so the map leaves it out if there is a pool.
std::string tables_text(const Plan &plan, bool with_arena, const Look &look) {
    std::string text;
    if (plan.pool || plan.arena || plan.heap) text = section("Map", map_text(plan, with_arena, look), look);
    if (plan.fit) text += section("Demand", loads_text(plan, look) + unserved_text(plan.fit->unserved, look), look);
    if (plan.choice && plan.pool) {
        text += section("Numbers of classes", counts_text(plan, look), look);
        text += section("Margins, with the same classes", margins_text(plan, look), look);
    }
    if (plan.engine) text += engine_tables(*plan.engine, look);
    return text;
}

} // namespace

std::string plan_text(const Plan &plan, const std::optional<plan::Tracking> &tracking, const Look &look,
                      const std::optional<RecordedPlan> &recording) {
    std::optional<std::uint64_t> ever_requested;
    if (tracking) ever_requested = tracking->total_bytes;
    if (recording) ever_requested = recording->chosen.arena_bytes;
    std::string text = tables_text(plan, !ever_requested || !plan.pool, look);
    if (recording) text += recording_tables(*recording, look);
    if (tracking) text += tracking_summary(*tracking, look);
    if (recording) text += recording_summary(*recording, look);
    if (plan.pool) text += pool_summary(plan, look);
    if (plan.arena) text += arena_summary(plan, ever_requested, look);
    if (plan.heap) text += heap_summary(*plan.heap, look);
    if (plan.engine) text += engine_summary(*plan.engine, plan.declared_engine, look);
    if (plan.choice && plan.pool) text += margin_summary(plan, look);
    if (plan.fit) return text + waste_summary(plan, look) + first_summary(plan, look);
    if (!plan.demand.empty())
        return text + about("Refuses", "Every request: no pool serves these sizes.", look, Style::bad);
    if (plan.pool)
        text += about(
            "Waste", "Depends on the requested sizes: --distribution SIZE:COUNT,... shows it, and what runs out first.",
            look);
    return text;
}

} // namespace flat::cli
