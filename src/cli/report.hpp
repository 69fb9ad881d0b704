// `flatline report`: the page, or a table for a text, of a run that was written down.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace flat::cli {

struct ReportOptions {
    std::string result;         // what `flatline bench --json` wrote
    std::string html, markdown; // a path, "-" for standard output, or empty
};

/// Adds the verb to the program; `options` must outlive it.
CLI::App *add_report(CLI::App &program, ReportOptions &options);

/// Returns the exit status, 0. Throws std::runtime_error, with a message that says what to do, iff the result cannot be
/// read or the report not be written.
int run_report(const ReportOptions &options);

/// A table of a run's medians, as Markdown: a row a cell, a column a backend, the best of those that compete bold, and
/// the pool's median divided by the best general allocator's ("void" where A and A differed too much). `document` is
/// flatline.bench/1; throws std::runtime_error iff it is not.
std::string markdown_of(const std::string &document);

} // namespace flat::cli
