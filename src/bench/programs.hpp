// The real programs that allocators are compared in, and the work that each is given: generated, and the same each
// time.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flat::bench {

/// All that a program needs for its work. In arguments "{port}" stands for a free port of 127.0.0.1.
struct Work {
    std::vector<std::pair<std::string, std::string>> files{}; // name and content, in the folder it runs in
    std::vector<std::string> arguments{};
    std::vector<std::string> environment{}; // besides what every program gets
    std::vector<std::string> client{};      // the client's arguments, where there is a client
};

/// One program. Adding one is a row in programs.cpp, a generator in program_workloads.cpp, and a line in
/// scripts/bootstrap.
struct Program {
    std::string_view name; // as --programs has them: what a person types
    std::string_view title;
    std::string_view executable; // its file name
    std::string_view subject;    // the file name of the process that allocates, where the program starts it; or empty
    std::string_view client;     // the executable that puts the work to it, or empty
    std::string_view package;    // Debian's
    std::string_view version;    // the argument that makes it tell its version
    std::string_view work;       // in a few words
    bool repeats_output;         // every run of it must print the same
    Work (*generate)(double scale);
};

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
