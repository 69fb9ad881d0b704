// Which block of a process an address lies in, at a moment of its history.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace flat::audit {

struct LiveBlock {
    std::uint64_t start = 0, size = 0;
    std::uint64_t born = 0; // when the call that returned it ended
    std::uint32_t operation = 0, stack = 0;
};

/// Of one process. Blocks below a page are kept by the page that they begin in, larger ones in the order of addresses.
class LiveBlocks {
  public:
    void add(const LiveBlock &block);

    /// The block at `start` is gone since `begin`, when its free began. One that was born later is another, which the
    /// allocator has made of the same memory meanwhile.
    void remove(std::uint64_t start, std::uint64_t begin);

    std::optional<LiveBlock> at(std::uint64_t address) const;

  private:
    static constexpr unsigned page_bits = 12;
    static constexpr std::uint64_t page = 1U << page_bits;

    const LiveBlock *small_at(std::uint64_t number, std::uint64_t address) const;

    std::unordered_map<std::uint64_t, std::vector<LiveBlock>> small_; // by number of the page
    std::map<std::uint64_t, LiveBlock> large_;                        // by start
};

} // namespace flat::audit
