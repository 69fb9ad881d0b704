// Memories for something that is initialised in metadata and blocks of the caller's: with room to be misplaced, and
// what init makes of them.
#ifndef FLATLINE_TESTS_CORE_PLACING_HPP
#define FLATLINE_TESTS_CORE_PLACING_HPP

#include "core/mapping.hpp"

#include <flatline/memory.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace test {

template <class Handle, class Options, auto Init, auto Destroy> class placing {
  public:
    placing(const Options &options, flat_footprint footprint) : need(footprint), options_(options) {}

    flat_footprint need;
    mapping metadata{need.metadata_bytes + 4096, 4096}, blocks{need.block_bytes + 8192, 4096};

    flat_status init(flat_memory metadata_memory, flat_memory blocks_memory) {
        std::memset(metadata.start(), 0x5a, metadata.size());
        std::memset(blocks.start(), 0x5a, blocks.size());
        Handle *made = reinterpret_cast<Handle *>(this);
        const flat_status status = Init(&made, &options_, metadata_memory, blocks_memory);
        if (status == FLAT_OK) {
            Destroy(made);
        } else {
            EXPECT_EQ(made, nullptr);
            EXPECT_TRUE(is_untouched(metadata)) << "a refused init wrote to the metadata";
        }
        EXPECT_TRUE(is_untouched(blocks)) << "init wrote to a block";
        return status;
    }
    flat_memory exact_metadata() const { return {metadata.start(), need.metadata_bytes}; }
    flat_memory exact_blocks() const { return {blocks.start(), need.block_bytes}; }

  private:
    static bool is_untouched(const mapping &memory) {
        return std::all_of(memory.start(), memory.start() + memory.size(), [](char c) { return c == 0x5a; });
    }

    Options options_;
};

} // namespace test

#endif
