// `flatline bench`: the pool beside every allocator there is on this machine.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace flat::cli {

struct BenchOptions {
    bool quick = false; // the only mode, and the default
    bool list = false;
    std::vector<std::string> suites, backends; // none: all
    std::vector<std::size_t> sizes;            // none: all
    std::vector<std::string> programs;         // of the suite programs; none: all
    std::optional<unsigned> rounds;            // none: as many as the suite usually has
    std::optional<int> cpu;
    std::optional<std::uint64_t> seed;
    std::string json, html; // a path, "-" for standard output, or empty
};

/// Adds the verb to the program; `options` must outlive it.
CLI::App *add_bench(CLI::App &program, BenchOptions &options);

/// Returns the exit status: 0, or 2 where a backend failed, which a line on standard error then tells. Throws
/// std::runtime_error, with a message that says what to do, iff nothing could be run.
int run_bench(const BenchOptions &options);

} // namespace flat::cli
