#include "plan_recording_text.hpp"

#include "plan_lines.hpp"

#include "bench/catalogue.hpp"
#include "plan/number_text.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>

namespace flat::cli {
namespace {

using bench::grouped;
using json = nlohmann::ordered_json;

constexpr std::size_t most_parts = 20; // that a table shows

std::string parts_text(const std::string &what, std::vector<RecordedPart> parts, bool with_others, const Look &look) {
    if (parts.size() < 2) return "";
    std::string text = look.dress(fmt::format("  {:<22}{:>12}{:>12}{:>15}{:>15}{:>15}", what, "allocations",
                                              "live blocks", "live bytes", "pool, bytes", "arena, bytes"),
                                  Style::faint) +
                       "\n";
    const std::size_t all = parts.size();
    if (all > most_parts) {
        std::ranges::stable_sort(parts, std::greater<>(), &RecordedPart::peak_bytes);
        parts.resize(most_parts);
    }
    for (const RecordedPart &part : parts) {
        text += fmt::format("  {:<22}{:>12}{:>12}{:>15}{:>15}{:>15}\n", plan::shown(part.name, 21),
                            grouped(part.allocations), grouped(part.peak_blocks), grouped(part.peak_bytes),
                            part.pool ? grouped(part.pool->bytes()) : "none", grouped(part.arena_bytes));
        if (with_others && part.given_by_others > 0)
            text += fmt::format("    {} of its blocks are freed by another thread\n", grouped(part.given_by_others));
    }
    if (all > parts.size()) text += fmt::format("  and {} more: --json lists them\n", grouped(all - parts.size()));
    return text;
}

std::string chosen_text(const RecordedPlan &recording) {
    std::string text;
    if (!recording.phase.empty()) text += fmt::format(" in the phase {}", plan::shown(recording.phase));
    if (!recording.thread.empty()) text += fmt::format(" by the thread {}", plan::shown(recording.thread));
    return text;
}

/// What makes the plan differ from what the program did.
std::string remarks_text(const RecordedPlan &recording, const Look &look) {
    std::string text;
    const auto remark = [&](bool applies, const std::string &sentence) {
        if (applies) text += about("Note", sentence, look);
    };
    remark(
        recording.resizes > 0,
        fmt::format("{} calls of realloc resize a block. A pool has no realloc: each counts as a new block, and then "
                    "a free of the old one.",
                    grouped(recording.resizes)));
    remark(recording.unknown > 0,
           fmt::format("{} frees are of blocks whose allocation is not in the recording, and are left out.",
                       grouped(recording.unknown)));
    remark(recording.dropped > 0,
           fmt::format("{} calls were dropped from the recording: the plan may be too small, or too large.",
                       grouped(recording.dropped)));
    remark(!recording.whole, "The recording ends before the program did.");
    remark(recording.other_programs > 0,
           fmt::format("The recording has {} more programs: the plan is for {}, which made the most calls.",
                       grouped(recording.other_programs), plan::shown(recording.program, 60)));
    return text;
}

/// What several threads need beside a pool.
std::string threads_text(const RecordedPlan &recording, const Look &look) {
    if (recording.threads.size() < 2 || !recording.thread.empty()) return "";
    std::string text =
        fmt::format("{} threads allocate, and a pool belongs to one thread at a time. The plan is for all "
                    "of them together, as under one lock; --thread plans the pool of one.",
                    grouped(recording.threads.size()));
    if (recording.chosen.given_by_others > 0)
        text += fmt::format(" {} blocks are freed by a thread that did not allocate them, which is what a percore pool "
                            "is for (docs/percore.md).",
                            grouped(recording.chosen.given_by_others));
    return about("Threads", text, look);
}

std::string less_text(const plan::Exactness::BlockLess &each) {
    const std::string size = size_text(each.block_size);
    if (each.refused_when_made) return fmt::format("of {} the pool itself", size);
    if (each.refused_at == 0) return fmt::format("of {} nothing", size);
    return fmt::format("of {} allocation {}", size, grouped(each.refused_at));
}

std::string exactness_text(const RecordedPlan &recording, const Look &look) {
    constexpr std::size_t most_classes = 4;
    const plan::Exactness &found = *recording.exactness;
    std::string text = fmt::format("On exactly this footprint: {} allocations, {} refused. A byte less {} refused. ",
                                   grouped(found.allocations), found.refused == 0 ? "none" : grouped(found.refused),
                                   found.a_byte_less_is_refused ? "is" : "is not");
    text += recording.margin_percent > 0 ? "Without the margin, and with one block less " : "With one block less ";
    for (std::size_t i = 0; i < std::min(found.by_class.size(), most_classes); ++i)
        text += fmt::format("{}{}{}", i == 0 ? "" : ", ", less_text(found.by_class[i]), i == 0 ? " is refused" : "");
    if (found.by_class.size() > most_classes) {
        const auto others = std::span(found.by_class).subspan(most_classes);
        const auto refused = std::ranges::count_if(others, &plan::Exactness::BlockLess::is_refused);
        text += fmt::format("; so is one in {} of {} more classes", refused, others.size());
    }
    return about("Replayed", text + ".", look, found.holds() ? Style::plain : Style::bad);
}

json part_json(const RecordedPart &part) {
    json classes = json::array();
    if (part.pool)
        for (const plan::PlannedClass &each : part.pool->classes)
            classes.push_back({{"block_size", each.declared.block_size}, {"block_count", each.declared.block_count}});
    return {{"name", part.name},
            {"allocations", part.allocations},
            {"peak_blocks", part.peak_blocks},
            {"peak_bytes", part.peak_bytes},
            {"freed_by_others", part.given_by_others},
            {"arena_bytes", part.arena_bytes},
            {"pool_bytes", part.pool ? json(part.pool->bytes()) : json(nullptr)},
            {"classes", classes}};
}

json exactness_json(const plan::Exactness &found) {
    json by_class = json::array();
    for (const plan::Exactness::BlockLess &each : found.by_class)
        by_class.push_back({{"block_size", each.block_size},
                            {"block_count", each.block_count},
                            {"refused_at", each.refused_at > 0 ? json(each.refused_at) : json(nullptr)},
                            {"refused_when_made", each.refused_when_made}});
    return {{"holds", found.holds()},
            {"allocations", found.allocations},
            {"refused", found.refused},
            {"a_byte_less_is_refused", found.a_byte_less_is_refused},
            {"one_block_less", by_class}};
}

} // namespace

std::string recording_tables(const RecordedPlan &recording, const Look &look) {
    return section("Phases", parts_text("phase", recording.phases, false, look), look) +
           section("Threads", parts_text("thread", recording.threads, true, look), look);
}

std::string recording_summary(const RecordedPlan &recording, const Look &look) {
    const RecordedPart &chosen = recording.chosen;
    std::string text = about("Recorded",
                             fmt::format("{} allocations{}. At most {} blocks and {} bytes were live at once.",
                                         grouped(chosen.allocations), chosen_text(recording),
                                         grouped(chosen.peak_blocks), grouped(chosen.peak_bytes)),
                             look);
    text += threads_text(recording, look) + remarks_text(recording, look);
    if (recording.exactness) text += exactness_text(recording, look);
    return text;
}

json recording_json(const RecordedPlan &recording) {
    json phases = json::array(), threads = json::array();
    for (const RecordedPart &part : recording.phases) phases.push_back(part_json(part));
    for (const RecordedPart &part : recording.threads) threads.push_back(part_json(part));
    const auto name = [](const std::string &text) { return text.empty() ? json(nullptr) : json(text); };
    json document = part_json(recording.chosen);
    document.erase("name");
    json found{{"program", recording.program},
               {"process", recording.process},
               {"phase", name(recording.phase)},
               {"thread", name(recording.thread)},
               {"margin_percent", recording.margin_percent}};
    found.update(document);
    found["phases"] = phases;
    found["threads"] = threads;
    found["resizes"] = recording.resizes;
    found["unknown_frees"] = recording.unknown;
    found["dropped_calls"] = recording.dropped;
    found["other_programs"] = recording.other_programs;
    found["whole"] = recording.whole;
    found["replayed"] = recording.exactness ? exactness_json(*recording.exactness) : json(nullptr);
    return found;
}

} // namespace flat::cli
