// Writes the work of each program of `flatline bench programs` into folders, for scripts/audit-cost.
#include "bench/programs.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

int main(int count, char **arguments) {
    if (count != 3) {
        (void)std::fputs(
            "usage: works SCALE FOLDER: writes FOLDER/works.json, and a folder with files for each program\n", stderr);
        return 2;
    }
    const std::filesystem::path folder = arguments[2];
    nlohmann::json works;
    for (const flat::bench::Program &program : flat::bench::programs()) {
        const flat::bench::Work work = program.generate(std::stod(arguments[1]));
        std::filesystem::create_directories(folder / program.name);
        for (const auto &[name, content] : work.files) std::ofstream(folder / program.name / name) << content;
        works[std::string(program.name)] = {{"executable", program.executable}, {"arguments", work.arguments},
                                            {"environment", work.environment},  {"client", program.client},
                                            {"client_arguments", work.client},  {"subject", program.subject}};
    }
    std::ofstream(folder / "works.json") << works.dump(1);
    return 0;
}
