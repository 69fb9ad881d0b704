// Which size classes serve a demand in the fewest bytes.
#pragma once

#include "pool_plan.hpp"

#include <span>
#include <vector>

namespace flat::plan {

/// More sizes than this are refused: the work grows with their square, and a tracking file has about 330.
constexpr std::size_t most_sizes = 2048;

constexpr unsigned most_margin = 1000; // percent: eleven times the demand

/// The pool of least footprint with so many classes.
struct Choice {
    std::vector<flat_class> classes; // ascending
    std::uint64_t bytes = 0;         // its whole footprint
};

struct Choices {
    std::vector<Choice> by_count; // ascending by the number of classes; numbers that serve nothing better are there too
    std::size_t best = 0;         // of them: the fewest bytes, of equals the fewest classes
    std::vector<DemandRow> beyond; // rows that no pool serves: too large, aligned too far, or too many
};

/// What to have where `peak` was needed: so many percent more, rounded up. `peak` at most most_bytes / 16.
constexpr std::uint64_t with_margin(std::uint64_t peak, unsigned percent) {
    return peak + peak / 100 * percent + (peak % 100 * percent + 99) / 100;
}

/// For each number of classes from 1 to `most` the pool of least footprint, padding and metadata included, among those
/// in which every row goes whole to one class, a class is as large as its rows need (their largest size, rounded up to
/// their largest alignment), and has as many blocks as they come to with the margin. The rows of a class are added up
/// as if all of them reached their counts together. Exact, by dynamic programming: O(most * rows^2).
///
/// `rows` ordered. `best` is valid iff a row can be served. Throws std::runtime_error iff there are more than
/// most_sizes rows, or no pool can have all these blocks.
Choices choose_classes(std::span<const DemandRow> rows, unsigned margin_percent, std::size_t most);

/// The same class sizes with another margin: as many blocks as the rows come to. Throws std::runtime_error iff that is
/// more than a class or a pool can have.
PoolPlan with_other_margin(const PoolPlan &pool, std::span<const DemandRow> rows, unsigned margin_percent);

} // namespace flat::plan
