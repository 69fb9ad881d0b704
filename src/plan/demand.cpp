#include "demand.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include <fmt/format.h>

namespace flat::plan {
namespace {

void require_legal(const std::vector<DemandRow> &rows) {
    std::uint64_t live = 0, total = 0;
    for (const DemandRow &row : rows) {
        if (row.size == 0) throw std::runtime_error("a size of 0 bytes: write 1, since size 0 is served as size 1");
        if (!std::has_single_bit(row.alignment))
            throw std::runtime_error(
                fmt::format("alignment {} of {} bytes: give a power of two", row.alignment, row.size));
        std::uint64_t bytes = 0;
        if (__builtin_add_overflow(live, row.count, &live) || live > most_live)
            throw std::runtime_error(
                fmt::format("more than {} live blocks, with the {} of {} bytes: give the blocks that are live at once",
                            most_live, row.count, row.size));
        if (__builtin_mul_overflow(row.size, row.count, &bytes) || __builtin_add_overflow(total, bytes, &total) ||
            total > most_bytes)
            throw std::runtime_error(fmt::format("more bytes than an address space has, with the {} blocks of {} "
                                                 "bytes: give the blocks that are live at once",
                                                 row.count, row.size));
    }
}

} // namespace

std::vector<DemandRow> ordered(std::vector<DemandRow> rows) {
    std::erase_if(rows, [](const DemandRow &row) { return row.count == 0; });
    require_legal(rows);
    std::ranges::sort(rows, {}, &DemandRow::size);
    std::vector<DemandRow> merged;
    for (const DemandRow &row : rows) {
        if (merged.empty() || merged.back().size != row.size) {
            merged.push_back(row);
        } else {
            merged.back().count += row.count;
            merged.back().alignment = std::max(merged.back().alignment, row.alignment);
        }
    }
    return merged;
}

std::uint64_t bytes_of(std::span<const DemandRow> rows) {
    std::uint64_t total = 0;
    for (const DemandRow &row : rows) total += row.size * row.count;
    return total;
}

} // namespace flat::plan
