// What the laboratory can time: the suites' cells, and the allocators that are compared in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flat::bench {

enum class Kind {
    subject,    // what the project claims something about
    again,      // the subject once more: the A/A copy, no difference smaller than theirs means anything
    control,    // empty calls: the harness itself; for containers the same work in plain arrays
    unchecked,  // fast for want of every check: a control, never a rival
    general,    // a malloc
    fixed_pool, // memory of a fixed size: a pool of equal blocks, or a heap in one region
    standard,   // what the C++ library brings: a resource of std::pmr
    drop_in,    // Flatline's malloc: it competes with the general ones, and the pool is not held against it
};

std::string_view name_of(Kind kind);

/// Whether a backend of this kind can win a cell.
bool competes(Kind kind);

/// Whether it is Flatline's, and held against others: a subject, or its malloc under one of its policies.
bool is_ours(Kind kind);

/// What a backend can do, and is compared in: bits of Backend::abilities and Cell::needs.
using Abilities = unsigned;
constexpr Abilities declared_sizes = 1;   // blocks of the sizes that were declared
constexpr Abilities any_size = 2;         // sizes between those declared
constexpr Abilities remote_free = 4;      // a free by another thread than allocated
constexpr Abilities containers = 8;       // memory for the standard containers
constexpr Abilities plain_arrays = 16;    // the same work as theirs, where arrays can do it too
constexpr Abilities several_threads = 32; // several threads at once, each with blocks of its own at least
constexpr Abilities whole_process = 64;   // serves all that a process does, its threads' beginning and end included

/// One allocator. Adding one is a row in catalogue.cpp, a file in src/bench/backends and a line in CMakeLists.txt; an
/// allocator that is a preloaded malloc needs the row alone, and a part of peers/build.sh where no package has it.
struct Backend {
    std::string_view name;
    std::string_view title;
    std::string_view column; // its head in the summary: at most 6 characters
    Kind kind;
    std::string_view driver;  // libexec/flatline/bench-<driver>, and in suite containers bench-containers-<driver>
    std::string_view peer;    // built by Flatline: libexec/flatline/peers/lib<peer>.so; or empty
    std::string_view preload; // the SONAME of the system's library, which serves where none was built; or empty
    std::string_view library; // how the file name of the library that serves must begin, or empty: whichever it is
    std::string_view how;     // how it is had where it is missing
    Abilities abilities;
    std::string_view beside = "";   // the backend that its figures are held against besides the mallocs': of a copy the
                                    // original, of a resource the one whose place it takes; or empty
    std::string_view own = "";      // the file name of Flatline's own library that is preloaded; or empty
    std::string_view settings = ""; // a variable of the environment, NAME=VALUE, in which it runs; or empty
    bool in_quick = true;           // also where neither --full nor a suite's name nor its own asks for it
};

/// What a figure is. Of a rate more is better, of all else less.
enum class Unit {
    ns,    // of a call, a pair or a request
    mops,  // millions of operations a second
    bytes, // of a block
};

std::string_view name_of(Unit unit);

enum class Mode { quick, full };

struct Suite {
    std::string_view name;
    std::string_view description; // one line
    Unit unit;                    // of what is not timed call by call: that is in ns always
    bool in_quick;
    double usual_seconds;        // a process takes about so long; only for a forecast to begin with
    std::string_view sizes = ""; // what a cell's size of 0 stands for
    bool is_series = false;      // samples are windows in the order of time, whose course is what it is about
    bool has_capacity = false;   // cells without a percentage measure what a request takes: see Cell::percent
    bool has_rounds = false;     // what is timed is a round of the standard containers, over several subjects
};

/// One piece of work, timed in one process: all its series come from the same run of the driver.
struct Cell {
    std::string_view suite;
    std::size_t size;       // bytes; 0 where the suite mixes them
    unsigned calls;         // calls, or rounds, timed together: 32, 1, or 0 where a whole phase is
    std::string_view order; // which variant of the suite; empty where there is but one
    std::size_t samples;    // of each series, in each process
    std::size_t load = 0; // calls in a window of drift; blocks in startup, memory; pairs in new-delete, and in a batch
                          // of anysize; requests of a sample of arrivals; 0 elsewhere
    unsigned percent = 0; // in arrivals: requests are due at this share of the slowest backend's capacity, which then
                          // is the load; 0: the capacity is what is measured
    Abilities needs = declared_sizes;
    unsigned threads = 1; // in suites threads, pipeline and stalls: how many, which then is the load
};

/// In the order in which they are shown.
std::span<const Backend> backends();
std::span<const Suite> suites();

constexpr unsigned fewest_threads = 2, most_threads = 64;

/// `threads`: of how many suites threads and pipeline are, each number once; none: threads of 2, 4 and 8, and pipeline
/// of
/// 2. Where every producer has a consumer of its own there is no cell of an odd number.
std::vector<Cell> cells(Mode mode, std::span<const unsigned> threads = {});

/// nullptr iff there is none of that name.
const Backend *find_backend(std::string_view name);

/// nullptr iff there is none of that name.
const Suite *find_suite(std::string_view name);

/// Of a cell of the catalogue.
const Suite &suite_of(const Cell &cell);

/// Whether a backend's driver for suite containers is there to be run; whether one for the others is.
bool runs_containers(const Backend &backend);
bool runs_calls(const Backend &backend);

/// Whether a backend can do the work of a cell; where not it has no row there, and no failure either.
bool takes_part(const Backend &backend, const Cell &cell);

/// Of one kind, which threads make together without the clock in every call.
inline constexpr unsigned calls_together = 64;

/// "hot 64 B, single calls", "containers list, single rounds": what a message calls the cell.
std::string describe(const Cell &cell);

/// "12,345".
std::string grouped(std::uint64_t number);

/// "64 B", "1 KiB"; what the suite mixes where the size is 0, which may be nothing to tell.
std::string describe_size(std::string_view suite, std::size_t size);

} // namespace flat::bench
