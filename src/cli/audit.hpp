// flatline audit: which calls of the allocator stall a program, and why.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace flat::cli {

struct AuditOptions {
    std::string out, under, json, html, folded, trace, pprof;
    std::string over = "10us";
    bool causes = false, without_system_calls = false;
    std::vector<std::string> command;
    std::string recording; // of `audit report`
    CLI::App *report = nullptr;
};

CLI::App *add_audit(CLI::App &program, AuditOptions &options);

/// Returns the program's exit status; of `audit report`, 0. Throws std::runtime_error, with a message that says what to
/// do, iff it could not be run.
int run_audit(const AuditOptions &options);

} // namespace flat::cli
