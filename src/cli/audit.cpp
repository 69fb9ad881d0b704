#include "audit.hpp"

#include "audit_document.hpp"
#include "audit_text.hpp"
#include "library_path.hpp"
#include "output.hpp"
#include "preload.hpp"
#include "terminal.hpp"
#include "watched_child.hpp"

#include "audit/analysis.hpp"
#include "audit/auditor.hpp"
#include "audit/chrome_trace.hpp"
#include "audit/folded_stacks.hpp"
#include "audit/pprof_profile.hpp"
#include "bench/environment.hpp"
#include "bench/preload_path.hpp"
#include "plan/number_text.hpp"
#include "report/page.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <map>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace flat::cli {
namespace {

namespace fs = std::filesystem;

constexpr int status_without = 2;

void add_outputs(CLI::App *verb, AuditOptions &options) {
    verb->add_option("--json", options.json, "Write all figures, flatline.audit/1 (-: standard output)")
        ->type_name("FILE");
    verb->add_option("--html", options.html, "Write the page (-: standard output)")->type_name("FILE");
    verb->add_option("--pprof", options.pprof, "Write a profile for pprof (-: standard output)")->type_name("FILE");
    verb->add_option("--folded", options.folded, "Write folded stacks, for flame graphs (-: standard output)")
        ->type_name("FILE");
    verb->add_option("--trace", options.trace, "Write the slow calls for Perfetto (-: standard output)")
        ->type_name("FILE");
}

/// A time with its unit, in ns.
double ns_of(const std::string &text) {
    constexpr double day = 24 * 3600 * 1e9;
    constexpr std::array<std::pair<std::string_view, double>, 4> units{
        {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    for (const auto &[name, ns] : units)
        if (error == std::errc() && unit == name && number > 0 && number * ns <= day) return number * ns;
    throw std::runtime_error(
        fmt::format("--over: {} is no time: give one with its unit (ns, us, ms or s), above 0 and of "
                    "at most a day, such as 10us",
                    plan::shown(text)));
}

/// Before a program runs, as its run may not come again.
void require_outputs_of(const AuditOptions &options) {
    if (options.out == "-") throw std::runtime_error("--out: a recording needs a file: name one");
    require_outputs({{"--out", options.out},
                     {"--json", options.json},
                     {"--html", options.html},
                     {"--pprof", options.pprof},
                     {"--folded", options.folded},
                     {"--trace", options.trace}},
                    {{"the recording", options.recording}});
}

/// Whether one of the files is standard output, which then has nothing else.
bool to_standard_output(const AuditOptions &options) {
    const std::array files{&options.json, &options.html, &options.pprof, &options.folded, &options.trace};
    return std::ranges::any_of(files, [](const std::string *file) { return *file == "-"; });
}

/// A file for the recording. One that nobody has asked for has no name, so that it ends with this process, however that
/// ends.
class RecordingFile {
  public:
    explicit RecordingFile(const std::string &wanted) : path_(wanted) {
        if (!wanted.empty()) return;
        std::error_code missing;
        const fs::path folder = fs::temp_directory_path(missing); // empty if it is none
        std::string name = (folder / "flatline-audit-XXXXXX").string();
        file_ = missing ? -1 : mkostemp(name.data(), O_CLOEXEC);
        if (file_ < 0)
            throw std::runtime_error(
                "no file can be created in the folder for temporary ones, TMPDIR: name one by --out");
        (void)unlink(name.c_str());
        path_ = fmt::format("/proc/self/fd/{}", file_);
    }
    ~RecordingFile() {
        if (file_ >= 0) (void)close(file_);
    }
    RecordingFile(const RecordingFile &) = delete;
    RecordingFile &operator=(const RecordingFile &) = delete;

    const fs::path &path() const { return path_; }

  private:
    fs::path path_;
    int file_ = -1;
};

/// While it exists, what the program prints on standard output goes to standard error: the former is for the figures.
class OutputAside {
  public:
    explicit OutputAside(bool aside) : kept_(aside ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0) : -1) {
        if (aside && (kept_ < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0))
            throw std::runtime_error("standard output cannot be set aside: name a file instead of -");
    }
    ~OutputAside() {
        if (kept_ < 0) return;
        (void)dup2(kept_, STDOUT_FILENO);
        (void)close(kept_);
    }
    OutputAside(const OutputAside &) = delete;
    OutputAside &operator=(const OutputAside &) = delete;

  private:
    int kept_;
};

std::string machine_text() {
    const bench::Machine machine = bench::read_machine(0);
    return fmt::format("{}, {} processors, {}", machine.processor, machine.logical_cpus, machine.kernel);
}

/// Shows what a recording says; the report on `stream`, if that is not where figures go.
void show(const fs::path &recording, const AuditOptions &options, int stream) {
    audit::History history(recording);
    const bool all =
        !options.json.empty() || !options.html.empty() || !options.pprof.empty() || !options.folded.empty();
    const audit::Findings findings = audit::analyse(history, all ? audit::Stacks::all : audit::Stacks::sites);
    const std::string text = audit_text(findings, Look::of(stream));
    if (stream == STDERR_FILENO)
        fmt::print(stderr, "{}", text);
    else if (!to_standard_output(options))
        fmt::print("{}", text);
    const auto write = [](const std::string &file, const auto &content) {
        if (!file.empty()) write_output(file, content());
    };
    write(options.json, [&] { return audit_document(findings); });
    write(options.html,
          [&] { return report::fill_page(content_of(report::find_template().string()), audit_document(findings)); });
    write(options.pprof, [&] { return audit::pprof_profile(findings); });
    write(options.folded, [&] { return audit::folded_stacks(findings); });
    write(options.trace, [&] { return audit::chrome_trace(findings); });
}

int run_and_show(const AuditOptions &options, double over_ns) {
    const fs::path library = installed_library("libflatline-audit.so"), program = find_program(options.command.front());
    require_preloadable(program);
    const std::string preloaded = bench::preload_path(library).string(), under = allocator_under(options.under);
    const RecordingFile recording(options.out);
    audit::Auditor auditor({.out = recording.path(),
                            .words = options.command,
                            .under = under,
                            .machine = machine_text(),
                            .over_ns = over_ns,
                            .tells_system_calls = !options.without_system_calls,
                            .attributes = options.causes});
    preload_first(under.empty() ? preloaded : preloaded + ":" + under);
    set_variable(AUDIT_SESSION_VARIABLE, auditor.session_path());
    const auto look = [&](pid_t process) { require_preloadable(process, preloaded, program); };
    int status = 0;
    {
        const OutputAside aside(to_standard_output(options));
        status = run_untraced(program, options.command, look, [&](pid_t process) { auditor.begin(process); });
    }
    if (auditor.finish(status) == 0) {
        fmt::print(stderr, "flatline audit: {}: ran without the audit: the loader could not preload {}\n",
                   program.string(), library.string());
        return status_without;
    }
    if (status == 128 + SIGSYS && auditor.may_have_ended_program())
        throw std::runtime_error(
            fmt::format("{}: blocks or takes SIGSYS, the signal by which the audit learns of system "
                        "calls, by a system call of its own, and was ended by it (or by a filter of "
                        "seccomp): run flatline audit --without-system-calls",
                        program.string()));
    show(recording.path(), options, STDERR_FILENO);
    return status;
}

} // namespace

CLI::App *add_audit(CLI::App &program, AuditOptions &options) {
    CLI::App *verb = program.add_subcommand("audit", "Find the allocations that stall a program, and why");
    verb->footer("Times every call of malloc, free, operator new and the like, in the program as it is. The report\n"
                 "goes to standard error. Refuses a program into which nothing can be preloaded, as flatline run\n"
                 "does. `flatline audit report FILE` shows a recording again.\n"
                 "Exit status: the program's; 128 plus the number of the signal that ended it; 2 if it could not be\n"
                 "run, or ran without the audit.");
    verb->add_option("--out", options.out, "Keep the recording: for audit report, replay and plan")->type_name("FILE");
    verb->add_option("--over", options.over, "How long a call takes that is a stall (default 10us)")->type_name("TIME");
    verb->add_option("--under", options.under, "Another allocator for the program: flatline-malloc, or a library")
        ->type_name("MALLOC");
    verb->add_flag("--causes", options.causes, "Time no call: tell page faults, system calls and locks alone");
    verb->add_flag("--without-system-calls", options.without_system_calls,
                   "Do not tell the allocator's system calls: each costs 1 to 3 us");
    add_outputs(verb, options);
    verb->add_option("command", options.command, "After --: the program, and its arguments")->type_name("PROGRAM");
    verb->positionals_at_end();
    options.report = verb->add_subcommand("report", "Show a recording again");
    options.report->footer(
        "Shows on standard output what flatline audit has shown, and writes the same files. Source files are\n"
        "named from your working folder on.");
    options.report->add_option("recording", options.recording, "The recording: what flatline audit --out has written")
        ->type_name("FILE")
        ->required();
    add_outputs(options.report, options);
    return verb;
}

int run_audit(const AuditOptions &options) {
    require_outputs_of(options);
    if (options.report->parsed()) {
        show(options.recording, options, STDOUT_FILENO);
        return 0;
    }
    if (options.command.empty())
        throw std::runtime_error("no program was given: flatline audit -- PROGRAM [ARGUMENT...]");
    return run_and_show(options, ns_of(options.over));
}

} // namespace flat::cli
