#include "live_blocks.hpp"

#include <algorithm>

namespace flat::audit {

void LiveBlocks::add(const LiveBlock &block) {
    if (block.start == 0) return;
    if (block.size >= page) {
        remove(block.start, UINT64_MAX); // a smaller one, if its free was dropped
        large_.emplace(block.start, block);
        return;
    }
    std::vector<LiveBlock> &here = small_[block.start >> page_bits];
    const auto same = std::find_if(here.begin(), here.end(), [&](auto &other) { return other.start == block.start; });
    if (same == here.end())
        here.push_back(block);
    else
        *same = block;
}

void LiveBlocks::remove(std::uint64_t start, std::uint64_t begin) {
    if (const auto found = large_.find(start); found != large_.end() && found->second.born <= begin)
        large_.erase(found);
    const auto found = small_.find(start >> page_bits);
    if (found == small_.end()) return;
    std::vector<LiveBlock> &here = found->second;
    const auto block = std::find_if(here.begin(), here.end(), [&](auto &other) { return other.start == start; });
    if (block == here.end() || block->born > begin) return;
    *block = here.back();
    here.pop_back();
    if (here.empty()) small_.erase(found);
}

const LiveBlock *LiveBlocks::small_at(std::uint64_t number, std::uint64_t address) const {
    const auto found = small_.find(number);
    if (found == small_.end()) return nullptr;
    for (const LiveBlock &block : found->second)
        if (address - block.start < std::max<std::uint64_t>(block.size, 1)) return &block;
    return nullptr;
}

std::optional<LiveBlock> LiveBlocks::at(std::uint64_t address) const {
    const std::uint64_t number = address >> page_bits;
    for (const std::uint64_t i : {number, number - 1})
        if (const LiveBlock *block = small_at(i, address)) return *block;
    auto after = large_.upper_bound(address);
    if (after == large_.begin()) return std::nullopt;
    const LiveBlock &block = std::prev(after)->second;
    if (address - block.start < block.size) return block;
    return std::nullopt;
}

} // namespace flat::audit
