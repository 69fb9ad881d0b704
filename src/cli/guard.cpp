#include "guard.hpp"

namespace flat::cli {

CLI::App *add_guard(CLI::App &program, GuardOptions &options) {
    CLI::App *verb =
        program.add_subcommand("guard", "Report allocations, waits and calls in sections that may have none");
    verb->footer("A section begins at flat_guard_enter() and ends at flat_guard_leave() (<flatline/guard.h>), or is a\n"
                 "function that --section names. In it these are violations: malloc, free, a system call, a page\n"
                 "fault, a wait for a lock, a new thread, dlopen, an exception.\n"
                 "Refuses a program into which nothing can be preloaded, or that handles SIGSYS or SIGTRAP itself.\n"
                 "Exit status: the program's; 128 plus the number of the signal that ended it; 1 with --fail if there\n"
                 "was a violation; 2 if it could not be run, or entered no section.");
    verb->add_option("--section", options.sections, "A function that is a section: its symbol; may be repeated")
        ->type_name("SYMBOL")
        ->allow_extra_args(false);
    verb->add_flag("--realtime", options.realtime, "Each real-time thread is in a section between its waits");
    verb->add_flag("--fail", options.fail, "Exit with 1 if there is a violation");
    verb->add_option("--warm-up", options.warm_up, "Do not watch the first N entries of each section in each thread")
        ->type_name("N");
    verb->add_option("--suppress", options.suppress, "Accept the violations that this file lists, as KIND:FUNCTION")
        ->type_name("FILE");
    verb->add_option("--under", options.under, "Another malloc for the program: flatline-malloc or a library")
        ->type_name("LIBRARY");
    verb->add_option("--json", options.json, "Write the findings as JSON (-: standard output)")->type_name("FILE");
    verb->add_option("command", options.command, "After --: the program, and its arguments")->type_name("PROGRAM");
    verb->positionals_at_end();
    return verb;
}

} // namespace flat::cli
