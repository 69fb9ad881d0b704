#include "run.hpp"

#include "library_path.hpp"
#include "preload.hpp"
#include "watched_child.hpp"

#include "bench/preload_path.hpp"

#include <stdexcept>

#include <fmt/format.h>

namespace flat::cli {
namespace {

namespace fs = std::filesystem;

constexpr int status_without = 2;

} // namespace

CLI::App *add_run(CLI::App &program, RunOptions &options) {
    CLI::App *verb = program.add_subcommand("run", "Run a program under Flatline's malloc");
    verb->footer("Refuses a program into which the malloc cannot be preloaded. If your program executes such a\n"
                 "program in its place (exec), flatline run kills that before it runs. Child processes may run any\n"
                 "program. flatline run reports a program that ran without the malloc.\n"
                 "Exit status: the program's; 128 plus the number of the signal that ended it; 2 if it could not be\n"
                 "run, or ran without the malloc.");
    verb->add_option("--policy", options.policy, "How much free memory the malloc keeps (default: balanced)")
        ->type_name("POLICY")
        ->check(CLI::IsMember({"latency", "balanced", "memory"}));
    verb->add_option("--misuse", options.misuse,
                     "What an invalid free does: stop the program or report (default: stop)")
        ->type_name("HOW")
        ->check(CLI::IsMember({"stop", "report"}));
    verb->add_flag("--stats", options.stats, "Print a summary of the program's memory when it ends");
    verb->add_option("command", options.command, "After --: the program, and its arguments")->type_name("PROGRAM");
    verb->positionals_at_end();
    return verb;
}

int run_command(const RunOptions &options) {
    if (options.command.empty())
        throw std::runtime_error("no program was given: flatline run -- PROGRAM [ARGUMENT...]");
    const fs::path library = installed_library("libflatline-malloc.so"),
                   program = find_program(options.command.front());
    require_preloadable(program);
    const std::string preloaded = bench::preload_path(library).string();
    preload_first(preloaded);
    if (!options.policy.empty()) set_variable("FLATLINE_POLICY", options.policy);
    if (!options.misuse.empty()) set_variable("FLATLINE_MISUSE", options.misuse);
    if (options.stats) set_variable("FLATLINE_STATS", "1");
    const ChildEnding ending = run_watched(program, options.command, library,
                                           [&](pid_t process) { require_preloadable(process, preloaded, program); });
    if (ending.was_mapped) return ending.status;
    fmt::print(stderr, "flatline run: {}: ran without the malloc: the loader could not preload {}\n", program.string(),
               library.string());
    return status_without;
}

} // namespace flat::cli
