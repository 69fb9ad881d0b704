// A real program that allocators are compared in, and the work that it is given.
#pragma once

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

} // namespace flat::bench
