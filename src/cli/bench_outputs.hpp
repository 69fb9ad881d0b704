// The outputs of a run: figures, page, tables and percentile curves, each made from its document.
#pragma once

#include "output.hpp"

#include <CLI/CLI.hpp>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace flat::cli {

/// Each is a path, "-" for standard output, or empty if not wanted. `hgrm` is a folder, which is created if missing.
struct BenchOutputs {
    std::string json, html, csv, markdown, hgrm;

    /// Whether one of them goes to standard output; then nothing else may be printed there.
    bool to_standard_output() const;
};

/// Adds the options except --json, which only a verb that measures has.
void add_outputs(CLI::App &verb, BenchOutputs &outputs);

/// Checks before the work that all outputs can be written after it, and reads the page's template. Throws
/// std::runtime_error iff one cannot, two would go to standard output, or one is a file of `inputs`, which the verb
/// reads.
class BenchWriter {
  public:
    explicit BenchWriter(const BenchOutputs &outputs, std::initializer_list<OptionFile> inputs = {});

    /// Throws std::runtime_error iff the document is not flatline.bench/1, or something could not be written.
    void write(const std::string &document) const;

    /// "report: /home/u/report.html" and so on, for the outputs that were written to files.
    std::string paths() const;

  private:
    BenchOutputs outputs_;
    std::string page_template_;
};

/// CSV with a head and one line for each cell and backend: every figure of `cells` that is a single value.
std::string csv_of(const std::string &document);

/// For each cell and backend that has a curve: a file name, and the content in the text format of HdrHistogram's
/// percentile output, which its plotters read: value, percentile, count up to there, 1 / (1 - percentile).
std::vector<std::pair<std::string, std::string>> hgrm_of(const std::string &document);

} // namespace flat::cli
