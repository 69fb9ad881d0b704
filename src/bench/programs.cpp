#include "programs.hpp"

#include "program_workloads.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

namespace flat::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::array all_programs{
    Program{"redis", "redis-server under redis-benchmark", "redis-server", "", "redis-benchmark", "redis-server",
            "--version", "strings, lists, sets, hashes and sorted sets by pipelined requests", false, redis_work},
    Program{"sqlite", "sqlite3", "sqlite3", "", "", "sqlite3", "--version",
            "a database in memory: filled, grouped, taken apart and put together as JSON", true, sqlite_work},
    Program{"z3", "z3", "z3", "", "", "z3", "--version", "linear arithmetic, arrays and bit vectors, each from nothing",
            true, z3_work},
    Program{"lua", "lua5.4", "lua5.4", "", "", "lua5.4", "-v", "trees, strings, tables and closures", true, lua_work},
    Program{"jq", "jq", "jq", "", "", "jq", "--version", "one long document: parsed, written, parsed again, summed up",
            true, jq_work},
    Program{"python", "python3, PYTHONMALLOC=malloc", "python3", "", "", "python3", "--version",
            "records, text, JSON and objects", true, python_work},
    Program{"perl", "perl", "perl", "", "", "perl", "-v", "words, hashes and records", true, perl_work},
    Program{"g++", "g++ (cc1plus)", "g++", "cc1plus", "", "g++", "--version",
            "one source full of templates, with the static analysis", true, compiler_work},
};

std::optional<fs::path> find_in(const std::vector<fs::path> &directories, std::string_view name) {
    for (const fs::path &directory : directories) {
        std::error_code ignored;
        if (fs::is_regular_file(directory / name, ignored)) return directory / name;
    }
    return std::nullopt;
}

} // namespace

std::span<const Program> programs() { return all_programs; }

const Program *find_program(std::string_view name) {
    const auto found = std::ranges::find(all_programs, name, &Program::name);
    return found == all_programs.end() ? nullptr : &*found;
}

std::vector<fs::path> program_directories() { return {"/usr/bin", "/bin", "/usr/local/bin"}; }

FoundPrograms locate_programs(const std::vector<const Program *> &wanted, const std::vector<fs::path> &directories) {
    FoundPrograms programs;
    for (const Program *program : wanted) {
        const auto executable = find_in(directories, program->executable);
        const auto client = program->client.empty() ? std::optional(fs::path()) : find_in(directories, program->client);
        if (executable && client)
            programs.found.push_back({program, *executable, *client});
        else
            programs.missing.push_back({program, fmt::format("apt-get install {}", program->package)});
    }
    return programs;
}

} // namespace flat::bench
