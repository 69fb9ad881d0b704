// Writes every export of made-up findings to a folder, for exports_test.py: NAME.pb.gz, NAME.trace.json, NAME.folded.
#include "made_findings.hpp"

#include "audit/chrome_trace.hpp"
#include "audit/folded_stacks.hpp"
#include "audit/pprof_profile.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

void write(const std::filesystem::path &file, const std::string &content) {
    std::ofstream(file, std::ios::binary) << content;
}

void write_all(const std::filesystem::path &folder, const std::string &name, const flat::audit::Findings &findings) {
    write(folder / (name + ".pb.gz"), pprof_profile(findings));
    write(folder / (name + ".trace.json"), chrome_trace(findings));
    write(folder / (name + ".folded"), folded_stacks(findings));
}

} // namespace

int main(int count, char **arguments) {
    if (count != 2) {
        std::fputs("usage: made_exports FOLDER\n", stderr);
        return 2;
    }
    const std::filesystem::path folder = arguments[1];
    write_all(folder, "made", test::made_findings());
    flat::audit::Findings repeated = test::made_findings(); // with a second call, and from a library's side
    repeated.slow_calls.insert(repeated.slow_calls.begin() + 1, {1.6e9, 11'000, 0, 0});
    for (auto &stack : repeated.stacks) std::reverse(stack.stack.begin(), stack.stack.end());
    write_all(folder, "repeated", repeated);
    write_all(folder, "empty", {});
    write_all(folder, "huge", test::huge_findings());
    for (std::size_t i = 0; i < test::hostile_names().size(); ++i)
        write_all(folder, "named" + std::to_string(i), test::findings_named(test::hostile_names()[i]));
}
