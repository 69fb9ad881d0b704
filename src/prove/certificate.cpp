#include "certificate.hpp"

#include "names.hpp"

#include "symbols/demangle.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace flat::prove {
namespace {

using json = nlohmann::ordered_json;

/// The functions with a C++ or Rust name; more than one only if they are written alike to the last parameter, as
/// constructors are.
std::vector<const Symbol *> written_by_people(const Binary &binary, const std::string &name) {
    std::vector<const Symbol *> found = functions_written(binary, name);
    std::vector<std::string> written;
    for (const Symbol *symbol : found)
        if (std::string text = symbols::demangled(symbol->name); std::ranges::find(written, text) == written.end())
            written.push_back(std::move(text));
    if (written.size() > 1)
        throw std::runtime_error(fmt::format("{} has {} functions named {}: name one with its parameters: {}",
                                             binary.path(), written.size(), name, fmt::join(written, ", ")));
    return found;
}

/// The function and the variants that the compiler made of it under other names; empty if there is neither.
std::vector<const Symbol *> all_called(const Binary &binary, const std::string &name) {
    std::vector<const Symbol *> found = binary.functions_named(name);
    if (found.empty()) found = written_by_people(binary, name);
    if (!found.empty() && found[0]->name != name && name.find('@') == std::string::npos) {
        const std::vector<const Symbol *> clones = binary.clones_of(found[0]->name);
        found.insert(found.end(), clones.begin(), clones.end());
        return found;
    }
    if (found.size() > 1)
        throw std::runtime_error(
            fmt::format("{} has {} functions named {}: rename all but one", binary.path(), found.size(), name));
    const std::vector<const Symbol *> clones = binary.clones_of(name);
    found.insert(found.end(), clones.begin(), clones.end());
    return found;
}

/// `name` is the one in the file, as in marks and limits.
ProvedFunction proved(const Prover &prover, const std::string &name, const Symbol &symbol, const Rules &rules) {
    ProvedFunction function{name, ProofStatus::refused, {}};
    if (symbol.is_resolver) {
        function.proof.address = symbol.address;
        function.proof.refusals.push_back(
            {symbol.address,
             "is chosen among several when the program starts (IFUNC): its name stands for the code that chooses"});
        return function;
    }
    function.proof = prover.prove(symbol.address, rules);
    if (function.proof.holds()) function.verdict = ProofStatus::proved;
    return function;
}

Rules rules_of(const Mark *mark, const Rules &given) {
    Rules rules = given;
    if (mark != nullptr) {
        rules.apart.insert(mark->apart.begin(), mark->apart.end());
        rules.hands_over = std::max(rules.hands_over, mark->hands_over);
    }
    return rules;
}

json place_json(std::uint64_t address, const Binary &binary, const SourceLines &lines) {
    const SourceLine line = lines.at(address);
    json place{{"address", fmt::format("{:#x}", address)}, {"place", binary.place(address)}};
    if (line.known()) {
        place["file"] = line.file;
        place["line"] = line.line;
    }
    return place;
}

json remarks_json(const std::vector<Remark> &remarks, const Binary &binary, const SourceLines &lines) {
    json all = json::array();
    for (const Remark &remark : remarks) {
        json one = place_json(remark.address, binary, lines);
        for (const SourceLine &call : lines.inlined_at(remark.address))
            one["inlined_at"].push_back({{"file", call.file}, {"line", call.line}});
        one["text"] = remark.text;
        all.push_back(std::move(one));
    }
    return all;
}

json path_json(const std::vector<Step> &path, const Binary &binary, const SourceLines &lines) {
    json all = json::array();
    for (const Step &step : path) {
        json one = place_json(step.instruction.address, binary, lines);
        one["instruction"] = step.instruction.text;
        one["loads"] = step.instruction.loads;
        one["stores"] = step.instruction.stores;
        if (step.depth > 0) one["calls_deep"] = step.depth;
        if (step.times > 1) one["times"] = step.times;
        all.push_back(std::move(one));
    }
    return all;
}

json function_json(const ProvedFunction &function, const Binary &binary, const SourceLines &lines) {
    const Proof &proof = function.proof;
    json one{{"name", function.name}, {"verdict", name_of(function.verdict)}};
    if (function.verdict == ProofStatus::absent) return one;
    one["address"] = fmt::format("{:#x}", proof.address);
    const bool holds = function.verdict == ProofStatus::proved;
    for (const Count count : all_counts) one[std::string(name_of(count))] = holds ? json(proof.most[count]) : json();
    one["stack_bytes"] = holds ? json(proof.stack_bytes) : json();
    one["reachable_instructions"] = proof.reachable;
    one["basic_blocks"] = proof.blocks;
    one["assumptions"] = remarks_json(proof.assumptions, binary, lines);
    one["refusals"] = remarks_json(proof.refusals, binary, lines);
    json exits{{"places", remarks_json(proof.error_exits, binary, lines)}, {"bounded", proof.errors_are_bounded}};
    if (holds && proof.most_to_error)
        for (const Count count : all_counts) exits[std::string(name_of(count))] = (*proof.most_to_error)[count];
    one["error_exits"] = std::move(exits);
    one["path"] = path_json(proof.path(Count::instructions), binary, lines);
    return one;
}

/// The clock's own rate is known to no more than five digits.
double rounded(double ns) { return std::stod(fmt::format("{:.5g}", ns)); }

json latency_json(std::string_view name, const Latency &latency) {
    return {{"name", name}, {"ns", rounded(latency.ns)}, {"measured_by", latency.how}};
}

json machine_json(const MachineEstimate &estimate) {
    json all = json::array({latency_json("instruction", estimate.latencies.instruction)});
    for (const CacheLevel &cache : estimate.latencies.caches) {
        json one = latency_json(fmt::format("L{} hit", cache.level), cache.hit);
        one["bytes"] = cache.bytes;
        one["bytes_by"] = cache.size_by;
        all.push_back(std::move(one));
    }
    all.push_back(latency_json("memory", estimate.latencies.memory));
    all.push_back(latency_json("page walk", estimate.latencies.page_walk));
    json machine{
        {"is", "estimates, not bounds: of the longest path by instructions, on the machine that measured them"},
        {"best", model_of_best},
        {"cold", model_of_cold},
        {"hostile", model_of_hostile},
        {"latencies", std::move(all)}};
    if (!estimate.bench.empty()) machine["observed_in"] = estimate.bench;
    return machine;
}

json estimates_json(const Estimate &estimate) {
    json one{
        {"best", rounded(estimate.best)}, {"cold", rounded(estimate.cold)}, {"hostile", rounded(estimate.hostile)}};
    if (estimate.observed_max) one["observed_max"] = rounded(*estimate.observed_max);
    one["code_lines"] = estimate.code_lines;
    one["data_lines"] = estimate.data_lines;
    return one;
}

} // namespace

std::string_view name_of(ProofStatus verdict) {
    switch (verdict) {
    case ProofStatus::proved: return "proved";
    case ProofStatus::refused: return "refused";
    case ProofStatus::absent: return "absent";
    }
    return "";
}

bool Certificate::holds() const {
    return std::ranges::none_of(functions,
                                [](const ProvedFunction &each) { return each.verdict == ProofStatus::refused; });
}

Certificate certify(const Binary &binary, const std::vector<Request> &requests, const Rules &rules) {
    const Prover prover(binary);
    const auto mark_of = [&binary](const std::string &name) -> const Mark * {
        const auto found = std::ranges::find(binary.marks(), name, &Mark::function);
        return found == binary.marks().end() ? nullptr : &*found;
    };
    Certificate certificate;
    const auto add = [&](const std::string &name, const std::vector<const Symbol *> &symbols, const Rules &by) {
        for (const Symbol *symbol : symbols) {
            const bool is_clone =
                symbol != symbols[0] || (symbol->name.size() > name.size() && symbol->name.starts_with(name) &&
                                         symbol->name[name.size()] == '.');
            certificate.functions.push_back(proved(prover, is_clone ? symbol->name : name, *symbol, by));
        }
    };
    for (const Request &request : requests) {
        const std::vector<const Symbol *> found = all_called(binary, request.function);
        if (found.empty())
            throw std::runtime_error(
                fmt::format("{} has no function {}: {}", binary.path(), request.function,
                            binary.has_symbol_table()
                                ? "list its names with `nm`"
                                : "it is stripped, so only exported functions have a name: give the unstripped file"));
        const Mark *mark = mark_of(request.function);
        add(request.function, found, rules_of(mark == nullptr ? mark_of(found[0]->name) : mark, request.rules));
    }
    if (!requests.empty()) return certificate;
    if (binary.marks().empty())
        throw std::runtime_error(
            fmt::format("{} marks no function as bounded (<flatline/bounded.h>): name one, as in {}:main",
                        binary.path(), binary.path()));
    for (const Mark &mark : binary.marks()) {
        const std::vector<const Symbol *> found = all_called(binary, mark.function);
        if (found.empty()) certificate.functions.push_back({mark.function, ProofStatus::absent, {}});
        add(mark.function, found, rules_of(&mark, rules));
    }
    if (std::ranges::all_of(certificate.functions,
                            [](const ProvedFunction &each) { return each.verdict == ProofStatus::absent; }))
        throw std::runtime_error(fmt::format(
            "{} has none of the functions that it marks as bounded under their names: {}", binary.path(),
            binary.has_symbol_table() ? "all of them were inlined or left out; name a function that contains one"
                                      : "it is stripped: give the unstripped file"));
    return certificate;
}

std::vector<std::string> compilers_of(const Certificate &certificate, const Binary &binary, const SourceLines &lines) {
    std::vector<std::string> all;
    for (const ProvedFunction &function : certificate.functions) {
        const std::string &producer =
            function.verdict == ProofStatus::absent ? "" : lines.producer(function.proof.address);
        if (!producer.empty() && std::ranges::find(all, producer) == all.end()) all.push_back(producer);
    }
    if (all.empty() && !binary.comment().empty()) all.push_back(binary.comment());
    return all;
}

std::string certificate_json(const Certificate &certificate, const Binary &binary, const SourceLines &lines,
                             const MachineEstimate *estimate) {
    json document{{"schema", "flatline.prove/1"},
                  {"file", binary.path()},
                  {"sha256", binary.sha256()},
                  {"machine", binary.machine() == Architecture::x86_64 ? "x86-64" : "aarch64"},
                  {"compilers", compilers_of(certificate, binary, lines)}};
    if (estimate != nullptr) document["machine_estimate"] = machine_json(*estimate);
    document["functions"] = json::array();
    for (const ProvedFunction &function : certificate.functions) {
        json one = function_json(function, binary, lines);
        if (estimate != nullptr && estimate->functions.contains(function.name))
            one["estimates_ns"] = estimates_json(estimate->functions.at(function.name));
        document["functions"].push_back(std::move(one));
    }
    return document.dump(1, ' ', false, json::error_handler_t::replace) + "\n"; // names may be anything
}

} // namespace flat::prove
