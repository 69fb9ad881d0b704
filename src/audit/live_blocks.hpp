// Which block of a process an address lies in, at a moment of its history.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace flat::audit {

struct LiveBlock {
    std::uint64_t start = 0, size = 0;
    std::uint64_t born = 0; // when the call that returned it ended
    std::uint32_t operation = 0, stack = 0;
};

/// Of one process. Each question is announced before the first block comes, since blocks are added and removed far more
/// often than an address is asked for: of blocks below a page only those are kept that lie in a page about which
/// questions are still to come.
class LiveBlocks {
  public:
    /// `at(address)` will be asked, once for each time that this is called.
    void expect(std::uint64_t address);

    /// Takes over the parent's blocks, as a process that was forked does. The questions about this one's must have been
    /// announced to the parent as well: there they are not to come any more.
    void inherit(LiveBlocks &parent);

    /// All blocks are gone.
    void clear();

    void add(const LiveBlock &block) {
        if (block.size >= page || concerns(block.start)) add_there(block);
    }

    /// The block at `start` is gone since `begin`, when its free began. One that was born later is another, which the
    /// allocator has made of the same memory meanwhile.
    void remove(std::uint64_t start, std::uint64_t begin) {
        if (concerns(start)) remove_there(start, begin);
    }

    /// At most 512 blocks that lie in the address's page are looked at, if none was added twice.
    std::optional<LiveBlock> at(std::uint64_t address);

  private:
    static constexpr std::uint64_t page_bits = 12, page = 1 << page_bits;

    /// Number 0: an empty place.
    struct Page {
        std::uint64_t number = 0;
        std::uint32_t questions = 0; // to come
        std::uint32_t first = 0;     // of its blocks: an index in nodes_, 0: none
    };
    struct Node {
        LiveBlock block;
        std::uint32_t next = 0;
    };

    /// Whether a block of less than a page may lie where a question is to come, or a larger one begins there.
    bool concerns(std::uint64_t start) {
        const std::uint64_t number = start >> page_bits;
        return questions_ != 0 && (pages_like(number) | pages_like(number + 1) | larger_like(start)) != 0;
    }
    void add_there(const LiveBlock &block);
    void remove_there(std::uint64_t start, std::uint64_t begin);
    std::size_t place_of(std::uint64_t number) const;
    void grow();
    std::uint16_t &pages_like(std::uint64_t number) { return pages_like_[number & (pages_like_.size() - 1)]; }
    Page *expecting(std::uint64_t number);
    void put(Page &in, const LiveBlock &block);
    void take(Page &from, std::uint64_t start, std::uint64_t begin);
    void forget(Page &all);
    void answer(Page &asked, std::uint32_t count);
    std::uint16_t &larger_like(std::uint64_t start) { return larger_by_start_[start >> page_bits & (page - 1)]; }
    void remove_larger(std::uint64_t start, std::uint64_t begin);

    std::vector<Page> pages_; // a hash table: a power of two, at most half full
    std::size_t page_count_ = 0;
    std::vector<std::uint16_t> pages_like_;             // how many with questions to come, by some bits of the number
    std::uint64_t questions_ = 0;                       // to come, in all pages
    std::vector<Node> nodes_ = {{}};                    // the first one is none
    std::uint32_t free_node_ = 0;                       // the first of those that are in no page; 0: none
    std::map<std::uint64_t, LiveBlock> larger_;         // of a page and more, by start
    std::array<std::uint16_t, page> larger_by_start_{}; // how many of them, by some bits of the start
};

} // namespace flat::audit
