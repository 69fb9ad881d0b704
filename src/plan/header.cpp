#include "header.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace flat::plan {
namespace {

constexpr bool is_letter(char each) { return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z'); }
constexpr bool is_digit(char each) { return each >= '0' && each <= '9'; }

std::string upper(std::string text) {
    for (char &each : text) {
        if (each >= 'a' && each <= 'z') each = static_cast<char>(each - 'a' + 'A');
    }
    return text;
}

constexpr std::string_view pool_text = R"(
/* The pool, in memory of its own:
 *
 *   alignas({0}_METADATA_ALIGNMENT) static unsigned char metadata[{0}_METADATA_BYTES];
 *   alignas({0}_BLOCK_ALIGNMENT) static unsigned char blocks[{0}_BLOCK_BYTES];
 *
 * In one buffer of {0}_BUFFER_BYTES at a multiple of {0}_BLOCK_ALIGNMENT the
 * blocks come first, and the metadata {0}_METADATA_OFFSET bytes behind its start.
 *
 * The figures are those of 64 bits; on 32 bits the metadata need no more. Were they ever too
 * small, flat_pool_init would say so and do nothing. */
#define {0}_METADATA_BYTES {1}
#define {0}_METADATA_ALIGNMENT {2}
#define {0}_BLOCK_BYTES {3}
#define {0}_BLOCK_ALIGNMENT {4}
#define {0}_METADATA_OFFSET {5}
#define {0}_BUFFER_BYTES {6}
)";

constexpr std::string_view arena_text = R"(
/* The arena. */
#define {0}_ARENA_BYTES {1}
#define {0}_ARENA_ALIGNMENT {2}
)";

constexpr std::string_view heap_text = R"(
/* The heap, made by flat_heap_init in memory of its own; it never refuses {1} bytes live in requests of {2} to {3}. */
#define {0}_HEAP_METADATA_BYTES {4}
#define {0}_HEAP_METADATA_ALIGNMENT {5}
#define {0}_HEAP_BYTES {6}
#define {0}_HEAP_ALIGNMENT {7}
)";

constexpr std::string_view engine_text = R"(
/* The engine: flat_engine_create(&engine, &options), where options = {1}_engine_options();
 * flat_engine_init takes memories of these sizes and refuses one byte less. */
#define {0}_ENGINE_METADATA_BYTES {2}
#define {0}_ENGINE_METADATA_ALIGNMENT {3}
#define {0}_ENGINE_BLOCK_BYTES {4}
#define {0}_ENGINE_BLOCK_ALIGNMENT {5}
)";

constexpr std::string_view engine_options_text = R"(
/* All other members have their defaults. */
static inline flat_engine_options {0}_engine_options(void) {{
#ifdef __cplusplus
    flat_engine_options options = {{}};
#else
    flat_engine_options options = {{0}};
#endif
{1}    return options;
}}
)";

std::string grants_text(std::size_t grants) {
    return grants == FLAT_NO_GRANTS ? "FLAT_NO_GRANTS" : std::to_string(grants);
}

/// The arrays of a set of classes and its limits.
std::string classes_text(const EngineClasses &of, const std::string &name) {
    std::string text = fmt::format("static const flat_class {}_classes[{}] = {{\n", name, of.classes.size());
    for (const flat_class &each : of.classes)
        text += fmt::format("    {{{}, {}}},\n", each.block_size, each.block_count);
    text += fmt::format("}};\nstatic const flat_class_limits {}_class_limits[{}] = {{ /* grants, worker_grants, "
                        "service_ns */\n",
                        name, of.limits.size());
    for (const flat_class_limits &each : of.limits)
        text += fmt::format("    {{{}, {}, {}}},\n", grants_text(each.grants), grants_text(each.worker_grants),
                            each.service_ns);
    return text + "};\n";
}

/// The array of workers that differ, with their classes.
std::string workers_text(const EngineDeclaration &engine, const std::string &prefix) {
    std::string text, rows;
    for (std::size_t i = 0; i < engine.workers.size(); ++i) {
        const DeclaredWorker &each = engine.workers[i];
        const std::string name = fmt::format("{}_worker_{}", prefix, i);
        std::string classes = "NULL, 0, NULL";
        if (each.own) {
            text += classes_text(*each.own, name);
            classes = fmt::format("{0}_classes, {1}, {0}_class_limits", name, each.own->classes.size());
        }
        rows += fmt::format("    {{{}, {}, {}}},\n", classes, each.processor.has_value(), each.processor.value_or(0));
    }
    return text + fmt::format("static const flat_worker_options {}_workers[{}] = {{ /* classes, class_count, "
                              "class_limits, pinned, processor */\n{}}};\n",
                              prefix, engine.workers.size(), rows);
}

std::string limits_lines(const flat_class_limits &limits) {
    return fmt::format("    options.inline_limits.grants = {};\n    options.inline_limits.worker_grants = {};\n"
                       "    options.inline_limits.service_ns = {};\n",
                       grants_text(limits.grants), grants_text(limits.worker_grants), limits.service_ns);
}

/// The statements that set what was declared.
std::string options_lines(const EngineDeclaration &engine, const std::string &prefix) {
    std::string text = fmt::format("    options.worker_count = {};\n", engine.worker_count);
    if (!engine.classes.classes.empty())
        text += fmt::format("    options.classes = {0}_engine_classes;\n    options.class_count = {1};\n"
                            "    options.class_limits = {0}_engine_class_limits;\n",
                            prefix, engine.classes.classes.size());
    text += limits_lines(engine.inline_limits);
    if (!engine.workers.empty()) text += fmt::format("    options.workers = {}_workers;\n", prefix);
    constexpr std::string_view ways[] = {"FLAT_WAITING_DEFAULT", "FLAT_WAITING_BUSY", "FLAT_WAITING_SLEEP"};
    return text + fmt::format("    options.lane_count = {};\n    options.waiting = {};\n    options.spin_ns = {};\n"
                              "    options.stack_size = {};\n    options.starvation_limit = {};\n"
                              "    options.caller_runs_workers = {};\n    options.watchdog_ns = {};\n",
                              engine.lane_count, ways[engine.waiting], engine.spin_ns, engine.stack_size,
                              engine.starvation_limit, engine.caller_runs_workers, engine.watchdog_ns);
}

std::string engine_part(const Plan &plan, const std::string &prefix) {
    const flat_footprint &need = plan.engine->footprint;
    const EngineDeclaration &engine = plan.declared_engine;
    std::string text = fmt::format(fmt::runtime(engine_text), upper(prefix), prefix, need.metadata_bytes,
                                   need.metadata_alignment, need.block_bytes, need.block_alignment);
    if (!engine.classes.classes.empty()) text += classes_text(engine.classes, prefix + "_engine");
    if (!engine.workers.empty()) text += workers_text(engine, prefix);
    return text + fmt::format(fmt::runtime(engine_options_text), prefix, options_lines(engine, prefix));
}

std::string heap_part(const HeapPlan &heap, const std::string &name) {
    return fmt::format(fmt::runtime(heap_text), name, heap.demand.live, heap.demand.smallest, heap.demand.largest,
                       heap.footprint.metadata_bytes, heap.footprint.metadata_alignment, heap.footprint.block_bytes,
                       heap.footprint.block_alignment);
}

std::string pool_part(const PoolPlan &pool, const std::string &prefix) {
    const flat_footprint &need = pool.footprint;
    const std::string name = upper(prefix);
    std::string text =
        fmt::format(fmt::runtime(pool_text), name, need.metadata_bytes, need.metadata_alignment, need.block_bytes,
                    need.block_alignment, pool.buffer_bytes() - need.metadata_bytes, pool.buffer_bytes());
    text += fmt::format("#define {}_CLASS_COUNT {}\n", name, pool.classes.size());
    text += fmt::format("static const flat_class {}_classes[{}_CLASS_COUNT] = {{\n", prefix, name);
    for (const PlannedClass &each : pool.classes)
        text += fmt::format("    {{{}, {}}},\n", each.declared.block_size, each.declared.block_count);
    return text + "};\n";
}

} // namespace

std::string prefix_of(std::string_view file) {
    const std::size_t slash = file.rfind('/');
    if (slash != std::string_view::npos) file.remove_prefix(slash + 1);
    std::string prefix;
    for (const char each : file.substr(0, file.find('.'))) {
        const bool upper_case = each >= 'A' && each <= 'Z';
        if (is_letter(each) || is_digit(each)) {
            prefix += static_cast<char>(upper_case ? each - 'A' + 'a' : each);
        } else if (!prefix.empty() && prefix.back() != '_') {
            prefix += '_'; // one at a time: names with two in a row are reserved
        }
    }
    if (!prefix.empty() && prefix.back() == '_') prefix.pop_back();
    return !prefix.empty() && is_letter(prefix.front()) ? prefix : "plan" + prefix;
}

std::string header_of(const Plan &plan, const std::string &prefix) {
    const std::string name = upper(prefix);
    std::string text =
        fmt::format("/* Made by `flatline plan`. To change it, change the declaration and run the command again. */\n"
                    "/* clang-format off */\n"
                    "#ifndef {}_PLAN_H\n#define {}_PLAN_H\n",
                    name, name);
    if (plan.pool) {
        text += fmt::format(
            "\n#include <flatline/pool.h>\n\n"
            "#if FLAT_POOL_GRANULE != {} || FLAT_POOL_MAX_ALIGNMENT != {}\n"
            "#error \"this plan was made for another version of Flatline: run `flatline plan` again\"\n#endif\n",
            FLAT_POOL_GRANULE, FLAT_POOL_MAX_ALIGNMENT);
        text += pool_part(*plan.pool, prefix);
    }
    if (plan.arena) text += fmt::format(fmt::runtime(arena_text), name, plan.arena->bytes, plan.arena->alignment);
    if (plan.heap) text += heap_part(*plan.heap, name);
    if (plan.engine) text += "\n#include <flatline/engine.h>\n" + engine_part(plan, prefix);
    return text + "\n#endif\n";
}

} // namespace flat::plan
