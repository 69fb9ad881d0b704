#include "prove.hpp"

#include "output.hpp"
#include "prove_bench.hpp"
#include "prove_text.hpp"

#include "prove/estimates.hpp"
#include "prove/limits.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>
#include <unistd.h>

namespace flat::cli {
namespace {

namespace fs = std::filesystem;

/// libflatline next to the bin/ of the running program, both in a build tree and in an installed one.
std::string installed_library() {
    const fs::path prefix = fs::read_symlink("/proc/self/exe").parent_path().parent_path();
    for (const char *folder : {FLATLINE_LIBRARY_FOLDER, "lib"})
        if (const fs::path library = prefix / folder / "libflatline.so"; fs::exists(library)) return library.string();
    throw std::runtime_error(
        fmt::format("there is no libflatline.so in {}: name a file", (prefix / FLATLINE_LIBRARY_FOLDER).string()));
}

struct Target {
    std::string file;
    std::vector<std::string> functions;
};

/// Where a function's name ends: at a comma or colon that is not part of it, as in A::f(int, B<C, D>).
std::size_t end_of_name(const std::string &text, std::size_t at) {
    unsigned depth = 0;
    for (; at < text.size(); at++) {
        if (std::string_view("([{<").find(text[at]) != std::string_view::npos) depth++;
        if (std::string_view(")]}>").find(text[at]) != std::string_view::npos && depth > 0) depth--;
        if (depth > 0) continue;
        if (text[at] == ',') return at;
        if (text[at] != ':') continue;
        if (at + 1 == text.size() || text[at + 1] != ':') return at;
        at++;
    }
    return text.size();
}

/// The colon after the file's name, which may itself contain colons.
std::size_t end_of_file_name(const std::string &text) {
    std::error_code ignored;
    for (std::size_t colon = text.find(':'); colon != std::string::npos; colon = text.find(':', colon + 1))
        if (fs::is_regular_file(text.substr(0, colon), ignored)) return colon;
    return text.find(':', text.rfind('/') == std::string::npos ? 0 : text.rfind('/'));
}

/// "FILE", or "FILE:FUNCTION,FUNCTION:FUNCTION". If a file of the whole name exists, colons are part of its name.
Target target_from(const std::string &text) {
    std::error_code ignored;
    const std::size_t colon = end_of_file_name(text);
    if (colon == std::string::npos || fs::exists(text, ignored)) return {text, {}};
    if (colon == 0) throw std::runtime_error(fmt::format("{}: a file's name is missing: give FILE:FUNCTION,...", text));
    Target target{text.substr(0, colon), {}};
    for (std::size_t at = colon + 1; at <= text.size();) {
        const std::size_t end = end_of_name(text, at);
        if (end == at)
            throw std::runtime_error(fmt::format("{}: a function's name is missing: give FILE:FUNCTION,...", text));
        target.functions.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return target;
}

Target target_of(const ProveOptions &options) {
    if (options.what.empty()) return {installed_library(), {}};
    Target target = target_from(options.what[0]);
    target.functions.insert(target.functions.end(), options.what.begin() + 1, options.what.end());
    return target;
}

/// Refuses a binary that can have no estimate, before anything is proved or measured.
void require_this_machine(const prove::Binary &binary) {
#if defined(__x86_64__)
    constexpr prove::Architecture here = prove::Architecture::x86_64;
#else
    constexpr prove::Architecture here = prove::Architecture::aarch64;
#endif
    if (binary.machine() != here)
        throw std::runtime_error(fmt::format(
            "--estimate measures this machine, but {} is for {}: run it on such a machine, or without --estimate",
            binary.path(), binary.machine() == prove::Architecture::x86_64 ? "x86-64" : "aarch64"));
}

} // namespace

CLI::App *add_prove(CLI::App &program, ProveOptions &options) {
    CLI::App *verb = program.add_subcommand("prove", "Read a worst case from machine code");
    verb->footer("FILE: a program or shared library for x86-64 or aarch64 (default: libflatline.so).\n"
                 "Without functions, those that the file marks as bounded (<flatline/bounded.h>) are proved.\n"
                 "Exit status: 0 done, 1 a function has no bound or exceeds a limit, 2 could not be run.");
    verb->add_option("what", options.what, "What to prove")->type_name("FILE[:FUNCTION...]");
    verb->add_option("--apart", options.apart, "Count a call of this function as one instruction")
        ->delimiter(',')
        ->type_name("FUNCTION");
    verb->add_flag("--path", options.path, "Show the longest paths, with the source next to the machine code");
    verb->add_flag("--estimate", options.estimate,
                   "Measure this machine, and estimate how long the longest paths take");
    verb->add_option("--bench", options.bench, "Show the longest calls of this bench run next to the estimates")
        ->type_name("FILE");
    verb->add_option("--limit", options.limit, "Fail if a figure is above that of this certificate")->type_name("FILE");
    verb->add_option("--json", options.json, "Write the certificate, flatline.prove/1 (-: standard output)")
        ->type_name("FILE");
    return verb;
}

/// A name that no call leads to would change nothing, and be a typing mistake.
void require_apart(const std::vector<std::string> &names, const prove::Binary &binary) {
    for (const std::string &name : names) {
        if (!binary.knows(name))
            throw std::runtime_error(fmt::format("--apart: {} neither has nor imports a function {}: give its name as "
                                                 "`nm` or `nm -D` lists it",
                                                 binary.path(), name));
    }
}

int run_prove(const ProveOptions &options) {
    require_outputs({{"--json", options.json}}, {{"the certificate", options.limit}, {"the run", options.bench}});
    if (!options.bench.empty() && !options.estimate)
        throw std::runtime_error("--bench: its figures are shown next to estimates: give --estimate as well");
    const std::map<std::string, double> seen =
        options.bench.empty() ? std::map<std::string, double>{} : longest_calls_of(options.bench);
    const Target target = target_of(options);
    prove::Limits limits;
    if (!options.limit.empty()) limits = prove::limits_from(content_of(options.limit), options.limit);
    prove::Rules rules;
    rules.apart.insert(options.apart.begin(), options.apart.end());
    std::vector<prove::Request> requests;
    for (const std::string &function : target.functions) requests.push_back({function, rules});
    const prove::Binary binary(target.file);
    require_apart(options.apart, binary);
    if (options.estimate) require_this_machine(binary);
    const prove::SourceLines lines(binary);
    const prove::Certificate certificate = prove::certify(binary, requests, rules);
    std::vector<std::string> above;
    if (!options.limit.empty()) above = prove::exceeded(certificate, limits, requests.empty(), binary, lines);
    std::optional<prove::MachineEstimate> estimate;
    if (options.estimate) {
        estimate = prove::estimate_of(certificate, prove::measured_latencies(), seen);
        estimate->bench = options.bench;
    }
    const bool silent = options.json == "-";
    const Look look = Look::of(STDOUT_FILENO);
    if (!silent) {
        fmt::print("{}", prove_text(certificate, binary, lines, look));
        if (estimate) fmt::print("{}", estimate_text(certificate, *estimate, look));
        if (options.path) fmt::print("{}", path_text(certificate, lines, look));
    }
    for (const std::string &each : above)
        fmt::print(silent ? stderr : stdout, "{}ABOVE THE LIMIT: {}", silent ? "" : "\n", wrapped(each, widest));
    if (!options.json.empty())
        write_output(options.json,
                     prove::certificate_json(certificate, binary, lines, estimate ? &*estimate : nullptr));
    if (!options.json.empty() && !silent) fmt::print("\ncertificate: {}\n", fs::absolute(options.json).string());
    return certificate.holds() && above.empty() ? 0 : 1;
}

} // namespace flat::cli
