// A plan as a declaration.
#include "toml.hpp"

#include "number_text.hpp"

#include <fmt/format.h>

namespace flat::plan {
namespace {

std::string row_text(const DemandRow &row) {
    return row.alignment == 1
               ? fmt::format("    {{ size = {}, count = {} }},\n", row.size, row.count)
               : fmt::format("    {{ size = {}, count = {}, alignment = {} }},\n", row.size, row.count, row.alignment);
}

std::string urgencies_text(Urgencies urgencies) {
    std::string text;
    for (unsigned urgency = 0; urgency < FLAT_ENGINE_URGENCIES; ++urgency) {
        if ((urgencies >> urgency & 1) != 0) text += (text.empty() ? "" : ", ") + std::to_string(urgency);
    }
    return "[" + text + "]";
}

std::string grants_text(std::string_view key, std::size_t grants) {
    if (grants == 0) return "";
    return fmt::format(", {} = {}", key, grants == FLAT_NO_GRANTS ? "\"none\"" : std::to_string(grants));
}

/// Members of a table, each after a comma.
std::string limits_text(const flat_class_limits &limits, Urgencies urgencies) {
    std::string text = grants_text("grants", limits.grants) + grants_text("worker_grants", limits.worker_grants);
    if (limits.service_ns != 0) text += fmt::format(", service = \"{}\"", duration_text(limits.service_ns));
    if (urgencies != every_urgency) text += ", urgencies = " + urgencies_text(urgencies);
    return text;
}

std::string classes_text(const EngineClasses &of) {
    std::string text = "classes = [\n";
    for (std::size_t i = 0; i < of.classes.size(); ++i)
        text += fmt::format("    {{ size = {}, count = {}{} }},\n", of.classes[i].block_size, of.classes[i].block_count,
                            limits_text(of.limits[i], of.urgencies[i]));
    return text + "]\n";
}

std::string duration_line(std::string_view key, std::uint64_t ns) {
    return ns == 0 ? "" : fmt::format("{} = \"{}\"\n", key, duration_text(ns));
}

std::string number_line(std::string_view key, std::uint64_t number) {
    return number == 0 ? "" : fmt::format("{} = {}\n", key, number);
}

std::string engine_text(const EngineDeclaration &engine) {
    std::string text = fmt::format("\n[engine]\nworkers = {}\n", engine.worker_count);
    text += number_line("lanes", engine.lane_count);
    if (engine.waiting == FLAT_WAITING_BUSY) text += "waiting = \"busy\"\n";
    if (engine.waiting == FLAT_WAITING_SLEEP) text += "waiting = \"sleep\"\n";
    text += duration_line("spin", engine.spin_ns);
    text += number_line("stack", engine.stack_size);
    text += number_line("starvation_limit", engine.starvation_limit);
    text += duration_line("watchdog", engine.watchdog_ns);
    if (engine.caller_runs_workers) text += "caller_runs_workers = true\n";
    text += duration_line("overhead", engine.overhead_ns.value_or(0));
    if (!engine.classes.classes.empty()) text += classes_text(engine.classes);
    const std::string limits = limits_text(engine.inline_limits, engine.inline_urgencies);
    if (!limits.empty()) text += fmt::format("inline = {{ {} }}\n", limits.substr(2));
    for (const DeclaredWorker &each : engine.workers) {
        text += "\n[[engine.worker]]\n";
        if (each.processor) text += fmt::format("processor = {}\n", *each.processor);
        if (each.own) text += classes_text(*each.own);
    }
    return text;
}

} // namespace

std::string toml_of(const Plan &plan, const std::vector<std::string> &remarks) {
    std::string text;
    for (const std::string &remark : remarks) text += "# " + remark + "\n";
    if (plan.pool) {
        text += "\n[pool]\nclasses = [\n";
        for (const PlannedClass &each : plan.pool->classes)
            text +=
                fmt::format("    {{ size = {}, count = {} }},\n", each.declared.block_size, each.declared.block_count);
        text += "]\n";
    }
    if (plan.arena)
        text += fmt::format("\n[arena]\nbytes = {}\nalignment = {}\n", plan.arena->bytes, plan.arena->alignment);
    if (plan.heap) {
        const flat_heap_demand &demand = plan.heap->demand;
        text += fmt::format("\n[heap]\nlive = {}\nsmallest = {}\nlargest = {}\n", demand.live, demand.smallest,
                            demand.largest);
        if (demand.alignment != 0) text += fmt::format("alignment = {}\n", demand.alignment);
        if (demand.reallocates) text += "reallocates = true\n";
    }
    if (plan.engine) text += engine_text(plan.declared_engine);
    if (!plan.demand.empty()) {
        text += "\n# Blocks live at once, by size.\n[demand]\nsizes = [\n";
        for (const DemandRow &row : plan.demand) text += row_text(row);
        text += "]\n";
    }
    return text;
}

} // namespace flat::plan
