#include "journal.hpp"

#include <sstream>
#include <stdexcept>

#include <fmt/format.h>

namespace flat::bench {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> whole_lines_of(const fs::path &file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    if (!in || fs::is_directory(file))
        throw std::runtime_error(
            fmt::format("{} cannot be read: name the file that an interrupted run left", file.string()));
    std::istringstream all(text.str().substr(0, text.str().rfind('\n') + 1));
    std::vector<std::string> lines;
    for (std::string line; std::getline(all, line);) lines.push_back(line);
    return lines;
}

} // namespace

Journal Journal::begin(const fs::path &file, const std::string &head) {
    Journal journal;
    journal.file_ = file;
    journal.head_ = head;
    journal.out_.open(file, std::ios::binary | std::ios::trunc);
    journal.append(head);
    journal.has_grown_ = false;
    return journal;
}

Journal Journal::go_on(const fs::path &file) {
    const std::vector<std::string> lines = whole_lines_of(file);
    if (lines.empty()) throw std::runtime_error(fmt::format("no interrupted run wrote {}: it is empty", file.string()));
    Journal journal;
    journal.file_ = file;
    journal.head_ = lines.front();
    journal.entries_.assign(lines.begin() + 1, lines.end());
    journal.out_.open(file, std::ios::binary | std::ios::app);
    journal.whole_bytes_ = 0;
    for (const std::string &line : lines) *journal.whole_bytes_ += line.size() + 1;
    if (!journal.out_)
        throw std::runtime_error(
            fmt::format("{} cannot be written: you need permission to write to it", file.string()));
    return journal;
}

void Journal::append(const std::string &entry) {
    if (whole_bytes_) fs::resize_file(file_, *whole_bytes_);
    whole_bytes_.reset();
    out_ << entry << '\n' << std::flush;
    if (!out_)
        throw std::runtime_error(
            fmt::format("{} keeps the run, and cannot be written: free some space or name another folder with --json",
                        file_.string()));
    has_grown_ = true;
}

void Journal::remove() {
    out_.close();
    std::error_code ignored; // the result exists; a leftover file does no harm
    fs::remove(file_, ignored);
}

} // namespace flat::bench
