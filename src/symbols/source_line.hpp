// A line of the source.
#pragma once

#include <string>

namespace flat::symbols {

struct SourceLine {
    std::string file; // as passed to the compiler, made whole by the folder that it ran in
    unsigned line = 0;

    bool known() const { return line != 0; }
};

} // namespace flat::symbols
