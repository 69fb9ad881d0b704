// Reads the documents that `flatline bench --json` wrote.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "bench/json_text.hpp"

#include <fmt/format.h>

namespace flat::cli {

constexpr std::string_view bench_schema = "flatline.bench/1";

/// ", CELLS" if a member of that name is missing; empty for any other kind of error.
inline std::string missing_member(const nlohmann::json::exception &error) {
    constexpr int not_found = 403; // the library's number for a missing member, whose name its message quotes
    const std::string text = error.what();
    const std::size_t from = text.find('\''), to = text.rfind('\'');
    return error.id == not_found && from < to ? ", " + text.substr(from + 1, to - from - 1) : "";
}

/// Returns what `read` makes of the document, whose members keep their order. Throws std::runtime_error, with its own
/// message, iff the text is not flatline.bench/1 or lacks something that `read` asks for.
template <typename Read> auto read_bench_document(const std::string &text, Read read) {
    const auto bench = bench::json_from(text);
    if (!bench)
        throw std::runtime_error(
            fmt::format("the file is not {}: it is not JSON, or it is cut off; `flatline bench --json FILE` writes one",
                        bench_schema));
    const auto schema = bench->is_object() ? bench->find("schema") : bench->end();
    if (schema == bench->end() || *schema != bench_schema)
        throw std::runtime_error(
            fmt::format("the file is not {}: `flatline bench --json FILE` writes one", bench_schema));
    try {
        return read(*bench);
    } catch (const nlohmann::json::exception &error) {
        throw std::runtime_error(
            fmt::format("the file lacks a member that {} has{}: write it again with `flatline bench --json FILE`",
                        bench_schema, missing_member(error)));
    }
}

} // namespace flat::cli
