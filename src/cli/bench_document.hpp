// Reading back what `flatline bench --json` wrote.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flat::cli {

constexpr std::string_view bench_schema = "flatline.bench/1";

/// What `read` makes of the document; members stay in their order. Throws std::runtime_error iff the text is not
/// flatline.bench/1, or lacks something that `read` asks it for.
template <typename Read> auto read_bench_document(const std::string &text, Read read) {
    const auto bench = nlohmann::ordered_json::parse(text, nullptr, false);
    if (bench.is_discarded() || !bench.is_object() || bench.value("schema", "") != bench_schema)
        throw std::runtime_error(
            fmt::format("the result is not {}: `flatline bench --json FILE` writes one", bench_schema));
    try {
        return read(bench);
    } catch (const nlohmann::json::exception &error) {
        throw std::runtime_error(fmt::format("the result lacks something that {} has: {}", bench_schema, error.what()));
    }
}

} // namespace flat::cli
