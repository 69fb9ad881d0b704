// Which block of a process an address lies in, at a moment of its history.
#pragma once

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

/// Of one process. Blocks are added and removed far more often than an address is looked up: those below a page stand
/// in a hash table by their start, in which a look-up tries each address at which such a block can begin; larger ones
/// in the order of addresses.
class LiveBlocks {
  public:
    void add(const LiveBlock &block);

    /// The block at `start` is gone since `begin`, when its free began. One that was born later is another, which the
    /// allocator has made of the same memory meanwhile.
    void remove(std::uint64_t start, std::uint64_t begin);

    /// At most 512 places of the table are tried.
    std::optional<LiveBlock> at(std::uint64_t address) const;

  private:
    static constexpr std::uint64_t page = 4096, granule = 8; // allocators align to 8 bytes at least

    std::size_t place_of(std::uint64_t start) const;
    void grow();
    void close_gap(std::size_t gap);

    std::vector<LiveBlock> small_ = std::vector<LiveBlock>(1024); // `start` 0: empty; a power of two, at most half full
    std::size_t small_count_ = 0;
    std::map<std::uint64_t, LiveBlock> large_; // by start
};

} // namespace flat::audit
