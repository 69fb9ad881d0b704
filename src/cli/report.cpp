#include "report.hpp"

#include "bench_markdown.hpp"
#include "output.hpp"
#include "simulate_document.hpp"

#include <stdexcept>

#include <fmt/format.h>

namespace flat::cli {
namespace {

/// Of a simulation nothing else is made.
void require_page(const ReportOptions &options) {
    const auto &[json, html, csv, markdown, hgrm] = options.outputs;
    if (html.empty() || !csv.empty() || !markdown.empty() || !hgrm.empty())
        throw std::runtime_error(
            fmt::format("{} is a simulation, of which there is a page alone: give --html FILE and no other output",
                        options.result));
}

} // namespace

CLI::App *add_report(CLI::App &program, ReportOptions &options) {
    CLI::App *verb = program.add_subcommand("report", "Make the page, or tables, of a recorded run");
    verb->footer("Without an option the table goes to standard output. Of a simulation there is a page alone: --html.\n"
                 "Exit status: 0 done, 2 could not be run.");
    verb->add_option("result", options.result, "What `flatline bench --json` or `flatline simulate --json` wrote")
        ->required()
        ->type_name("FILE");
    add_outputs(*verb, options.outputs);
    return verb;
}

int run_report(const ReportOptions &options) {
    require_outputs(
        {{"--html", options.outputs.html}, {"--csv", options.outputs.csv}, {"--markdown", options.outputs.markdown}},
        {{"the result", options.result}});
    const std::string document = content_of(options.result);
    const bool simulated = is_simulation(document);
    BenchOutputs outputs = options.outputs;
    if (simulated)
        require_page(options);
    else if (outputs.html.empty() && outputs.csv.empty() && outputs.markdown.empty() && outputs.hgrm.empty())
        outputs.markdown = "-";
    const BenchWriter writer(outputs);
    // Either refuses an incomplete result, which the page would accept.
    if (simulated)
        require_simulation(document);
    else
        (void)markdown_of(document);
    writer.write(document);
    return 0;
}

} // namespace flat::cli
