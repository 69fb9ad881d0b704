// The catalogue of what can be timed: the suites' cells, and the allocators that are compared in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flat::bench {

enum class Kind {
    subject,    // what the project makes claims about
    again,      // the subject again: the A/A copy; no difference smaller than theirs counts
    control,    // empty calls: the harness itself; for containers the same work in plain arrays
    unchecked,  // fast because it checks nothing: a control, never a rival
    general,    // a malloc
    fixed_pool, // memory of a fixed size: a pool of equal blocks, or a heap in one region
    standard,   // from the C++ library: a resource of std::pmr
    drop_in,    // Flatline's malloc: it competes with the general ones, and the pool is not compared with it
    one_to_one, // a queue for a single submitter and a single consumer
    alternative // another design for a subject, which was measured and not taken: never a rival
};

std::string_view name_of(Kind kind);

/// Whether a backend of this kind can win a cell.
bool competes(Kind kind);

/// Whether it is Flatline's and compared with others: a subject, or its malloc under one of its policies.
bool is_ours(Kind kind);

/// The abilities of a backend, which decide where it is compared: bits of Backend::abilities and Cell::needs.
using Abilities = unsigned;
constexpr Abilities declared_sizes = 1;   // blocks of the sizes that were declared
constexpr Abilities any_size = 2;         // sizes between those declared
constexpr Abilities remote_free = 4;      // a free by a thread other than the one that allocated
constexpr Abilities containers = 8;       // memory for the standard containers
constexpr Abilities plain_arrays = 16;    // the same work as theirs, where arrays can do it too
constexpr Abilities several_threads = 32; // several threads at once, at least with blocks of their own
constexpr Abilities whole_process = 64;   // serves all of a process, including the start and end of its threads
constexpr Abilities busy_tasks = 128;     // carries tasks to a consumer that looks for them all the time
constexpr Abilities sleeping_tasks = 256; // carries tasks to a consumer that sleeps
constexpr Abilities bounded_tasks = 512;  // states beforehand how long a task can take

/// One allocator, or one queue of tasks for suite engine. To add one, add a row in catalogue.cpp, a file in
/// src/bench/backends and a line in CMakeLists.txt. An allocator that is a preloaded malloc needs only the row, and a
/// part of peers/build.sh if no package has it.
struct Backend {
    std::string_view name;
    std::string_view title;
    std::string_view column; // its head in the summary: at most 6 characters
    Kind kind;
    std::string_view driver;  // libexec/flatline/bench-<driver>, and in suite containers bench-containers-<driver>
    std::string_view peer;    // built by Flatline: libexec/flatline/peers/lib<peer>.so; or empty
    std::string_view preload; // the SONAME of the system's library, used if none was built; or empty
    std::string_view library; // the prefix that the serving library's file name must have; or empty: any
    std::string_view how;     // how to get it if it is missing
    Abilities abilities;
    std::string_view beside = "";   // the backend that its figures are compared with besides the mallocs': for a copy
                                    // the original, for a resource the one that it replaces; or empty
    std::string_view own = "";      // the file name of Flatline's own library that is preloaded; or empty
    std::string_view settings = ""; // an environment variable, NAME=VALUE, that it runs with; or empty
    bool in_quick = true;           // also runs if neither --full nor a suite's name nor its own asks for it
};

/// The unit of a figure. For a rate more is better, for all others less.
enum class Unit {
    ns,    // of a call, a pair or a request
    mops,  // millions of operations a second
    bytes, // of a block
    tasks, // millions of tasks a second
};

std::string_view name_of(Unit unit);

enum class Mode { quick, full };

struct Suite {
    std::string_view name;
    std::string_view description; // one line
    Unit unit;                    // of figures that are not timed call by call: those are in ns always
    bool in_quick;
    double usual_seconds;        // about how long a process takes; only a first value for the forecast
    std::string_view sizes = ""; // what a cell's size of 0 stands for
    bool is_series = false;      // samples are windows in the order of time, and their course is the result
    bool has_capacity = false;   // cells without a percentage measure the time of a request: see Cell::percent
    bool has_rounds = false;     // a round of the standard containers is timed, over several subjects
    bool has_tasks = false;      // tasks go from one thread to another; runs only by its name
};

/// One piece of work, timed in one process: all its series come from the same run of the driver.
struct Cell {
    std::string_view suite;
    std::size_t size;       // bytes; 0 where the suite mixes them
    unsigned calls;         // calls, or rounds, timed together: 32, 1, or 0 where a whole phase is
    std::string_view order; // the variant of the suite; empty if there is only one
    std::size_t samples;    // of each series, in each process
    std::size_t load = 0; // calls in a window of drift; blocks in startup, memory; pairs in new-delete, and in a batch
                          // of anysize; requests of a sample of arrivals; 0 elsewhere
    unsigned percent = 0; // in arrivals: requests are due at this share of the slowest backend's capacity, which then
                          // is the load; 0: the capacity is measured
    Abilities needs = declared_sizes;
    unsigned threads = 1; // in suites threads, pipeline and stalls: the number of threads, which then is the load
    bool is_long = false; // in a suite that runs by its name: --quick leaves it out
};

/// In the order in which they are shown.
std::span<const Backend> backends();
std::span<const Suite> suites();

/// The payload of tasks that arrive on a schedule: too large for a descriptor, as most are.
constexpr std::size_t overload_bytes = 256;

constexpr unsigned fewest_threads = 2, most_threads = 64;

/// `threads`: the numbers of threads for the suites threads and pipeline, each once. If empty, threads uses 2, 4 and 8,
/// and pipeline uses 2. Where every producer has a consumer of its own, odd numbers have no cell.
std::vector<Cell> cells(Mode mode, std::span<const unsigned> threads = {});

/// nullptr iff there is none of that name.
const Backend *find_backend(std::string_view name);

/// nullptr iff there is none of that name.
const Suite *find_suite(std::string_view name);

/// The suite of a cell of the catalogue.
const Suite &suite_of(const Cell &cell);

/// Whether a backend has a driver for suite containers; whether it has one for the other suites.
bool runs_containers(const Backend &backend);
bool runs_calls(const Backend &backend);

/// Whether it is a queue of tasks, and no allocator.
bool is_queue(const Backend &backend);

/// Whether the cell measures a capacity, of which the loads of others are a percentage.
bool is_capacity(const Cell &cell);

/// Whether the plan's bound on a sojourn is the cell's load.
bool is_overload(const Cell &cell);

/// Whether a backend can do the work of a cell. If not, it has no row there, and this is not a failure.
bool takes_part(const Backend &backend, const Cell &cell);

/// Calls of one kind that the suites with threads time together, without the clock in every call.
inline constexpr unsigned calls_together = 64;

/// "hot 64 B, single calls", "containers list, single rounds": the name of the cell in messages.
std::string describe(const Cell &cell);

/// "12,345".
std::string grouped(std::uint64_t number);

/// "64 B", "1 KiB"; if the size is 0, what the suite mixes, which may be empty.
std::string describe_size(std::string_view suite, std::size_t size);

} // namespace flat::bench
