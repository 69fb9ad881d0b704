#include "engine_page.hpp"

#include "engine/gain.h"
#include "engine/statistics.h"
#include "simulate/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace flat::cli {
namespace {

constexpr std::uint64_t switchback_bytes = (sizeof(switchback) + LINE_PAIR - 1) / LINE_PAIR * LINE_PAIR;
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30; // the largest engine has a hundredth of it

[[noreturn]] void refuse(const char *why) {
    throw std::runtime_error(std::string(why) + ": name a process that has an engine, or a file with what it shows");
}

/// A copy of what lies at `at`; the caller has checked that it is within the bytes.
template <typename Part> Part part_at(std::span<const std::byte> bytes, std::uint64_t at) {
    Part part;
    std::memcpy(&part, bytes.subspan(at, sizeof part).data(), sizeof part);
    return part;
}

bool fits(std::uint64_t at, std::uint64_t count, std::uint64_t each, std::uint64_t bytes) {
    return at <= bytes && at % alignof(std::uint64_t) == 0 && count <= (bytes - at) / each;
}

void require_head(const engine_statistics &head) {
    if (head.magic != STATISTICS_MAGIC) refuse("this is not what an engine of this version of Flatline shows");
    const std::uint64_t submitters = head.worker_count + head.lane_count;
    const bool holds = head.bytes >= sizeof head && head.bytes <= most_bytes && head.worker_count >= 1 &&
                       head.worker_count <= FLAT_ENGINE_MAX_WORKERS && head.lane_count >= 1 &&
                       head.lane_count <= FLAT_ENGINE_MAX_LANES && head.worker_bytes == sizeof(worker_statistics) &&
                       head.submitter_bytes == submitter_statistics_bytes(head.worker_count) &&
                       fits(head.workers_at, head.worker_count, head.worker_bytes, head.bytes) &&
                       fits(head.submitters_at, submitters, head.submitter_bytes, head.bytes) &&
                       (head.switchbacks_at == 0 ||
                        (head.switchback_bytes == switchback_bytes && head.switchbacks_at % LINE_PAIR == 0 &&
                         fits(head.switchbacks_at, submitters, head.switchback_bytes, head.bytes))) &&
                       head.policy < DISPATCH_POLICIES && head.rate.ns_per_tick != 0 && head.rate.ticks_per_ns != 0;
    if (!holds) refuse("the engine's page contradicts itself");
}

/// Printable ASCII, whatever the page says.
std::string name_in(const char (&field)[FLAT_ENGINE_TYPE_NAME]) {
    std::string name(field, strnlen(field, sizeof field));
    std::ranges::replace_if(name, [](char each) { return each < ' ' || each > '~'; }, '?');
    return name;
}

std::string state_name(std::uint64_t state) {
    constexpr std::array<const char *, 4> names{"open", "draining", "stopped", "ending"}; // engine_state
    return state < names.size() ? names[state] : "unknown";
}

/// All that is computed with the time.
class Clock {
  public:
    Clock(const tick_rate &rate, std::uint64_t now) : rate_(rate), now_(now) {}

    std::uint64_t ns(std::uint64_t ticks) const { return ns_of_ticks(&rate_, ticks); }
    std::uint64_t ticks_since(std::uint64_t moment) const { return now_ > moment ? now_ - moment : 0; }
    std::uint64_t ns_since(std::uint64_t moment) const { return ns(ticks_since(moment)); }
    double per_second(std::uint64_t kept) const {
        return std::ldexp(static_cast<double>(kept), -RATE_SHIFT) *
               std::ldexp(static_cast<double>(rate_.ticks_per_ns), -32) * 1e9;
    }
    flat_histogram histogram(const duration_histogram &from) const {
        flat_histogram made{};
        std::ranges::copy(from.counts, made.counts);
        made.unit_ns = rate_.ns_per_tick;
        return made;
    }

  private:
    tick_rate rate_;
    std::uint64_t now_;
};

EngineClass class_of(const class_statistics &from, const Clock &clock) {
    return {.block_size = from.block_size,
            .block_count = from.block_count,
            .granted = from.granted,
            .free = from.free,
            .in_flight = from.in_flight,
            .done = from.done,
            .limit_ns = clock.ns(from.service_ticks),
            .over_limit = from.over_service,
            .longest_run_ns = clock.ns(from.longest_service),
            .longest_sojourn_ns = clock.ns(from.longest_sojourn)};
}

Doing doing_of(const worker_statistics &from) {
    if (from.running != 0) return Doing::running;
    if (from.thread == 0) return Doing::not_there;
    return from.asleep != 0 ? Doing::sleeping : Doing::nothing;
}

/// In this order: what waits, by what was accepted; see count_untaken in src/engine/snapshot.c.
std::uint64_t untaken_of(const EngineWorker &worker) {
    std::uint64_t known = worker.timed + (worker.run != 0 ? 1 : 0);
    for (const std::uint64_t each : worker.outcomes) known += each;
    for (const std::uint64_t each : worker.queued) known += each;
    return worker.accepted > known ? worker.accepted - known : 0;
}

EngineWorker worker_of(const worker_statistics &from, const engine_statistics &head, const Clock &clock) {
    if (from.class_count >= STATISTICS_CLASSES) refuse("the engine's page contradicts itself");
    EngineWorker made;
    made.doing = doing_of(from);
    made.thread = from.thread;
    made.run = from.running;
    made.running_ns = from.running != 0 ? clock.ns_since(from.running_since) : 0;
    made.timed = from.timed;
    made.begun = from.begun;
    made.deferred = from.deferred;
    made.slept = from.slept;
    made.overruns = from.overruns;
    std::ranges::copy(from.queued, made.queued.begin());
    std::ranges::copy(from.outcomes, made.outcomes.begin());
    std::ranges::transform(from.service_estimate, made.estimate_ns.begin(),
                           [&](std::uint64_t each) { return clock.ns(each) / 16; });
    if (made.doing != Doing::sleeping || clock.ticks_since(from.rated) <= head.rated_ticks) {
        made.arrivals_per_s = clock.per_second(from.arrivals);
        made.drains_per_s = clock.per_second(from.drains);
    }
    for (std::size_t i = 0; i <= from.class_count; ++i) made.classes.push_back(class_of(from.classes[i], clock));
    made.durations = {clock.histogram(from.waiting), clock.histogram(from.service), clock.histogram(from.sojourn)};
    return made;
}

/// A submitter, whose accepted tasks are added to those of the workers.
EngineSubmitter submitter_of(std::span<const std::byte> bytes, std::uint64_t at, EnginePage &page) {
    const auto from = part_at<submitter_statistics>(bytes, at);
    EngineSubmitter made;
    made.thread = from.thread;
    std::ranges::copy(from.refused, made.refused.begin());
    for (EngineWorker &worker : page.workers) {
        const auto index = static_cast<std::size_t>(&worker - page.workers.data());
        const auto accepted = part_at<std::uint64_t>(bytes, at + sizeof from + index * sizeof(std::uint64_t));
        made.accepted += accepted;
        worker.accepted += accepted;
    }
    return made;
}

/// The latest moment that the page tells of.
std::uint64_t latest_moment(std::span<const std::byte> bytes, const engine_statistics &head) {
    std::uint64_t latest = head.rate.origin;
    for (std::uint64_t i = 0; i < head.worker_count; ++i) {
        const auto worker = part_at<worker_statistics>(bytes, head.workers_at + i * head.worker_bytes);
        latest = std::max({latest, worker.looked, worker.running_since});
    }
    return latest;
}

/// From a copy that is aligned as the pages are.
std::optional<flat_dispatch_gain> gain_of(std::span<const std::byte> bytes, const engine_statistics &head,
                                          std::uint64_t now) {
    if (head.switchbacks_at == 0) return std::nullopt;
    struct alignas(LINE_PAIR) Line {
        std::array<std::byte, LINE_PAIR> content;
    };
    std::vector<Line> pages((bytes.size() + sizeof(Line) - 1) / sizeof(Line));
    std::memcpy(pages.data(), bytes.data(), bytes.size());
    flat_dispatch_gain gain{};
    const bool is_measured = flat_gain_of_pages(reinterpret_cast<const engine_statistics *>(pages.data()), now, &gain);
    return is_measured ? std::optional(gain) : std::nullopt;
}

} // namespace

std::uint64_t bytes_of_page(std::span<const std::byte> begin) {
    if (begin.size() < sizeof(engine_statistics)) refuse("this is too short for what an engine shows");
    const auto head = part_at<engine_statistics>(begin, 0);
    require_head(head);
    return head.bytes;
}

EnginePage engine_page_of(std::span<const std::byte> bytes, Moment moment) {
    if (bytes_of_page(bytes) != bytes.size()) refuse("the engine's page is not of the size that it tells");
    const auto head = part_at<engine_statistics>(bytes, 0);
    const std::uint64_t moment_ticks = moment == Moment::now ? read_ticks() : latest_moment(bytes, head);
    const Clock clock(head.rate, moment_ticks);
    EnginePage page;
    page.policy = simulate::name_of(static_cast<dispatch_policy>(head.policy));
    page.gain = gain_of(bytes, head, moment_ticks);
    page.process = head.process;
    page.lanes = head.lane_count;
    page.up_ns = clock.ns_since(head.rate.origin);
    page.watchdog_ns = clock.ns(head.watchdog_ticks);
    page.state = state_name(head.state);
    std::ranges::transform(head.types, page.types.begin(), name_in);
    for (std::uint64_t i = 0; i < head.worker_count; ++i)
        page.workers.push_back(
            worker_of(part_at<worker_statistics>(bytes, head.workers_at + i * head.worker_bytes), head, clock));
    for (std::uint64_t i = 0; i < head.lane_count + head.worker_count; ++i) {
        EngineSubmitter submitter = submitter_of(bytes, head.submitters_at + i * head.submitter_bytes, page);
        if (i >= head.lane_count) submitter.worker = static_cast<std::size_t>(i - head.lane_count);
        page.submitters.push_back(submitter);
    }
    for (EngineWorker &worker : page.workers) worker.untaken = untaken_of(worker);
    return page;
}

} // namespace flat::cli
