// The forms in which a run can be had: figures, page, tables and percentile curves, each from its document.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <utility>
#include <vector>

namespace flat::cli {

/// A path, "-" for standard output, or empty: not wanted. `hgrm` is a folder, which is made where it is missing.
struct BenchOutputs {
    std::string json, html, csv, markdown, hgrm;

    /// Whether one of them goes to standard output, where nothing else may then be printed.
    bool to_standard_output() const;
};

/// Adds the options but --json, which only a verb that measures has.
void add_outputs(CLI::App &verb, BenchOutputs &outputs);

/// Finds out before the work whether all can be written after it, and reads the page's template. Throws
/// std::runtime_error iff one cannot, or two were to go to standard output.
class BenchWriter {
  public:
    explicit BenchWriter(const BenchOutputs &outputs);

    /// Throws std::runtime_error iff the document is not flatline.bench/1, or something could not be written.
    void write(const std::string &document) const;

    /// "report: /home/u/report.html" and so on, of what was written to files.
    std::string paths() const;

  private:
    BenchOutputs outputs_;
    std::string page_template_;
};

/// One line for each cell and backend, with a head: every figure of `cells` that is a single value.
std::string csv_of(const std::string &document);

/// For each cell and backend that has a curve, a file name and its content in the text format of HdrHistogram's
/// percentile output, which its plotters read: value, percentile, count up to there, 1 / (1 - percentile).
std::vector<std::pair<std::string, std::string>> hgrm_of(const std::string &document);

} // namespace flat::cli
