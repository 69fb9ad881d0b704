// The real programs in which allocators are compared, and the work of each, which is generated and the same each time.
#pragma once

#include "program.hpp"

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flat::bench {

/// The minima that a program must reach under glibc for its figures to say anything about allocators.
constexpr double least_seconds = 2;
constexpr double least_calls = 1e6;
constexpr double least_share = 0.05; // share of its processor time in the allocator

/// In the order in which they are shown.
std::span<const Program> programs();

/// nullptr iff there is none of that name.
const Program *find_program(std::string_view name);

struct FoundProgram {
    const Program *program;
    std::filesystem::path executable, client; // the latter empty where there is none
};

struct MissingProgram {
    const Program *program;
    std::string how; // to get it
};

struct FoundPrograms {
    std::vector<FoundProgram> found;
    std::vector<MissingProgram> missing;
};

/// Debian's directories, not all of PATH: another python3 is another program.
std::vector<std::filesystem::path> program_directories();

FoundPrograms locate_programs(const std::vector<const Program *> &wanted,
                              const std::vector<std::filesystem::path> &directories);

} // namespace flat::bench
