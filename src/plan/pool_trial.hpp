// A plan put to the test: what was recorded runs again on a real pool in memory of exactly the planned footprint.
#pragma once

#include "class_meter.hpp"

#include <flatline/pool.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace flat::plan {

/// A pool in memory of exactly its footprint. Blocks are told by the caller's numbers, which should be small.
class PoolTrial {
  public:
    /// Throws std::runtime_error iff the memory cannot be mapped. If the pool itself refuses it, every take fails.
    /// `less_block_bytes`, `less_metadata_bytes`: by how much the memories are too small.
    explicit PoolTrial(const std::vector<flat_class> &classes, std::uint64_t less_block_bytes = 0,
                       std::uint64_t less_metadata_bytes = 0);
    ~PoolTrial();
    PoolTrial(const PoolTrial &) = delete;
    PoolTrial &operator=(const PoolTrial &) = delete;

    bool is_ready() const { return pool_ != nullptr; }
    /// False iff the pool refuses.
    bool take(std::uint32_t slot, std::uint64_t size, std::uint64_t alignment);
    void give(std::uint32_t slot);

  private:
    struct Memory {
        void *start = nullptr;
        std::uint64_t bytes = 0;
    };
    Memory blocks_memory_, metadata_memory_;
    flat_pool *pool_ = nullptr;
    std::vector<void *> blocks_; // by slot
};

/// What came of it.
struct Exactness {
    std::uint64_t allocations = 0, refused = 0;
    bool a_byte_less_is_refused = false; // of the blocks, and of the metadata: each refused when the pool is made
    /// The same pool with one block less of one class.
    struct BlockLess {
        std::uint64_t block_size = 0, block_count = 0; // of the class in the exact plan
        std::uint64_t refused_at = 0;                  // which allocation, from 1; 0: none
        bool refused_when_made = false;                // a class of no block
        bool is_refused() const { return refused_at > 0 || refused_when_made; }
    };
    std::vector<BlockLess> by_class;

    bool holds() const;
};

/// Runs all trials at once.
class ExactnessTrial {
  public:
    /// `planned` is what must suffice. `exact` is the least, of which no block may be missing: the planned classes
    /// without their margin. `meter` tells the class of a request.
    ExactnessTrial(const std::vector<flat_class> &planned, const std::vector<flat_class> &exact,
                   const ClassMeter &meter);
    ~ExactnessTrial();
    ExactnessTrial(const ExactnessTrial &) = delete;
    ExactnessTrial &operator=(const ExactnessTrial &) = delete;

    void take(std::uint32_t slot, std::uint64_t size, std::uint64_t alignment);
    void give(std::uint32_t slot, std::uint64_t size, std::uint64_t alignment);
    const Exactness &result() const { return result_; }

  private:
    const ClassMeter &meter_;
    std::unique_ptr<PoolTrial> whole_;
    std::vector<std::unique_ptr<PoolTrial>> less_; // by class; none once it has refused
    Exactness result_;
};

} // namespace flat::plan
