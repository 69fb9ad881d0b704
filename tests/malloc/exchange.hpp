// A load that mixes threads: each puts blocks where others find and free them.
#ifndef FLATLINE_TESTS_MALLOC_EXCHANGE_HPP
#define FLATLINE_TESTS_MALLOC_EXCHANGE_HPP

#include "core/random_source.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace test {

// A block's header. `content` fills the rest of the block, and must be read back unchanged.
struct stamped {
    std::uint32_t size;
    unsigned char content;

    [[nodiscard]] bool is_whole() const {
        const auto *bytes = reinterpret_cast<const unsigned char *>(this);
        for (std::size_t i = sizeof *this; i < size; i++) {
            if (bytes[i] != content) return false;
        }
        return true;
    }
};

inline stamped *make(random_source &random, std::uint64_t most) {
    const std::uint64_t size =
        sizeof(stamped) + (random.one_in(500) ? random.magnitude(150 * most) : random.magnitude(most));
    auto *block = static_cast<stamped *>(malloc(size));
    if (block == nullptr) return nullptr;
    block->size = static_cast<std::uint32_t>(size);
    block->content = static_cast<unsigned char>(random.next());
    std::memset(reinterpret_cast<char *>(block) + sizeof(stamped), block->content, size - sizeof(stamped));
    return block;
}

using places = std::array<std::atomic<stamped *>, 1024>;

// Puts blocks where others find them, and frees what it finds. Nearly all blocks have at most `most` bytes. Returns the
// number of corrupted blocks.
inline std::size_t exchange(places &at, std::uint64_t seed, std::size_t steps, std::uint64_t most = 20000) {
    random_source random(seed);
    std::size_t spoilt = 0;
    for (std::size_t i = 0; i < steps; i++) {
        stamped *found = at[random.below(at.size())].exchange(random.one_in(4) ? nullptr : make(random, most));
        if (found == nullptr) continue;
        if (!found->is_whole()) spoilt++;
        if (random.one_in(8))
            found = static_cast<stamped *>(realloc(found, sizeof(stamped) + random.below(most * 3 / 2)));
        free(found);
    }
    return spoilt;
}

inline void empty(places &at) {
    for (auto &place : at) free(place.exchange(nullptr));
}

} // namespace test

#endif
