// Violations that a project knows and accepts: a file with one `kind:function` a line.
#pragma once

#include "findings.hpp"

#include <string>
#include <vector>

namespace flat::guarded {

class Suppressions {
  public:
    Suppressions() = default;

    /// Reads lines like "malloc:my::reserve*" or "system call:write"; `#` begins a comment. `name` stands in messages.
    /// Throws std::runtime_error, which names the line, iff one has another form or no known kind.
    Suppressions(const std::string &text, const std::string &name);

    /// Whether a line has the violation's kind, and matches the function of any of its frames, as a shell matches file
    /// names: with or without the parameters. Each line that does is noted as used.
    bool matches(const Violation &violation);

    /// The lines that have matched nothing.
    std::vector<std::string> unused() const;

  private:
    struct Line {
        guard_kind kind;
        std::string function;
        bool used = false;
    };
    std::vector<Line> lines_;
};

} // namespace flat::guarded
