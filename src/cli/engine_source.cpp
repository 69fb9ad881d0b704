#include "engine_source.hpp"

#include "engine/statistics.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace flat::cli {
namespace {

namespace fs = std::filesystem;

/// A file that is closed with it.
class OpenFile {
  public:
    explicit OpenFile(const std::string &path) : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
    OpenFile(const OpenFile &) = delete;
    OpenFile &operator=(const OpenFile &) = delete;
    ~OpenFile() {
        if (descriptor_ >= 0) (void)close(descriptor_); // it was only read
    }

    bool is_open() const { return descriptor_ >= 0; }

    std::uint64_t number() const {
        struct stat facts{};
        return fstat(descriptor_, &facts) == 0 ? facts.st_ino : 0;
    }

    /// Up to `bytes`, from the start. It is read and not mapped: a file that becomes shorter meanwhile is no signal.
    std::vector<std::byte> read(std::size_t bytes) const {
        std::vector<std::byte> content(bytes);
        std::size_t done = 0;
        while (done < bytes) {
            const ssize_t got = pread(descriptor_, content.data() + done, bytes - done, static_cast<off_t>(done));
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) break;
            done += static_cast<std::size_t>(got);
        }
        content.resize(done);
        return content;
    }

  private:
    int descriptor_;
};

EnginePage page_in(const OpenFile &file, Moment moment) {
    const std::uint64_t bytes = bytes_of_page(file.read(page_begin));
    std::vector<std::byte> content = file.read(static_cast<std::size_t>(bytes) + 1); // one more, if there is one
    return engine_page_of(content, moment);
}

/// The fields of /proc/PID/stat behind the name: the first is the state, field 3.
std::vector<std::string> stat_of(std::uint64_t process) {
    std::ifstream file(fmt::format("/proc/{}/stat", process));
    std::string text;
    std::getline(file, text);
    const std::size_t name_end = text.rfind(')');
    std::vector<std::string> fields;
    if (name_end == std::string::npos) return fields;
    std::istringstream rest(text.substr(name_end + 1));
    for (std::string field; rest >> field;) fields.push_back(field);
    return fields;
}

constexpr std::size_t state_field = 0, start_field = 19; // fields 3 and 22

/// When it was started, and "" if it is not there or has ended.
std::string start_of(std::uint64_t process) {
    const std::vector<std::string> fields = stat_of(process);
    if (fields.size() <= start_field || fields[state_field] == "Z" || fields[state_field] == "X") return {};
    return fields[start_field];
}

std::string program_of(std::uint64_t process) {
    std::ifstream file(fmt::format("/proc/{}/comm", process));
    std::string name;
    std::getline(file, name);
    std::ranges::replace_if(name, [](char each) { return each < ' ' || each > '~'; }, '?');
    return name;
}

class Process final : public EngineSource {
  public:
    explicit Process(std::uint64_t number) : number_(number), started_(start_of(number)), program_(program_of(number)) {
        struct stat facts{};
        if (started_.empty() || stat(folder().c_str(), &facts) != 0)
            throw std::runtime_error(fmt::format("there is no process {}: name one that runs", number));
        if (facts.st_uid != geteuid())
            throw std::runtime_error(
                fmt::format("process {} is another user's (number {}): run this as that user", number, facts.st_uid));
        if (look().empty() && !has_ended())
            throw std::runtime_error(fmt::format("process {} ({}) has no engine that was made by flat_engine_create: "
                                                 "name another, or wait until it has one",
                                                 number, program_));
    }

    std::vector<FoundEngine> look() override {
        std::vector<FoundEngine> found;
        std::error_code error;
        for (fs::directory_iterator each(folder(), error), end; !error && each != end; each.increment(error)) {
            std::error_code gone;
            const std::string to = fs::read_symlink(each->path(), gone).string();
            if (gone || !to.starts_with("/memfd:" STATISTICS_NAME)) continue;
            if (std::optional<FoundEngine> engine = look_at(each->path().string())) found.push_back(std::move(*engine));
        }
        if (error && !has_ended())
            throw std::runtime_error(fmt::format("{} cannot be read: {}", folder(), error.message()));
        std::ranges::sort(found, {}, &FoundEngine::key);
        return found;
    }

    bool has_ended() const override { return start_of(number_) != started_; }
    std::uint64_t process() const override { return number_; }
    std::string program() const override { return program_; }

  private:
    std::string folder() const { return fmt::format("/proc/{}/fd", number_); }

    /// Nothing if the engine is being made or ended, or is inherited from another process.
    std::optional<FoundEngine> look_at(const std::string &path) const {
        const OpenFile file(path);
        if (!file.is_open()) return std::nullopt;
        try {
            EnginePage page = page_in(file, Moment::now);
            return FoundEngine{file.number(), std::move(page)};
        } catch (const std::runtime_error &) {
            if (file.read(page_begin).empty() || !OpenFile(path).is_open() || has_ended()) return std::nullopt;
            throw;
        }
    }

    std::uint64_t number_;
    std::string started_, program_;
};

class File final : public EngineSource {
  public:
    explicit File(std::string path) : path_(std::move(path)) {
        const std::vector<FoundEngine> found = look();
        process_ = found.front().page.process;
        started_ = start_of(process_);
    }

    std::vector<FoundEngine> look() override {
        const OpenFile file(path_);
        if (!file.is_open())
            throw std::runtime_error(
                fmt::format("{} cannot be read: name a process, or a file that you may read", path_));
        std::vector<FoundEngine> found;
        // Without its process, its time is that of its latest word.
        const EnginePage page = page_in(file, Moment::of_page);
        const bool runs = !start_of(page.process).empty();
        found.push_back({file.number(), runs ? page_in(file, Moment::now) : page});
        return found;
    }

    bool has_ended() const override { return started_.empty() || start_of(process_) != started_; }
    std::uint64_t process() const override { return process_; }
    std::string program() const override { return has_ended() ? "" : program_of(process_); }

  private:
    std::string path_, started_;
    std::uint64_t process_ = 0;
};

bool is_number(const std::string &text) {
    return !text.empty() && text.size() <= 10 &&
           std::ranges::all_of(text, [](char each) { return each >= '0' && each <= '9'; });
}

} // namespace

std::unique_ptr<EngineSource> engine_source(const std::string &target) {
    if (is_number(target)) return std::make_unique<Process>(std::stoull(target));
    return std::make_unique<File>(target);
}

} // namespace flat::cli
