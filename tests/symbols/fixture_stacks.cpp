#include "fixture_stacks.hpp"

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace test {

std::string made(const std::string &name) { return (std::filesystem::path(FLATLINE_FIXTURE) / name).string(); }

std::vector<std::string> programs() {
    std::istringstream in(FLATLINE_FIXTURE_PROGRAMS);
    std::vector<std::string> names;
    for (std::string name; in >> name;) names.push_back(name);
    return names;
}

std::map<std::string, stack> stacks_of(const std::string &program) {
    FILE *pipe = popen(("'" + made(program) + "'").c_str(), "r");
    if (pipe == nullptr) throw std::runtime_error("cannot run " + program);
    std::string text;
    std::array<char, 4096> part{};
    while (std::fgets(part.data(), static_cast<int>(part.size()), pipe) != nullptr) text += part.data();
    if (pclose(pipe) != 0) throw std::runtime_error(program + " failed");
    std::map<std::string, stack> stacks;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string name;
        words >> name;
        return_address address;
        while (words >> address.module >> std::hex >> address.offset) stacks[name].push_back(address);
    }
    return stacks;
}

std::string source_path(const std::string &file) {
    return (std::filesystem::path(FLATLINE_FIXTURE_SOURCE) / file).string();
}

int line_of(const std::string &file, const std::string &name) {
    std::ifstream in(source_path(file));
    int number = 1;
    for (std::string line; std::getline(in, line); number++)
        if (line.ends_with("// line: " + name)) return number;
    throw std::runtime_error(file + " has no line " + name);
}

std::vector<flat::symbols::SourceFrame> frames_of(flat::symbols::SourceFrames &frames, const stack &of) {
    std::vector<flat::symbols::SourceFrame> all;
    for (const return_address &each : of)
        for (const flat::symbols::SourceFrame &frame : frames.at(each.module, each.offset, true)) all.push_back(frame);
    return all;
}

} // namespace test
