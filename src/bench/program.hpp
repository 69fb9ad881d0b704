// A real program in which allocators are compared, and its work.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flat::bench {

/// All inputs of a program. In arguments "{port}" stands for a free port of 127.0.0.1.
struct Work {
    std::vector<std::pair<std::string, std::string>> files{}; // name and content, in the working folder
    std::vector<std::string> arguments{};
    std::vector<std::string> environment{}; // in addition to what every program gets
    std::vector<std::string> client{};      // the client's arguments, if there is a client
};

/// One program. To add one, add a row in programs.cpp, a generator in program_workloads.cpp, and a line in
/// scripts/bootstrap.
struct Program {
    std::string_view name; // the name for --programs
    std::string_view title;
    std::string_view executable; // its file name
    std::string_view subject;    // the file name of the process that allocates, if the program starts one; or empty
    std::string_view client;     // the executable that sends it the work, or empty
    std::string_view package;    // Debian's
    std::string_view version;    // the argument that prints its version
    std::string_view work;       // in a few words
    bool repeats_output;         // every run must print the same
    Work (*generate)(double scale);
};

} // namespace flat::bench
