#include "env.hpp"

#include "output.hpp"
#include "processor.hpp"
#include "terminal.hpp"

#include "bench/environment.hpp"
#include "bench/readiness.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace flat::cli {
namespace {

using bench::Condition;
using json = nlohmann::ordered_json;

constexpr std::size_t name_width = 24;

std::string mark_of(const Condition &condition, const Look &look) {
    if (!condition.holds) return look.dress("?", Style::faint);
    return *condition.holds ? look.dress("✓", Style::good) : look.dress("✗", Style::bad);
}

void print_conditions(int cpu, const std::vector<Condition> &conditions) {
    const Look look = Look::of(STDOUT_FILENO);
    const std::string margin(2 + name_width, ' ');
    fmt::print("{}\n",
               look.dress(fmt::format("Conditions for trustworthy figures from processor {}", cpu), Style::strong));
    for (const Condition &condition : conditions) {
        fmt::print("{} {:<{}}{}\n", mark_of(condition, look), condition.name, name_width, condition.found);
        if (condition.holds == true) continue;
        fmt::print("{}{}\n", margin, look.dress(condition.why, Style::faint));
        fmt::print("{}{}\n", margin, condition.fix);
    }
    const auto count = [&](std::optional<bool> state) {
        return std::ranges::count(conditions, state, &Condition::holds);
    };
    fmt::print("{} of {} hold, {} do not, {} cannot be checked.\n", count(true), conditions.size(), count(false),
               count(std::nullopt));
}

std::string document_of(int cpu, const std::vector<Condition> &conditions) {
    const bench::Machine machine = bench::read_machine(cpu);
    json document{{"schema", "flatline.env/1"},
                  {"cpu", cpu},
                  {"processor", machine.processor},
                  {"kernel", machine.kernel},
                  {"conditions", json::array()}};
    for (const Condition &condition : conditions)
        document["conditions"].push_back({{"name", condition.name},
                                          {"holds", condition.holds ? json(*condition.holds) : json(nullptr)},
                                          {"found", condition.found},
                                          {"why", condition.why},
                                          {"fix", condition.fix}});
    return document.dump(2) + "\n";
}

} // namespace

CLI::App *add_env(CLI::App &program, EnvOptions &options) {
    CLI::App *verb = program.add_subcommand("env", "Show whether this machine can measure tails that you can trust");
    verb->footer("For a condition that does not hold it prints the effect on figures and the command that fixes it.\n"
                 "Exit status: 0 done, 2 could not be run.");
    verb->add_option("--pin", options.cpu, "Check this processor (default: the last one allowed)")->type_name("CPU");
    verb->add_option("--json", options.json, "Write the conditions, flatline.env/1 (-: standard output)")
        ->type_name("FILE");
    return verb;
}

int run_env(const EnvOptions &options) {
    require_writable("--json", options.json);
    const int cpu = processor_to_time_on(options.cpu);
    const std::vector<Condition> conditions = bench::read_conditions(cpu, bench::read_permissions());
    if (options.json != "-") print_conditions(cpu, conditions);
    if (!options.json.empty()) write_output(options.json, document_of(cpu, conditions));
    return 0;
}

} // namespace flat::cli
