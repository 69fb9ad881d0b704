// Which size classes serve a demand in the fewest bytes.
#pragma once

#include "pool_plan.hpp"

#include <span>
#include <vector>

namespace flat::plan {

/// More sizes than this are refused: the work grows with their square, and a tracking file has about 330.
constexpr std::size_t most_sizes = 2048;

constexpr unsigned most_margin = 1000; // percent: eleven times the demand

/// The pool of least footprint for a given number of classes.
struct Choice {
    std::vector<flat_class> classes; // ascending
    std::uint64_t bytes = 0;         // its whole footprint
};

struct Choices {
    std::vector<Choice> by_count;  // ascending by the number of classes; includes numbers that improve nothing
    std::size_t best = 0;          // index of the one of fewest bytes, on a tie of fewest classes
    std::vector<DemandRow> beyond; // rows that no pool serves: too large, too strictly aligned, or too many
};

/// `peak` plus `percent` percent, rounded up. `peak` must be at most most_bytes / 16.
constexpr std::uint64_t with_margin(std::uint64_t peak, unsigned percent) {
    return peak + peak / 100 * percent + (peak % 100 * percent + 99) / 100;
}

/// Finds, for each number of classes from 1 to `most`, the pool of least footprint, padding and metadata included. All
/// blocks of a row go to one class. The block size of a class is the largest size of its rows, rounded up to their
/// largest alignment; its block count is the sum of theirs with the margin. The rows of a class are added up as if all
/// of them reached their counts together. Exact, by dynamic programming: O(most * rows^2).
///
/// `rows` must be ordered. `best` is valid iff a row can be served. Throws std::runtime_error iff there are more than
/// most_sizes rows, or no pool can have all these blocks.
Choices choose_classes(std::span<const DemandRow> rows, unsigned margin_percent, std::size_t most);

/// The same class sizes with another margin, and with as many blocks as the rows then need. Throws std::runtime_error
/// iff that is more than a class or a pool can have.
PoolPlan with_other_margin(const PoolPlan &pool, std::span<const DemandRow> rows, unsigned margin_percent);

} // namespace flat::plan
