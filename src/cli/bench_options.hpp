// The options of `flatline bench`.
#pragma once

#include "bench_outputs.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace flat::cli {

struct BenchOptions {
    bool quick = false; // the default
    bool full = false;  // every suite that a driver runs
    bool list = false;
    bool all_columns = false;          // of the summary on the terminal
    bool isolated = false;             // refuse if the machine cannot keep other tasks away
    std::vector<std::string> suites;   // none: those of the quick run
    std::vector<std::string> backends; // none: all
    std::vector<std::size_t> sizes;    // none: all
    std::vector<std::string> programs; // of the suite programs; none: all
    std::vector<unsigned> threads;     // of suites threads and pipeline; empty: the usual
    std::optional<unsigned> processes; // for each cell and backend; none: the suite's default
    std::optional<int> pin;
    std::optional<std::uint64_t> seed;
    std::string resume; // the file that an interrupted run left, which supplies all other options; or empty
    BenchOutputs outputs;
};

} // namespace flat::cli
