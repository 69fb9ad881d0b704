#include "prove_bench.hpp"

#include "bench_document.hpp"
#include "output.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

namespace flat::cli {
namespace {

using json = nlohmann::ordered_json;

/// The function whose single calls the cell times, or empty.
std::string function_of(const json &cell) {
    if (cell.at("calls_per_sample") != 1 || cell.at("unit") != "ns") return "";
    const auto operation = cell.at("operation").get<std::string>(), backend = cell.at("backend").get<std::string>();
    if (operation != "alloc" && operation != "free") return "";
    if (backend == "flatline-pool" || backend == "flatline-pool-again") return "flat_pool_" + operation;
    return backend == "flatline-heap" ? "flat_heap_" + operation : "";
}

} // namespace

std::map<std::string, double> longest_calls_of(const std::string &file) {
    std::map<std::string, double> longest;
    const auto read = [&longest](const json &bench) {
        for (const json &cell : bench.at("cells")) {
            const std::string function = function_of(cell);
            if (function.empty()) continue;
            double &most = longest[function];
            most = std::max(most, cell.at("max").get<double>());
        }
    };
    try {
        read_bench_document(content_of(file), read);
    } catch (const std::runtime_error &error) {
        throw std::runtime_error(fmt::format("--bench: {}: {}", file, error.what()));
    }
    if (longest.empty())
        throw std::runtime_error(fmt::format("--bench: {} timed no single call of the pool or the heap: give a run of "
                                             "`flatline bench hot anysize`",
                                             file));
    return longest;
}

} // namespace flat::cli
