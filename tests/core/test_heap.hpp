// A heap in exactly the memory that its footprint asks for.
#ifndef FLATLINE_TESTS_CORE_TEST_HEAP_HPP
#define FLATLINE_TESTS_CORE_TEST_HEAP_HPP

#include "core/mapping.hpp"

#include <flatline/heap.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace test {

inline constexpr std::size_t heap_cell = 512; // bytes: the smallest piece that is not divided into slots

class test_heap {
  public:
    // `protection` applies to the blocks: PROT_NONE if the heap must not touch them. They start at a multiple of
    // `alignment`, but of no larger power of two unless the address space ends there.
    explicit test_heap(std::size_t bytes, int protection = PROT_NONE, std::size_t alignment = heap_cell)
        : bytes_(bytes) {
        if (flat_heap_footprint(bytes, &footprint_) != FLAT_OK) throw std::runtime_error("no footprint");
        metadata_ = std::make_unique<mapping>(footprint_.metadata_bytes, footprint_.metadata_alignment);
        blocks_ = std::make_unique<mapping>(footprint_.block_bytes + alignment, 2 * alignment, protection);
        start_ = blocks_->start() + alignment;
        start_again();
    }
    test_heap(const test_heap &) = delete;
    test_heap &operator=(const test_heap &) = delete;
    ~test_heap() { flat_heap_destroy(heap_); }

    // Creates a new heap in the same memory.
    void start_again() {
        flat_heap_destroy(heap_);
        if (flat_heap_init(&heap_, metadata_->memory(), blocks()) != FLAT_OK) {
            throw std::runtime_error("no heap in exactly its footprint");
        }
    }

    operator flat_heap *() const { return heap_; }
    const flat_footprint &footprint() const { return footprint_; }
    const mapping &metadata() const { return *metadata_; }
    flat_memory blocks() const { return {start_, bytes_}; }
    char *start() const { return start_; }

    flat_heap_stats stats() const {
        flat_heap_stats stats;
        flat_heap_get_stats(heap_, &stats);
        return stats;
    }

    // The heap's whole state. Restoring it returns the heap to that moment.
    std::vector<char> state() const { return {metadata_->start(), metadata_->start() + metadata_->size()}; }
    void restore(const std::vector<char> &state) { std::copy(state.begin(), state.end(), metadata_->start()); }

  private:
    std::size_t bytes_;
    flat_footprint footprint_{};
    std::unique_ptr<mapping> metadata_, blocks_;
    char *start_ = nullptr;
    flat_heap *heap_ = nullptr;
};

// The size of the block that serves `size` bytes.
inline std::size_t heap_block_size(std::size_t size) {
    std::size_t block = FLAT_HEAP_GRANULE;
    while (block < size) block *= 2;
    return block;
}

// The free pieces of an empty heap of `bytes`: a power of two for each set bit of its number of cells, largest first.
inline std::vector<std::size_t> heap_pieces(std::size_t bytes) {
    std::vector<std::size_t> pieces;
    for (std::size_t size = std::size_t{1} << 40; size >= heap_cell; size /= 2) {
        if ((bytes & size) != 0) pieces.push_back(size);
    }
    return pieces;
}

// The address and size of every live block, in ascending order.
inline std::vector<std::pair<std::uintptr_t, std::size_t>> heap_live(const flat_heap *heap) {
    std::vector<std::pair<std::uintptr_t, std::size_t>> met;
    flat_heap_visit(
        heap,
        [](void *context, void *block, std::size_t size) {
            static_cast<decltype(met) *>(context)->emplace_back(reinterpret_cast<std::uintptr_t>(block), size);
        },
        &met);
    return met;
}

} // namespace test

#endif
