// The stacks that the fixture's program prints, and the lines of its source that they come from.
#pragma once

#include "symbols/source_frames.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace test {

struct return_address {
    std::string module;
    std::uint64_t offset = 0;
};

using stack = std::vector<return_address>; // innermost first

/// Where the file of this name below the folder of the fixture is.
std::string made(const std::string &name);

/// The programs of the fixture: one source, compiled in several ways.
std::vector<std::string> programs();

/// Runs the fixture's program of this name, with whatever it finds beside it. Its stacks, by the names in its source.
std::map<std::string, stack> stacks_of(const std::string &program);

/// The path of one of the fixture's sources.
std::string source_path(const std::string &file);

/// The number of the line that ends in the comment "line: NAME".
int line_of(const std::string &file, const std::string &name);

/// All frames of a stack, innermost first.
std::vector<flat::symbols::SourceFrame> frames_of(flat::symbols::SourceFrames &frames, const stack &of);

} // namespace test
