#include "replay.hpp"

#include "preload_path.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>
#include <sys/wait.h>

namespace flat::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours limit{1}; // for one process

template <typename Item> void put(std::ofstream &file, std::span<const Item> items) {
    file.write(reinterpret_cast<const char *>(items.data()), static_cast<std::streamsize>(items.size_bytes()));
}

std::vector<replay_times> times_in(const fs::path &file) {
    std::error_code unreadable;
    const std::uintmax_t bytes = fs::file_size(file, unreadable);
    std::vector<replay_times> times(unreadable ? 0 : bytes / sizeof(replay_times));
    std::ifstream stream(file, std::ios::binary);
    if (unreadable || !stream.read(reinterpret_cast<char *>(times.data()), static_cast<std::streamsize>(bytes)))
        throw std::runtime_error(fmt::format("{}: the driver's times cannot be read", file.string()));
    return times;
}

void require_success(const Ending &ending) {
    if (ending.timed_out) throw std::runtime_error("took longer than an hour: replay one phase or thread");
    if (WIFEXITED(ending.wait_status) && WEXITSTATUS(ending.wait_status) == 0) return;
    throw std::runtime_error(ending.complaint.empty() ? "its driver was ended by a signal" : ending.complaint);
}

} // namespace

void write_replay(const ReplayWork &work, const fs::path &file) {
    const replay_head head{REPLAY_MARK,
                           work.operations.size(),
                           work.threads,
                           work.slots,
                           static_cast<std::uint32_t>(work.classes.size()),
                           0};
    std::vector<std::uint64_t> last(work.threads);
    for (std::size_t i = 0; i < work.operations.size(); ++i) last[work.operations[i].thread] = i;
    std::ofstream stream(file, std::ios::binary | std::ios::trunc);
    put(stream, std::span(&head, 1));
    put<replay_class>(stream, work.classes);
    put<std::uint64_t>(stream, last);
    put<replay_operation>(stream, work.operations);
    if (!stream.flush())
        throw std::runtime_error(
            fmt::format("{}: the operations cannot be written: make room, or set TMPDIR", file.string()));
}

fs::path replay_driver(const Backend &backend, const fs::path &drivers) {
    const fs::path driver = drivers / fmt::format("bench-replay-{}", backend.driver);
    std::error_code ignored;
    return fs::is_regular_file(driver, ignored) ? driver : fs::path();
}

bool replays_threads(const Backend &backend) { return (backend.abilities & remote_free) != 0; }

ReplayTimes run_replay(const Place &place, const fs::path &driver, const fs::path &operations, const fs::path &folder,
                       const SignalWatch &signals) {
    const fs::path file = folder / "times";
    std::vector<std::string> environment{"PATH=/usr/bin:/bin"}; // the user's would replay on another allocator
    if (!place.preload.empty()) environment.push_back("LD_PRELOAD=" + preload_path(place.preload).string());
    if (!place.backend->settings.empty()) environment.emplace_back(place.backend->settings);
    const Ending ending = run_child({driver, {operations.string(), file.string()}, environment, limit}, signals);
    require_success(ending);
    ReplayTimes result;
    std::istringstream line(ending.output);
    if (!(line >> result.ticks_per_ns >> result.cost_ns >> result.version) || result.ticks_per_ns <= 0)
        throw std::runtime_error("its driver said something else than the clock's rate");
    result.times = times_in(file);
    return result;
}

} // namespace flat::bench
