#include "prove_text.hpp"

#include "bench/catalogue.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include <fmt/format.h>

namespace flat::cli {
namespace {

using bench::grouped;
using prove::Binary;
using prove::Count;
using prove::ProofStatus;
using prove::ProvedFunction;
using prove::Remark;
using prove::SourceLines;
using prove::Step;

std::string where(std::uint64_t address, const Binary &binary, const SourceLines &lines) {
    const std::string line = lines.full_name(address);
    return fmt::format("{:#x}, {}{}{}", address, binary.place(address), line.empty() ? "" : ", ", line);
}

std::string remarks_text(std::string_view title, const std::vector<Remark> &remarks, const Binary &binary,
                         const SourceLines &lines) {
    constexpr std::size_t most = 12;
    std::string text;
    for (std::size_t i = 0; i < std::min(remarks.size(), most); i++)
        text += wrapped(fmt::format("{}: {}: {}", title, where(remarks[i].address, binary, lines), remarks[i].text),
                        widest);
    if (remarks.size() > most) text += fmt::format("  and {} more: see --json\n", remarks.size() - most);
    return text;
}

std::string row_of(const ProvedFunction &function, std::size_t width, const Look &look) {
    const std::string name = fmt::format("{:<{}}", function.name, width);
    const prove::Proof &proof = function.proof;
    if (function.verdict == ProofStatus::absent)
        return fmt::format("{} {}\n", name, "not in the file under this name: inlined, or left out");
    if (function.verdict == ProofStatus::refused)
        return fmt::format("{} {}\n", name, look.dress("REFUSED", Style::bad));
    std::string row = name;
    row += fmt::format(" {:>12} {:>6} {:>6} {:>8} {:>8} {:>7} {:>8}", grouped(proof.most[Count::instructions]),
                       grouped(proof.most[Count::loads]), grouped(proof.most[Count::stores]),
                       grouped(proof.most[Count::accesses]), grouped(proof.most[Count::branches]),
                       grouped(proof.most[Count::atomics]), grouped(proof.stack_bytes) + " B");
    row += "  " + look.dress(proof.assumptions.empty() ? "proved" : "proved *", Style::good);
    return row + "\n";
}

/// With as many digits as a measured latency justifies.
std::string figure(double ns) { return fmt::format("{:.{}f}", ns, ns < 1 ? 2 : ns < 10 ? 1 : 0); }

/// Lines of source files. Each file is read once; the lines of a missing file are empty.
class Sources {
  public:
    std::string at(const prove::SourceLine &place) {
        if (!place.known()) return "";
        auto [file, is_new] = files_.try_emplace(place.file);
        if (is_new) {
            std::ifstream in(place.file);
            for (std::string line; std::getline(in, line);) file->second.push_back(line);
        }
        return place.line > file->second.size() ? "" : file->second[place.line - 1];
    }

  private:
    std::map<std::string, std::vector<std::string>> files_;
};

std::string trimmed(std::string text) {
    text.erase(0, text.find_first_not_of(" \t"));
    return text;
}

/// Text cut or padded to `width` columns. It is assumed to be ASCII; other letters may be cut in half.
std::string column(const std::string &text, std::size_t width) {
    return text.size() <= width ? fmt::format("{:<{}}", text, width) : text.substr(0, width - 1) + "~";
}

} // namespace

std::string prove_text(const prove::Certificate &certificate, const Binary &binary, const SourceLines &lines,
                       const Look &look) {
    std::string text = fmt::format("{}\n", binary.path());
    text += wrapped(fmt::format("{}, sha256 {}", binary.machine() == prove::Architecture::x86_64 ? "x86-64" : "aarch64",
                                binary.sha256()),
                    widest);
    for (const std::string &compiler : prove::compilers_of(certificate, binary, lines))
        text += wrapped(compiler, widest);
    std::size_t width = 8;
    for (const ProvedFunction &function : certificate.functions) width = std::max(width, function.name.size());
    text += "\nThe most on any path that returns, including all functions that it calls:\n\n";
    text += look.dress(fmt::format("{:<{}} {:>12} {:>6} {:>6} {:>8} {:>8} {:>7} {:>8}", "", width, "instructions",
                                   "loads", "stores", "accesses", "branches", "atomics", "stack"),
                       Style::strong) +
            "\n";
    for (const ProvedFunction &function : certificate.functions) text += row_of(function, width, look);
    for (const ProvedFunction &function : certificate.functions) {
        if (!function.proof.refusals.empty())
            text += "\n" + remarks_text(function.name, function.proof.refusals, binary, lines);
        if (function.verdict != ProofStatus::proved) continue;
        if (!function.proof.assumptions.empty())
            text += "\n" + remarks_text("* " + function.name, function.proof.assumptions, binary, lines);
        if (const auto &errors = function.proof.most_to_error)
            text += "\n" + wrapped(fmt::format("{} ends the program at {} places, after at most {} instructions",
                                               function.name, function.proof.error_exits.size(),
                                               grouped((*errors)[Count::instructions])),
                                   widest);
        else if (!function.proof.errors_are_bounded)
            text +=
                "\n" + wrapped(fmt::format("{} ends the program or throws at {} places, after calls without a bound",
                                           function.name, function.proof.error_exits.size()),
                               widest);
    }
    return text;
}

std::string estimate_text(const prove::Certificate &certificate, const prove::MachineEstimate &estimate,
                          const Look &look) {
    if (estimate.functions.empty()) return "";
    std::string text = "\n";
    for (const std::string &line :
         {std::string("Estimates for the longest path by instructions, in ns on this machine."),
          fmt::format("best: an estimate, not a bound: {}.", prove::model_of_best),
          fmt::format("cold: an estimate, not a bound: {}.", prove::model_of_cold),
          fmt::format("hostile: an estimate, not a bound: {}.", prove::model_of_hostile)})
        text += wrapped(line, widest);
    if (!estimate.bench.empty())
        text += wrapped("seen: the longest single call that `flatline bench` timed; it includes the cost of the clock "
                        "and any interruption.",
                        widest);
    std::size_t width = 8;
    for (const auto &[name, each] : estimate.functions) width = std::max(width, name.size());
    const bool seen = !estimate.bench.empty();
    text += "\n" +
            look.dress(fmt::format("{:<{}} {:>10} {:>10} {:>10} {:>11} {:>11}{}", "", width, "best", "cold", "hostile",
                                   "code lines", "data lines", seen ? fmt::format(" {:>10}", "seen") : ""),
                       Style::strong) +
            "\n";
    const auto whole = [](double ns) { return grouped(static_cast<std::uint64_t>(std::ceil(ns))); };
    for (const ProvedFunction &function : certificate.functions) {
        const auto found = estimate.functions.find(function.name);
        if (found == estimate.functions.end()) continue;
        const prove::Estimate &each = found->second;
        text += fmt::format("{:<{}} {:>10} {:>10} {:>10} {:>11} {:>11}", function.name, width, whole(each.best),
                            whole(each.cold), whole(each.hostile), grouped(each.code_lines), grouped(each.data_lines));
        if (seen) text += fmt::format(" {:>10}", each.observed_max ? whole(*each.observed_max) : "-");
        text += "\n";
    }
    std::string measured =
        fmt::format("measured, in ns: an instruction {}, ", figure(estimate.latencies.instruction.ns));
    for (const prove::CacheLevel &cache : estimate.latencies.caches)
        measured += fmt::format("L{} hit {}, ", cache.level, figure(cache.hit.ns));
    measured += fmt::format("memory {}, page walk {}", figure(estimate.latencies.memory.ns),
                            figure(estimate.latencies.page_walk.ns));
    return text + "\n" + wrapped(measured, widest);
}

std::string path_text(const prove::Certificate &certificate, const SourceLines &lines, const Look &look) {
    Sources sources;
    std::string text;
    constexpr std::size_t code_width = 42, source_width = widest - code_width - 7;
    for (const ProvedFunction &function : certificate.functions) {
        if (function.verdict != ProofStatus::proved) continue;
        const std::vector<Step> &path = function.proof.path(Count::instructions);
        text += "\n" +
                look.dress(fmt::format("{}: its longest path, {} instructions", function.name,
                                       grouped(function.proof.most[Count::instructions])),
                           Style::strong) +
                "\n\n";
        std::string before;
        std::uint64_t number = 0;
        for (const Step &step : path) {
            const prove::SourceLine line = lines.at(step.instruction.address);
            std::string source;
            if (line.known()) source = lines.short_name(step.instruction.address) + "  " + trimmed(sources.at(line));
            const std::string code = std::string(step.depth * 2, ' ') + step.instruction.text;
            number += step.times;
            const std::string counted = step.times > 1 ? fmt::format("{}x", grouped(step.times)) : grouped(number);
            text += fmt::format("{:>5} ", counted);
            if (source.empty() || source == before)
                text += code;
            else
                text += column(code, code_width) + " " + look.dress(source.substr(0, source_width), Style::faint);
            text += "\n";
            before = source;
        }
    }
    return text;
}

} // namespace flat::cli
