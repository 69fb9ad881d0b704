// A pool before it is created: its footprint, its layout, and how a demand fits in it.
#pragma once

#include "demand.hpp"

#include <flatline/pool.h>

#include <cstddef>
#include <span>
#include <vector>

namespace flat::plan {

struct PlannedClass {
    flat_class declared;
    std::uint64_t size = 0;      // bytes of a block, rounded up
    std::uint64_t alignment = 0; // of every block's start
    std::uint64_t offset = 0;    // of its first block, from the start of the blocks
    std::uint64_t padding = 0;   // bytes left free before that
    std::uint64_t bytes() const { return size * declared.block_count; }
};

struct PoolPlan {
    std::vector<PlannedClass> classes; // ascending
    flat_footprint footprint{};
    std::uint64_t padding = 0; // of all classes
    std::uint64_t bytes() const { return footprint.metadata_bytes + footprint.block_bytes; }
    std::uint64_t blocks() const;
    /// The size of one buffer for both, at a multiple of the blocks' alignment: the blocks come first, the metadata at
    /// the next multiple of its own alignment.
    std::uint64_t buffer_bytes() const;
};

/// `classes` may be in any order. Throws std::runtime_error iff there is none, there are too many, one is out of its
/// range, two are rounded up to the same size, or the pool is too large.
PoolPlan plan_pool(std::vector<flat_class> classes);

/// The classes that shares of `bytes` bytes pay for, ascending; `shares` may be in any order. Throws std::runtime_error
/// iff flat_classes_from_shares refuses.
std::vector<flat_class> classes_from_shares(std::uint64_t bytes, std::vector<flat_share> shares);

/// How much of a class a demand takes.
struct Load {
    std::uint64_t live = 0;      // blocks that the demand takes
    std::uint64_t requested = 0; // bytes of them that were requested
};

/// A demand in a pool. All blocks of a row go to one class: the first that has room for its size and has its largest
/// alignment.
struct Fit {
    std::vector<Load> loads;         // one for each class
    std::vector<DemandRow> unserved; // rows that no class serves, whatever its block count
    std::uint64_t requested = 0;     // bytes requested, in the rows that are served
    std::uint64_t waste = 0;         // bytes of the blocks taken that were not requested
    std::vector<std::size_t> first;  // the classes that refuse first when the demand grows in proportion; ascending
    /// The greatest multiple of the demand that every class holds; 0 if no class serves one of the rows.
    double growth = 0;
    bool holds() const { return growth >= 1; }
};

/// `rows` must be ordered, with at least one row.
Fit fit(const PoolPlan &pool, std::span<const DemandRow> rows);

} // namespace flat::plan
