#include "recording.hpp"

#include "workloads.hpp"

#include "../engine/dispatch/shard_set.h"

#include <flatline/engine.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <compare>
#include <map>
#include <memory>
#include <stdexcept>

#include <fmt/format.h>

namespace flat::simulate {
namespace {

constexpr std::string_view columns = "submitted_ns,service_ns,held_ns,type,submitter,worker";
constexpr std::uint64_t longest_ns = std::uint64_t{1} << 52; // 52 days
constexpr std::size_t fewest_tasks = 100;

/// The lines of a text, and which one is the last that was taken.
class Lines {
  public:
    explicit Lines(std::string_view text) : rest_(text) {}

    bool next(std::string_view &line) {
        if (rest_.empty()) return false;
        const std::size_t end = rest_.find('\n');
        line = rest_.substr(0, end);
        rest_ = end == rest_.npos ? std::string_view{} : rest_.substr(end + 1);
        number_++;
        return true;
    }

    [[noreturn]] void refuse(const std::string &what) const {
        throw std::runtime_error(
            fmt::format("line {}: {}: give a file that flat_engine_write_record wrote", number_, what));
    }

  private:
    std::string_view rest_;
    std::size_t number_ = 0;
};

/// Takes a number off the front of the text; it must be at most `most`.
std::uint64_t number_in(std::string_view &text, std::uint64_t most, const Lines &lines) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || value > most) lines.refuse(fmt::format("there is no number up to {}", most));
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
}

void take(std::string_view &text, std::string_view expected, const Lines &lines) {
    if (!text.starts_with(expected)) lines.refuse(fmt::format("there is no \"{}\"", expected));
    text.remove_prefix(expected.size());
}

struct Head {
    std::uint64_t workers = 0, submitters = 0, missed = 0;
};

Head head_of(Lines &lines) {
    std::string_view line;
    Head head;
    if (!lines.next(line)) lines.refuse("it is empty");
    take(line, "# flatline-record/1 workers=", lines);
    head.workers = number_in(line, DISPATCH_MOST_SHARDS, lines);
    take(line, " submitters=", lines);
    head.submitters = number_in(line, FLAT_ENGINE_MAX_LANES + FLAT_ENGINE_MAX_WORKERS, lines);
    take(line, " missed=", lines);
    head.missed = number_in(line, UINT64_MAX, lines);
    if (!line.empty() || head.workers == 0 || head.submitters == 0) lines.refuse("this is no head of a record");
    if (!lines.next(line) || line != columns) lines.refuse(fmt::format("there are no columns \"{}\"", columns));
    return head;
}

struct RecordedTask {
    std::uint64_t submitted = 0, service = 0, held = 0;
    std::uint32_t type = 0, submitter = 0;

    auto operator<=>(const RecordedTask &) const = default;
};

RecordedTask task_of(std::string_view line, const Head &head, const Lines &lines) {
    RecordedTask task;
    const auto next = [&](std::uint64_t most) {
        const std::uint64_t value = number_in(line, most, lines);
        if (!line.empty()) take(line, ",", lines);
        return value;
    };
    task.submitted = next(longest_ns);
    task.service = next(longest_ns);
    task.held = next(longest_ns);
    task.type = static_cast<std::uint32_t>(next(FLAT_ENGINE_TASK_TYPES - 1));
    task.submitter = static_cast<std::uint32_t>(next(head.submitters - 1));
    if (number_in(line, head.workers - 1, lines), !line.empty()) lines.refuse("there is more than a task");
    return task;
}

/// Numbers without gaps: only submitters that sent something are simulated.
std::uint32_t number_submitters(std::vector<RecordedTask> &tasks) {
    std::map<std::uint32_t, std::uint32_t> numbers;
    for (RecordedTask &task : tasks)
        task.submitter = numbers.try_emplace(task.submitter, static_cast<std::uint32_t>(numbers.size())).first->second;
    return static_cast<std::uint32_t>(numbers.size());
}

} // namespace

Recording recording_of(std::string_view text) {
    Lines lines(text);
    const Head head = head_of(lines);
    std::vector<RecordedTask> tasks;
    double service = 0;
    for (std::string_view line; lines.next(line);) {
        tasks.push_back(task_of(line, head, lines));
        service += static_cast<double>(tasks.back().service);
    }
    if (tasks.size() < fewest_tasks) lines.refuse(fmt::format("a record of fewer than {} tasks", fewest_tasks));
    if (service == 0) lines.refuse("no task took any time");
    std::ranges::sort(tasks);

    Recording recording{.workload = {.name = "recorded", .held_out = true}, .missed = head.missed};
    recording.mean_service_ns = service / static_cast<double>(tasks.size());
    const double scale = usual_service / recording.mean_service_ns;
    const auto scaled = [&](std::uint64_t ns) {
        return static_cast<std::uint64_t>(static_cast<double>(ns) * scale + 0.5);
    };
    const std::uint64_t first = tasks.front().submitted, span = scaled(tasks.back().submitted - first) + 1;
    Workload &workload = recording.workload;
    workload.shards = static_cast<std::uint32_t>(head.workers);
    workload.dispatchers = number_submitters(tasks);
    std::uint32_t types = 1;
    auto arrivals = std::make_shared<std::vector<Arrival>>();
    for (const RecordedTask &task : tasks) {
        types = std::max(types, task.type + 1);
        arrivals->push_back({.time = scaled(task.submitted - first),
                             .service = std::max<std::uint64_t>(scaled(task.service), 1),
                             .hold = scaled(task.held),
                             .type = task.type,
                             .dispatcher = task.submitter});
    }
    workload.types.assign(types, {.service = Service::exponential(usual_service)});
    workload.load = usual_service * static_cast<double>(tasks.size()) / static_cast<double>(span) /
                    static_cast<double>(workload.shards);
    workload.recorded = std::move(arrivals);
    return recording;
}

} // namespace flat::simulate
