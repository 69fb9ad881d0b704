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
    control,    // empty calls: the harness itself
    unchecked,  // fast for want of every check: a control, never a rival
    general,    // a malloc
    fixed_pool, // a pool of equal blocks
};

std::string_view name_of(Kind kind);

/// Whether a backend of this kind can win a cell.
bool competes(Kind kind);

/// One allocator. Adding one is a row in catalogue.cpp, a file in src/bench/backends and a line in CMakeLists.txt; an
/// allocator that is a preloaded malloc needs the row alone, and a part of peers/build.sh where no package has it.
struct Backend {
    std::string_view name;
    std::string_view title;
    std::string_view column; // its head in the summary: at most 6 characters
    Kind kind;
    std::string_view driver;  // libexec/flatline/bench-<driver>
    std::string_view peer;    // built by Flatline: libexec/flatline/peers/lib<peer>.so; or empty
    std::string_view preload; // the SONAME of the system's library, which serves where none was built; or empty
    std::string_view library; // how the file name of the library that serves must begin, or empty: whichever it is
    std::string_view how;     // how it is had where it is missing
};

/// One piece of work, timed in one process: all its series come from the same run of the driver.
struct Cell {
    std::string_view suite;
    std::size_t size;       // bytes; 0 where the suite mixes them
    unsigned calls;         // calls timed together: 32, 1, or 0 where a whole phase is
    std::string_view order; // lifo, fifo or random; empty but in suite order
    std::size_t samples;    // of each series, in each process
};

/// In the order in which they are shown.
std::span<const Backend> backends();
std::span<const std::string_view> suites();
std::vector<Cell> cells();

/// nullptr iff there is none of that name.
const Backend *find_backend(std::string_view name);

/// "hot 64 B, single calls": what a message calls the cell.
std::string describe(const Cell &cell);

/// "12,345".
std::string grouped(std::uint64_t number);

/// "64 B", "1 KiB", "7 sizes".
std::string describe_size(std::size_t size);

} // namespace flat::bench
