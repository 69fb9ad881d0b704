#include "output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>
#include <unistd.h>

namespace flat::cli {

namespace fs = std::filesystem;

void require_writable(const std::string &option, const std::string &file) {
    if (file.empty() || file == "-") return;
    const fs::path directory = fs::absolute(file).parent_path();
    if (fs::is_directory(file) || access(directory.c_str(), W_OK) != 0 ||
        (fs::exists(file) && access(file.c_str(), W_OK) != 0))
        throw std::runtime_error(
            fmt::format("{}: {} cannot be written: name a file in a directory that exists and that you may write to",
                        option, file));
}

namespace {

/// Whether both are there and are one file, or would be one.
bool is_same_file(const std::string &one, const std::string &other) {
    if (one.empty() || other.empty()) return false;
    if (one == "-" || other == "-") return one == other;
    std::error_code ignored;
    return fs::equivalent(one, other, ignored) ||
           fs::absolute(one, ignored).lexically_normal() == fs::absolute(other, ignored).lexically_normal();
}

/// A terminal or /dev/null takes any number of outputs.
bool takes_many(const std::string &file) {
    std::error_code ignored;
    return file != "-" && fs::is_character_file(file, ignored);
}

} // namespace

void require_outputs(std::initializer_list<OptionFile> outputs, std::initializer_list<OptionFile> inputs) {
    for (auto output = outputs.begin(); output != outputs.end(); ++output) {
        const auto &[option, file] = *output;
        require_writable(option, file);
        for (const auto &[read, input] : inputs)
            if (input != "-" && is_same_file(file, input) && !takes_many(file))
                throw std::runtime_error(
                    fmt::format("{}: {} is {}, which it would overwrite: name another file", option, file, read));
        for (auto earlier = outputs.begin(); earlier != output; ++earlier)
            if (is_same_file(earlier->second, file) && !takes_many(file))
                throw std::runtime_error(fmt::format("{} and {} cannot both be written to {}: name a file for one",
                                                     earlier->first, option, file == "-" ? "standard output" : file));
    }
}

void write_output(const std::string &file, const std::string &text) {
    if (file == "-") {
        (void)std::fwrite(text.data(), 1, text.size(), stdout);
        require_written();
        return;
    }
    std::ofstream out(file, std::ios::binary);
    errno = 0;
    out << text;
    out.close();
    if (!out)
        throw std::runtime_error(fmt::format("{} could not be written{}: free some space or name another file", file,
                                             errno == 0 ? "" : fmt::format(" ({})", std::strerror(errno))));
}

void require_written() {
    errno = 0;
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
    const int error = errno;
    std::clearerr(stdout); // report it once
    throw std::runtime_error(fmt::format("standard output could not be written{}: free some space or send it elsewhere",
                                         error == 0 ? "" : fmt::format(" ({})", std::strerror(error))));
}

std::string content_of(const std::string &file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    if (!in || fs::is_directory(file))
        throw std::runtime_error(fmt::format("{} cannot be read: name a file that exists and that you may read", file));
    return text.str();
}

} // namespace flat::cli
