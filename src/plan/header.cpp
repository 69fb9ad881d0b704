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
    return text + "\n#endif\n";
}

} // namespace flat::plan
