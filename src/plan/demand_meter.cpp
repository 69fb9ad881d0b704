#include "demand_meter.hpp"

#include "class_choice.hpp"

#include <algorithm>
#include <bit>

namespace flat::plan {
namespace {

std::uint64_t granules(std::uint64_t size) { return (size + FLAT_POOL_GRANULE - 1) / FLAT_POOL_GRANULE; }

std::uint64_t quarter_step(std::uint64_t size) {
    const std::uint64_t quarter = std::bit_ceil(size) / 8; // of the power of two below
    return quarter == 0 ? size : (size + quarter - 1) / quarter * quarter;
}

} // namespace

void DemandMeter::take(std::uint64_t size, std::uint64_t alignment) {
    Counts &counts = sizes_[granules(size)];
    counts.peak = std::max(counts.peak, ++counts.live);
    counts.alignment = std::max(counts.alignment, alignment);
    ++requests_;
    peak_blocks_ = std::max(peak_blocks_, ++blocks_);
    bytes_ += size;
    peak_bytes_ = std::max(peak_bytes_, bytes_);
    total_bytes_ +=
        granules(size) * FLAT_POOL_GRANULE + (alignment > FLAT_POOL_GRANULE ? alignment - FLAT_POOL_GRANULE : 0);
}

void DemandMeter::give(std::uint64_t size) {
    --sizes_[granules(size)].live;
    --blocks_;
    bytes_ -= size;
}

std::vector<DemandRow> DemandMeter::rows() const {
    std::vector<DemandRow> rows;
    for (const auto &[size, counts] : sizes_) rows.push_back({size * FLAT_POOL_GRANULE, counts.peak, counts.alignment});
    if (rows.size() > most_sizes)
        for (DemandRow &row : rows) row.size = quarter_step(row.size);
    return ordered(std::move(rows));
}

} // namespace flat::plan
