#include "live_blocks.hpp"

#include <algorithm>

namespace flat::audit {
namespace {

std::size_t home_of(std::uint64_t start, std::size_t places) {
    return static_cast<std::size_t>((start >> 3) * 0x9e3779b97f4a7c15u >> 20) & (places - 1);
}

} // namespace

/// Where the block at `start` stands, or else the empty place at which it would.
std::size_t LiveBlocks::place_of(std::uint64_t start) const {
    std::size_t place = home_of(start, small_.size());
    while (small_[place].start != start && small_[place].start != 0) place = (place + 1) & (small_.size() - 1);
    return place;
}

void LiveBlocks::grow() {
    std::vector<LiveBlock> before(2 * small_.size());
    before.swap(small_);
    for (const LiveBlock &block : before)
        if (block.start != 0) small_[place_of(block.start)] = block;
}

/// Moves back what stands behind a gap and would not be found across it.
void LiveBlocks::close_gap(std::size_t gap) {
    const std::size_t mask = small_.size() - 1;
    for (std::size_t place = (gap + 1) & mask; small_[place].start != 0; place = (place + 1) & mask) {
        const std::size_t home = home_of(small_[place].start, small_.size());
        if (((place - home) & mask) < ((place - gap) & mask)) continue;
        small_[gap] = small_[place];
        gap = place;
    }
    small_[gap] = {};
}

void LiveBlocks::add(const LiveBlock &block) {
    if (block.start == 0) return;
    if (block.size >= page) {
        remove(block.start, UINT64_MAX); // a smaller one, if its free was dropped
        large_.emplace(block.start, block);
        return;
    }
    if (!large_.empty()) large_.erase(block.start); // if its free was dropped
    std::size_t place = place_of(block.start);
    if (small_[place].start == 0 && ++small_count_ > small_.size() / 2) {
        grow();
        place = place_of(block.start);
    }
    small_[place] = block;
}

void LiveBlocks::remove(std::uint64_t start, std::uint64_t begin) {
    if (start == 0) return;
    const std::size_t place = place_of(start);
    if (small_[place].start == start && small_[place].born <= begin) {
        small_count_--;
        close_gap(place);
        return;
    }
    if (const auto found = large_.find(start); found != large_.end() && found->second.born <= begin)
        large_.erase(found);
}

std::optional<LiveBlock> LiveBlocks::at(std::uint64_t address) const {
    const std::uint64_t first = address & ~(granule - 1);
    for (std::uint64_t start = first; start != 0 && address - start < page; start -= granule) {
        const LiveBlock &block = small_[place_of(start)];
        if (block.start == start && address - start < std::max<std::uint64_t>(block.size, 1)) return block;
    }
    auto after = large_.upper_bound(address);
    if (after == large_.begin()) return std::nullopt;
    const LiveBlock &block = std::prev(after)->second;
    if (address - block.start < block.size) return block;
    return std::nullopt;
}

} // namespace flat::audit
