#include "limits.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace flat::prove {
namespace {

using json = nlohmann::json;

constexpr std::string_view stack_name = "stack_bytes";

std::optional<std::uint64_t> figure_of(const Proof &proof, std::string_view name) {
    if (name == stack_name) return proof.stack_bytes;
    for (const Count count : all_counts)
        if (name == name_of(count)) return proof.most[count];
    return std::nullopt;
}

std::vector<std::string_view> figure_names() {
    std::vector<std::string_view> names = {stack_name};
    for (const Count count : all_counts) names.push_back(name_of(count));
    return names;
}

std::string line_of(const Instruction &instruction, const Binary &binary, const SourceLines &lines) {
    const std::string line = lines.short_name(instruction.address);
    return fmt::format("{} ({})", instruction.text, line.empty() ? binary.place(instruction.address) : line);
}

bool counts_for(const Instruction &instruction, Count count) {
    switch (count) {
    case Count::instructions: return instruction.flow == Flow::call;
    case Count::loads: return instruction.loads > 0;
    case Count::stores: return instruction.stores > 0;
    case Count::accesses: return instruction.loads + instruction.stores > 0;
    case Count::branches: return instruction.flow == Flow::branch;
    case Count::atomics: return instruction.atomic || instruction.exclusive;
    }
    return false;
}

/// What may have made the figure grow: the instructions on its longest path that it counts. For the count of
/// instructions these are the calls, which contribute most.
std::string suspects(const Proof &proof, std::string_view name, const Binary &binary, const SourceLines &lines) {
    constexpr std::size_t most_named = 8;
    std::vector<std::string> named;
    for (const Count count : all_counts)
        if (name == name_of(count))
            for (const Step &step : proof.path(count))
                if (counts_for(step.instruction, count)) {
                    std::string line = line_of(step.instruction, binary, lines);
                    if (std::ranges::find(named, line) == named.end()) named.push_back(std::move(line));
                }
    if (named.empty() || (named.size() > most_named && name != name_of(Count::atomics))) {
        const std::string line = lines.short_name(proof.address);
        return line.empty() ? "" : fmt::format(", in the function at {}", line);
    }
    named.resize(std::min(named.size(), most_named));
    return fmt::format(": {}", fmt::join(named, ", "));
}

} // namespace

Limits limits_from(std::string_view text, const std::string &file) {
    const auto refuse = [&file](std::string_view why) {
        throw std::runtime_error(fmt::format("--limit: {} {}: give what `flatline prove --json` wrote", file, why));
    };
    const json document = json::parse(text, nullptr, false);
    if (document.is_discarded()) refuse("is not JSON");
    if (!document.is_object() || !document.contains("schema") || document["schema"] != "flatline.prove/1")
        refuse("does not have the schema flatline.prove/1");
    if (!document.contains("functions") || !document["functions"].is_array()) refuse("has no list of functions");
    Limits limits;
    for (const json &function : document["functions"]) {
        if (!function.is_object() || !function.contains("name") || !function["name"].is_string())
            refuse("has a function without a name");
        std::map<std::string, std::uint64_t> &of = limits[function["name"].get<std::string>()];
        for (const std::string_view name : figure_names()) {
            const auto figure = function.find(std::string(name));
            if (figure == function.end() || figure->is_null()) continue;
            if (!figure->is_number_unsigned())
                refuse(fmt::format("has a limit for {} that is not a whole number", name));
            of[std::string(name)] = figure->get<std::uint64_t>();
        }
    }
    return limits;
}

std::vector<std::string> exceeded(const Certificate &certificate, const Limits &limits, bool all, const Binary &binary,
                                  const SourceLines &lines) {
    std::vector<std::string> found;
    std::set<std::string> seen;
    for (const ProvedFunction &function : certificate.functions) {
        seen.insert(function.name);
        const auto limit = limits.find(function.name);
        if (limit == limits.end()) {
            if (all && function.verdict != ProofStatus::absent)
                found.push_back(fmt::format("{} has no limit: add it to the file", function.name));
            continue;
        }
        if (function.verdict != ProofStatus::proved) {
            if (!limit->second.empty())
                found.push_back(fmt::format("{} has limits, but is {}", function.name, name_of(function.verdict)));
            continue;
        }
        for (const auto &[name, most] : limit->second) {
            const std::optional<std::uint64_t> figure = figure_of(function.proof, name);
            if (figure && *figure > most)
                found.push_back(fmt::format("{}: {} {}, the limit is {}{}", function.name, *figure, name, most,
                                            suspects(function.proof, name, binary, lines)));
        }
    }
    if (!all) return found;
    for (const auto &[name, of] : limits)
        if (!of.empty() && !seen.contains(name))
            found.push_back(fmt::format("{} has limits, but is no longer marked as bounded", name));
    return found;
}

} // namespace flat::prove
