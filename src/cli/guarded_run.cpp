#include "guarded_run.hpp"

#include "guard_report.hpp"
#include "library_path.hpp"
#include "output.hpp"
#include "preload.hpp"
#include "watched_child.hpp"

#include "bench/preload_path.hpp"
#include "guard/suppressions.hpp"

#include <csignal>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include <fmt/format.h>
#include <unistd.h>

namespace flat::cli {
namespace {

namespace fs = std::filesystem;

constexpr int status_violated = 1;

/// Why the guard refuses a program that has run; empty if it does not.
std::string refusal_of(const guard_session &session) {
    const std::string text = guarded::text_of(session, session.refused_text);
    switch (session.refusal) {
    case GUARD_HANDLES_SIGSYS:
        return "the program handles SIGSYS itself, the signal by which the guard learns of system calls: run it "
               "without that handler";
    case GUARD_HANDLES_SIGTRAP:
        return "the program handles SIGTRAP itself, the signal by which the guard learns of page faults: run it "
               "without that handler";
    case GUARD_DEEP_BINDING:
        return fmt::format("the program opens {} with RTLD_DEEPBIND, and such a library calls malloc past the guard: "
                           "open it without that flag",
                           text);
    case GUARD_OTHER_NAMESPACE:
        return fmt::format(
            "the program opens {} by dlmopen beside a C library of its own, whose malloc the guard does not "
            "see: open it by dlopen",
            text);
    case GUARD_SECTION_UNMENDED: return "--section " + text;
    default: return "";
    }
}

void tell_kinds(const guard_session &session, GuardedRun &run) {
    run.told = {"malloc", "free"};
    const auto add = [&run](const char *kind, const std::string &why_not) {
        if (why_not.empty())
            run.told.emplace_back(kind);
        else
            run.untold.push_back(fmt::format("{} ({})", kind, why_not));
    };
    const std::string calls =
        session.no_system_calls == 0 ? "" : "this kernel, processor or a filter has no Syscall User Dispatch";
    add("system call", calls);
    add("page fault", "");
    add("lock wait", calls);
    for (const char *kind : {"thread", "dlopen", "exception"}) add(kind, "");
}

void warn(const guard_session &session, symbols::SourceFrames &frames, GuardedRun &run) {
    if (session.unleft > 0)
        run.warnings.push_back(fmt::format(
            "section {} was entered {} more time{} without having been left: a jump, an exception or a return passes "
            "flat_guard_leave, and what is reported from there on may lie outside of the section",
            guarded::section_name(session, session.unleft_section, frames), session.unleft,
            session.unleft == 1 ? "" : "s"));
    if (session.no_faults > 0)
        run.warnings.push_back(fmt::format("page faults are counted by section and not told one by one, those of the "
                                           "guard among them (perf_event_open: {})",
                                           std::strerror(static_cast<int>(session.no_faults))));
    if (session.unwatched > 0)
        run.warnings.push_back(
            fmt::format("{} time{} the rest of a section was not watched, behind a thread or process that was "
                        "made without the C library",
                        session.unwatched, session.unwatched == 1 ? "" : "s"));
    if (session.unhooked > 0)
        run.warnings.push_back(
            fmt::format("{} calls of named sections were not watched: too many threads at a time", session.unhooked));
    if (session.unrecorded > 0)
        run.warnings.push_back(fmt::format("there was no room for {} violations", session.unrecorded));
}

GuardedRun findings_of(const guard_session &session, guarded::Suppressions &known, const GuardOptions &options,
                       int status) {
    GuardedRun run{.command = options.command, .status = status};
    symbols::SourceFrames frames;
    run.threads = session.threads;
    run.entries = std::accumulate(std::begin(session.entries), std::end(session.entries), std::uint64_t{0});
    tell_kinds(session, run);
    for (guarded::Violation &each : guarded::violations_of(session, frames)) {
        if (known.matches(each))
            run.suppressed += each.count;
        else
            run.violations.push_back(std::move(each));
    }
    run.unused_suppressions = known.unused();
    warn(session, frames, run);
    return run;
}

/// The first section that was named and that nothing has; empty if there is none.
std::string unfound_section(const guard_session &session) {
    for (std::uint32_t i = 0; i < session.named_count; i++)
        if ((session.found_named >> i & 1) == 0) return session.named[i];
    return "";
}

/// Runs the command under the session, whose library is preloaded before `below`. Returns its exit status.
int run_guarded(const guarded::Session &session, const GuardOptions &options) {
    const fs::path library = installed_library("libflatline-guard.so"), program = find_program(options.command.front());
    require_preloadable(program);
    const std::string below = allocator_under(options.under), preloaded = bench::preload_path(library).string();
    if (!below.empty()) preload_first(below);
    preload_first(preloaded);
    set_variable(GUARD_VARIABLE, session.path());
    return run_untraced(program, options.command,
                        [&](pid_t process) { require_preloadable(process, preloaded, program); });
}

} // namespace

int run_guard(const GuardOptions &options) {
    if (options.command.empty())
        throw std::runtime_error("no program was given: flatline guard -- PROGRAM [ARGUMENT...]");
    require_outputs({{"--json", options.json}}, {{"the list of suppressions", options.suppress}});
    guarded::Suppressions known;
    if (!options.suppress.empty()) known = guarded::Suppressions(content_of(options.suppress), options.suppress);
#if !defined(__x86_64__)
    if (!options.sections.empty()) throw std::runtime_error("--section works on x86-64 alone: call flat_guard_enter()");
#endif
    const guarded::Session session(
        {.named_sections = options.sections, .realtime = options.realtime, .warm_up = options.warm_up});
    const int status = run_guarded(session, options);
    const guard_session &memory = session.memory();
    const std::string &name = options.command.front();
    if (status == 128 + SIGSYS && memory.threads > 0 && memory.no_system_calls == 0 && memory.ends_by_sigsys == 0)
        throw std::runtime_error(name +
                                 ": blocks or takes SIGSYS, the signal by which the guard learns of system calls, by "
                                 "a system call of its own, and was ended by it (or by a filter of seccomp): run it "
                                 "without that");
    if (const std::string why = refusal_of(memory); !why.empty()) throw std::runtime_error(name + ": " + why);
    if (memory.loads == 0)
        throw std::runtime_error(name + ": ran without the guard: the loader could not preload libflatline-guard.so");
    const GuardedRun run = findings_of(memory, known, options, status);
    if (options.json != "-") fmt::print(stderr, "{}", guard_text(run, Look::of(STDERR_FILENO)));
    if (!options.json.empty()) write_output(options.json, guard_document(run));
    if (const std::string section = unfound_section(memory); !section.empty())
        throw std::runtime_error(
            fmt::format("--section {}: {} and the libraries that it loaded export no such function: "
                        "name one that `nm -D` shows, or link the program with -rdynamic",
                        section, name));
    if (run.threads == 0)
        throw std::runtime_error(name + ": entered no section, so nothing was guarded: call flat_guard_enter() and "
                                        "flat_guard_leave(), or name a function by --section");
    return options.fail && !run.violations.empty() ? status_violated : status;
}

} // namespace flat::cli
