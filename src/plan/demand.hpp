// What a program asks for, by size: how many blocks of each are live at once at most.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace flat::plan {

/// Blocks of one size. `alignment` is the largest that was asked for among them.
struct DemandRow {
    std::uint64_t size = 0;  // bytes; at least 1
    std::uint64_t count = 0; // live at once
    std::uint64_t alignment = 1;
    bool operator==(const DemandRow &) const = default;
};

/// More live blocks than this in all rows together are taken for a slip of the pen: a pool of them has 64 GiB at least.
/// Sums of counts times sizes that a pool can have therefore fit in 64 bits.
constexpr std::uint64_t most_live = std::uint64_t{1} << 32;

/// Bytes: more than an address space has. Requests that come to more are refused.
constexpr std::uint64_t most_bytes = std::uint64_t{PTRDIFF_MAX} / 2;

/// Ascending by size, one row for each size: of equal sizes the counts are added, and the larger alignment stays; rows
/// without a block are left out. Throws std::runtime_error iff a size is 0, an alignment is not a power of two, there
/// are more than most_live blocks, or their bytes come to more than most_bytes.
std::vector<DemandRow> ordered(std::vector<DemandRow> rows);

/// The bytes that `rows`, which are ordered, ask for.
std::uint64_t bytes_of(std::span<const DemandRow> rows);

} // namespace flat::plan
