// Makes random calls and keeps a map of the live blocks: none overlaps another, and each keeps its content until it is
// freed.
#include "core/environment.hpp"
#include "core/random_source.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <malloc.h>
#include <map>
#include <vector>

namespace {

using address = std::uintptr_t;

struct live_block {
    std::size_t size;
    unsigned char content;
};

class model {
  public:
    explicit model(std::uint64_t seed) : random_(seed) {}

    ~model() {
        while (!live_.empty()) release(live_.begin());
    }
    model(const model &) = delete;
    model &operator=(const model &) = delete;

    void step() {
        const std::uint64_t what = random_.below(100);
        if (live_.size() > most_) return release(any());
        if (what < 46 || live_.empty()) return add(malloc(next_size()), false, 1);
        if (what < 50) return add(calloc(1, next_size()), true, 1);
        if (what < 54) {
            const std::size_t alignment = std::size_t{1} << (3 + random_.below(15));
            return add(aligned_alloc(alignment, next_size()), false, alignment);
        }
        if (what < 92) return release(any());
        if (what < 98 || !random_.one_in(100)) return resize(any());
        most_ = 10 + static_cast<std::size_t>(random_.below(3000)); // the number of live blocks changes by whole spans
    }

  private:
    using place = std::map<address, live_block>::iterator;

    std::size_t next_size() {
        size_ = static_cast<std::size_t>(random_.one_in(200) ? random_.magnitude(std::size_t{6} << 20)
                                                             : random_.magnitude(40000));
        return size_;
    }

    place any() {
        const auto found =
            live_.lower_bound(live_.begin()->first + random_.below(live_.rbegin()->first - live_.begin()->first + 1));
        return found == live_.end() ? live_.begin() : found;
    }

    void write(void *block, std::size_t size) {
        const auto content = static_cast<unsigned char>(random_.next());
        std::memset(block, content, size);
        const auto start = reinterpret_cast<address>(block);
        const auto [at, is_new] = live_.emplace(start, live_block{size, content});
        ASSERT_TRUE(is_new);
        if (at != live_.begin()) {
            ASSERT_LE(std::prev(at)->first + std::prev(at)->second.size, start);
        }
        if (std::next(at) != live_.end()) {
            ASSERT_LE(start + size, std::next(at)->first);
        }
    }

    static bool holds(const void *block, std::size_t size, unsigned char content) {
        const auto *bytes = static_cast<const unsigned char *>(block);
        return bytes[0] == content && std::memcmp(bytes, bytes + 1, size - 1) == 0;
    }

    void add(void *block, bool zeroed, std::size_t alignment) {
        ASSERT_NE(block, nullptr);
        ASSERT_EQ(reinterpret_cast<address>(block) % alignment, 0U);
        ASSERT_GE(malloc_usable_size(block), size_);
        if (zeroed) {
            ASSERT_TRUE(holds(block, size_, 0));
        }
        write(block, size_);
    }

    void release(place at) {
        void *block = reinterpret_cast<void *>(at->first);
        EXPECT_TRUE(holds(block, at->second.size, at->second.content));
        live_.erase(at);
        free(block);
    }

    void resize(place at) {
        const live_block was = at->second;
        void *block = reinterpret_cast<void *>(at->first);
        live_.erase(at);
        const std::size_t size = random_.one_in(2) ? next_size() : 1 + was.size * (1 + random_.below(8)) / 4;
        block = realloc(block, size);
        ASSERT_NE(block, nullptr);
        ASSERT_TRUE(holds(block, was.size < size ? was.size : size, was.content));
        write(block, size);
    }

    test::random_source random_;
    std::map<address, live_block> live_;
    std::size_t size_ = 0, most_ = 1000;
};

TEST(malloc_model, random_calls_give_blocks_that_are_apart_and_keep_their_content) {
    for (std::uint64_t run = 0; run < 4; run++) {
        const std::uint64_t seed = test::seed() + run;
        SCOPED_TRACE(testing::Message() << "FLATLINE_TEST_SEED=" << seed);
        model m(seed);
        for (std::size_t i = 0; i < test::scaled(1000000); i++) {
            m.step();
            ASSERT_FALSE(testing::Test::HasFailure()) << "step " << i;
        }
    }
}

} // namespace
