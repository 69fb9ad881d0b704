// What an engine shows of itself (src/engine/statistics.h), read by another process: checked, and in units of time.
#pragma once

#include <flatline/engine_statistics.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace flat::cli {

enum class Doing { nothing, running, sleeping, not_there };

struct EngineClass {
    std::uint64_t block_size = 0; // bytes; 0: inline payloads
    std::uint64_t block_count = 0, granted = 0, free = 0, in_flight = 0, done = 0;
    std::uint64_t limit_ns = 0; // 0: none stated
    std::uint64_t over_limit = 0, longest_run_ns = 0, longest_sojourn_ns = 0;
};

struct EngineWorker {
    Doing doing = Doing::not_there;
    std::uint64_t thread = 0;
    std::uint64_t run = 0; // the function's address in its process; 0: none
    std::uint64_t running_ns = 0;
    std::array<std::uint64_t, FLAT_ENGINE_URGENCIES> queued{};
    std::uint64_t timed = 0, untaken = 0, accepted = 0, begun = 0, deferred = 0, slept = 0, overruns = 0;
    std::array<std::uint64_t, 3> outcomes{}; // by flat_outcome
    double arrivals_per_s = 0, drains_per_s = 0;
    std::array<std::uint64_t, FLAT_ENGINE_TASK_TYPES> estimate_ns{}; // 0: none yet
    std::vector<EngineClass> classes;
    std::array<flat_histogram, FLAT_DURATIONS> durations{};
};

struct EngineSubmitter {
    std::optional<std::size_t> worker; // whose tasks submit by it
    std::uint64_t thread = 0, accepted = 0;
    std::array<std::uint64_t, FLAT_REFUSALS> refused{};
};

struct EnginePage {
    std::uint64_t process = 0, lanes = 0, up_ns = 0, watchdog_ns = 0;
    std::string state;
    std::array<std::string, FLAT_ENGINE_TASK_TYPES> types; // names, "" if it has none
    std::vector<EngineWorker> workers;
    std::vector<EngineSubmitter> submitters; // the outside ones first
    std::string policy;                      // of dispatch
    std::optional<flat_dispatch_gain> gain;  // over two choices; none: it is not measured
};

// When the page is looked at.
enum class Moment { now, of_page /* its latest: it is of the past, or from another machine */ };

// Reads the bytes of a page. Throws std::runtime_error iff they are none: another magic, another size, or numbers out
// of their ranges. Nothing outside of the bytes is read, whatever they say.
EnginePage engine_page_of(std::span<const std::byte> bytes, Moment moment);

// How many bytes a page has, by its first ones. Throws std::runtime_error iff they do not begin a page.
std::uint64_t bytes_of_page(std::span<const std::byte> begin);

// Bytes that suffice for `bytes_of_page`.
constexpr std::size_t page_begin = 4096;

} // namespace flat::cli
