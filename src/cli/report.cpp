#include "report.hpp"

#include "bench_markdown.hpp"
#include "output.hpp"

namespace flat::cli {

CLI::App *add_report(CLI::App &program, ReportOptions &options) {
    CLI::App *verb = program.add_subcommand("report", "Make the page, or tables, of a recorded run");
    verb->footer("Without an option the table goes to standard output. Exit status: 0 done, 2 could not be run.");
    verb->add_option("result", options.result, "What `flatline bench --json` wrote")->required()->type_name("FILE");
    add_outputs(*verb, options.outputs);
    return verb;
}

int run_report(const ReportOptions &options) {
    BenchOutputs outputs = options.outputs;
    if (outputs.html.empty() && outputs.csv.empty() && outputs.markdown.empty() && outputs.hgrm.empty())
        outputs.markdown = "-";
    const BenchWriter writer(outputs);
    const std::string document = content_of(options.result);
    (void)markdown_of(document); // refuses an incomplete result, which the page would accept
    writer.write(document);
    return 0;
}

} // namespace flat::cli
