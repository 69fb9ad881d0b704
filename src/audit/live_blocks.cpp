#include "live_blocks.hpp"

#include <algorithm>

namespace flat::audit {
namespace {

constexpr std::size_t most_kinds = std::size_t{1} << 16; // of pages: their counts fit in a processor's cache

} // namespace

/// Where a page stands, or else the empty place at which it would. Four neighbours begin to look in one cache line.
inline std::size_t LiveBlocks::place_of(std::uint64_t number) const {
    const std::size_t mask = pages_.size() - 1;
    const std::uint64_t line = (number >> 2) * 0x9e3779b97f4a7c15u >> 32;
    std::size_t place = static_cast<std::size_t>(line << 2 | (number & 3)) & mask;
    while (pages_[place].number != number && pages_[place].number != 0) place = (place + 1) & mask;
    return place;
}

void LiveBlocks::grow() {
    std::vector<Page> before(pages_.empty() ? 64 : 2 * pages_.size());
    before.swap(pages_);
    pages_like_.assign(std::min(pages_.size(), most_kinds), 0);
    for (const Page &known : before) {
        if (known.number == 0) continue;
        pages_[place_of(known.number)] = known;
        if (known.questions != 0) pages_like(known.number)++;
    }
}

void LiveBlocks::expect(std::uint64_t address) {
    const std::uint64_t number = address >> page_bits;
    if (number == 0) return; // no block lies there
    if (page_count_ >= pages_.size() / 2) grow();
    Page &asked = pages_[place_of(number)];
    if (asked.number == 0) page_count_++;
    asked.number = number;
    if (asked.questions++ == 0) pages_like(number)++;
    questions_++;
}

/// A page about which questions are to come; none if there are none.
inline LiveBlocks::Page *LiveBlocks::expecting(std::uint64_t number) {
    if (pages_like(number) == 0) return nullptr;
    Page &known = pages_[place_of(number)];
    return known.questions != 0 ? &known : nullptr;
}

void LiveBlocks::put(Page &in, const LiveBlock &block) {
    for (std::uint32_t i = in.first; i != 0; i = nodes_[i].next) {
        if (nodes_[i].block.start != block.start) continue;
        nodes_[i].block = block; // its free was dropped
        return;
    }
    std::uint32_t node = free_node_;
    if (node == 0) {
        node = static_cast<std::uint32_t>(nodes_.size());
        nodes_.emplace_back();
    } else {
        free_node_ = nodes_[node].next;
    }
    nodes_[node] = {block, in.first};
    in.first = node;
}

void LiveBlocks::take(Page &from, std::uint64_t start, std::uint64_t begin) {
    for (std::uint32_t *link = &from.first; *link != 0; link = &nodes_[*link].next) {
        Node &node = nodes_[*link];
        if (node.block.start != start || node.block.born > begin) continue;
        const std::uint32_t gone = *link;
        *link = node.next;
        node.next = free_node_;
        free_node_ = gone;
        return;
    }
}

void LiveBlocks::forget(Page &all) {
    while (all.first != 0) {
        Node &node = nodes_[all.first];
        const std::uint32_t next = node.next;
        node.next = free_node_;
        free_node_ = all.first;
        all.first = next;
    }
}

void LiveBlocks::inherit(LiveBlocks &parent) {
    if (parent.pages_.empty()) return;
    larger_ = parent.larger_; // before the parent forgets them
    larger_by_start_ = parent.larger_by_start_;
    for (Page &mine : pages_) {
        Page *theirs = mine.questions != 0 ? parent.expecting(mine.number) : nullptr;
        if (theirs == nullptr) continue;
        for (std::uint32_t i = theirs->first; i != 0; i = parent.nodes_[i].next) put(mine, parent.nodes_[i].block);
        parent.answer(*theirs, std::min(mine.questions, theirs->questions));
    }
}

void LiveBlocks::clear() {
    for (Page &known : pages_) forget(known);
    larger_.clear();
    larger_by_start_ = {};
}

/// So many questions about a page are not to come any more.
void LiveBlocks::answer(Page &asked, std::uint32_t count) {
    questions_ -= count;
    asked.questions -= count;
    if (asked.questions == 0) {
        pages_like(asked.number)--;
        forget(asked);
    }
    if (questions_ > 0) return;
    larger_.clear();
    larger_by_start_ = {};
}

void LiveBlocks::add_there(const LiveBlock &block) {
    if (block.start == 0 || questions_ == 0) return;
    if (block.size >= page) {
        remove(block.start, UINT64_MAX); // of a smaller one, the free was dropped
        larger_.emplace(block.start, block);
        larger_like(block.start)++;
        return;
    }
    remove_larger(block.start, UINT64_MAX);
    const std::uint64_t first = block.start >> page_bits;
    const std::uint64_t last = (block.start + std::max<std::uint64_t>(block.size, 1) - 1) >> page_bits;
    for (std::uint64_t number = first; number <= last; number++)
        if (Page *in = expecting(number)) put(*in, block);
}

void LiveBlocks::remove_there(std::uint64_t start, std::uint64_t begin) {
    if (start == 0) return;
    const std::uint64_t number = start >> page_bits;
    for (const std::uint64_t in : {number, number + 1})
        if (Page *from = expecting(in)) take(*from, start, begin);
    remove_larger(start, begin);
}

void LiveBlocks::remove_larger(std::uint64_t start, std::uint64_t begin) {
    if (larger_like(start) == 0) return;
    const auto found = larger_.find(start);
    if (found == larger_.end() || found->second.born > begin) return;
    larger_.erase(found);
    larger_like(start)--;
}

std::optional<LiveBlock> LiveBlocks::at(std::uint64_t address) {
    if (pages_.empty()) return std::nullopt;
    std::optional<LiveBlock> found;
    const auto look_at = [&](const LiveBlock &block) {
        const bool inside = block.start <= address && address - block.start < std::max<std::uint64_t>(block.size, 1);
        if (inside && (!found || block.start > found->start)) found = block;
    };
    if (const auto after = larger_.upper_bound(address); after != larger_.begin()) look_at(std::prev(after)->second);
    Page *asked = expecting(address >> page_bits);
    if (asked == nullptr) return found;
    for (std::uint32_t i = asked->first; i != 0; i = nodes_[i].next) look_at(nodes_[i].block);
    answer(*asked, 1);
    return found;
}

} // namespace flat::audit
