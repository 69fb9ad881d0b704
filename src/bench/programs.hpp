// The real programs that allocators are compared in, and the work that each is given: generated, and the same each
// time.
#pragma once

#include "program.hpp"

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flat::bench {

/// What a program must have to say anything about allocators, under glibc.
constexpr double least_seconds = 2;
constexpr double least_calls = 1e6;
constexpr double least_share = 0.05; // of its processor time, in the allocator

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
    std::string how; // it is had
};

struct FoundPrograms {
    std::vector<FoundProgram> found;
    std::vector<MissingProgram> missing;
};

/// Debian's, and not whatever comes first in PATH: another python3 is another program.
std::vector<std::filesystem::path> program_directories();

FoundPrograms locate_programs(const std::vector<const Program *> &wanted,
                              const std::vector<std::filesystem::path> &directories);

} // namespace flat::bench
