// What a program requests: for each size, the most blocks that are live at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace flat::plan {

/// Blocks of one size. `alignment` is the largest requested for any of them.
struct DemandRow {
    std::uint64_t size = 0;  // bytes; at least 1
    std::uint64_t count = 0; // live at once
    std::uint64_t alignment = 1;
    bool operator==(const DemandRow &) const = default;
};

/// The most live blocks in all rows together. More are taken for a typing error: their pool would have 64 GiB at least.
/// Sums of counts times sizes that a pool can have therefore fit in 64 bits.
constexpr std::uint64_t most_live = std::uint64_t{1} << 32;

/// Bytes: more than an address space has. A demand that adds up to more is refused.
constexpr std::uint64_t most_bytes = std::uint64_t{PTRDIFF_MAX} / 2;

/// Sorts the rows by ascending size, and merges rows of equal size: their counts are added, and the larger alignment is
/// kept. Rows without a block are left out. Throws std::runtime_error iff a size is 0, an alignment is not a power of
/// two, there are more than most_live blocks, or their bytes add up to more than most_bytes.
std::vector<DemandRow> ordered(std::vector<DemandRow> rows);

/// The bytes that `rows`, which must be ordered, request.
std::uint64_t bytes_of(std::span<const DemandRow> rows);

} // namespace flat::plan
