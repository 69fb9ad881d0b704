// pool_trim.c: pages that hold no live block go back to the system, and nothing else changes.
#include "core/environment.hpp"
#include "core/random_source.hpp"
#include "os/huge_pages.hpp"
#include "os/system_memory.hpp"
#include "os/test_region.hpp"

#include <flatline/pool.h>
#include <flatline/region.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <sys/mman.h>
#include <vector>

namespace {

const flat_region_options lazily = test::options_with([](flat_region_options &o) {
    o.lazy = true;
    o.allowed_pages = FLAT_PAGES_SMALL; // so that a page that is touched is one page
});

class lazy_pool {
  public:
    explicit lazy_pool(std::vector<flat_class> classes, flat_region_options region = lazily) {
        flat_pool_options options{};
        options.classes = classes.data();
        options.class_count = classes.size();
        status = flat_pool_create(&pool_, &options, &region);
    }
    lazy_pool(const lazy_pool &) = delete;
    lazy_pool &operator=(const lazy_pool &) = delete;
    ~lazy_pool() { flat_pool_destroy(pool_); }
    operator flat_pool *() const { return pool_; }

    char *alloc(std::size_t size) {
        char *const block = static_cast<char *>(flat_pool_alloc(pool_, size));
        if (block != nullptr) std::memset(block, 'x', size);
        return block;
    }
    std::size_t resident() const {
        const flat_region &region = *flat_pool_region(pool_);
        return test::resident_pages(region.start, region.size) * test::page_size();
    }
    std::size_t trim() {
        std::size_t returned = SIZE_MAX;
        EXPECT_EQ(flat_pool_trim(pool_, &returned), FLAT_OK);
        return returned;
    }
    flat_status status;

  private:
    flat_pool *pool_ = nullptr;
};

// An emulator may refuse the advice, or say yes and keep every page.
bool pages_can_be_given_back(bool shared) {
    flat_region_options options = lazily;
    options.shared = shared;
    const test::test_region of(65536, 4096, options);
    of.start()[0] = 1;
    return madvise(of.start(), 4096, shared ? MADV_REMOVE : MADV_DONTNEED) == 0 &&
           test::resident_pages(of.start(), 4096) == 0;
}

class pool_trim : public testing::TestWithParam<bool> {
  protected:
    void SetUp() override {
        if (!pages_can_be_given_back(GetParam())) GTEST_SKIP() << "this system takes no pages back";
        region.shared = GetParam();
    }
    flat_region_options region = lazily;
};

} // namespace

TEST_P(pool_trim, gives_back_all_of_an_empty_pool_and_counts_it) {
    lazy_pool pool({{4096, 100}}, region);
    std::vector<char *> blocks;
    for (int i = 0; i < 40; i++) blocks.push_back(pool.alloc(4096));
    EXPECT_EQ(pool.trim(), 0u) << "every page that is there holds a live block";
    EXPECT_EQ(pool.resident(), 40u * 4096);
    for (char *block : blocks) EXPECT_EQ(flat_pool_free(pool, block), FLAT_OK);
    EXPECT_EQ(pool.trim(), 40u * 4096);
    EXPECT_EQ(pool.resident(), 0u);
    EXPECT_EQ(pool.trim(), 0u) << "nothing is left to give back";
}

TEST_P(pool_trim, blocks_stay_usable) {
    lazy_pool pool({{4096, 10}}, region);
    std::vector<char *> blocks;
    for (int i = 0; i < 10; i++) blocks.push_back(pool.alloc(4096));
    for (char *block : blocks) EXPECT_EQ(flat_pool_free(pool, block), FLAT_OK);
    EXPECT_EQ(pool.trim(), 10u * 4096);
    EXPECT_EQ(flat_pool_check(pool), FLAT_OK);
    EXPECT_EQ(flat_pool_free(pool, blocks[3]), FLAT_DOUBLE_FREE);
    std::vector<char *> again;
    for (int i = 0; i < 10; i++) again.push_back(pool.alloc(4096));
    EXPECT_EQ(flat_pool_alloc(pool, 4096), nullptr);
    std::reverse(again.begin(), again.end());
    EXPECT_EQ(again, blocks) << "the order of reuse is what it would have been";
}

TEST_P(pool_trim, a_live_block_keeps_its_page_and_no_other) {
    lazy_pool pool({{64, 64 * 10}}, region); // 64 blocks a page
    std::vector<char *> blocks;
    for (int i = 0; i < 640; i++) blocks.push_back(pool.alloc(64));
    for (int i = 0; i < 640; i++) {
        if (i != 64 * 4 - 1 && i != 64 * 7) {
            EXPECT_EQ(flat_pool_free(pool, blocks[static_cast<size_t>(i)]), FLAT_OK);
        }
    }
    EXPECT_EQ(pool.trim(), 8u * 4096);
    EXPECT_EQ(test::resident_pages(blocks[64 * 3], 1), 1u);
    EXPECT_EQ(test::resident_pages(blocks[64 * 7], 1), 1u);
    EXPECT_EQ(blocks[64 * 4 - 1][63], 'x');
    EXPECT_EQ(blocks[64 * 7][0], 'x');
}

TEST_P(pool_trim, of_blocks_across_pages_keeps_every_page_they_touch) {
    lazy_pool pool({{6000 / 16 * 16, 30}}, region);
    std::vector<char *> blocks;
    for (int i = 0; i < 30; i++) blocks.push_back(pool.alloc(5999 / 16 * 16));
    for (std::size_t i = 0; i < 30; i += 2) EXPECT_EQ(flat_pool_free(pool, blocks[i]), FLAT_OK);
    std::set<std::uintptr_t> needed;
    for (std::size_t i = 1; i < 30; i += 2) {
        const std::uintptr_t first = test::address_of(blocks[i]) / 4096;
        const std::uintptr_t last = (test::address_of(blocks[i]) + 5999 / 16 * 16 - 1) / 4096;
        for (std::uintptr_t page = first; page <= last; page++) needed.insert(page);
    }
    const std::size_t before = pool.resident(), returned = pool.trim();
    EXPECT_EQ(pool.resident(), needed.size() * 4096);
    EXPECT_EQ(returned, before - needed.size() * 4096);
}

// Random pools and random orders against the rule itself: a page stays iff a live block has a byte on it.
TEST_P(pool_trim, keeps_exactly_the_pages_with_a_live_byte) {
    const std::uint64_t seed = test::seed();
    SCOPED_TRACE("FLATLINE_TEST_SEED=" + std::to_string(seed));
    test::random_source random(seed);
    for (std::size_t round = 0; round < test::scaled(60); round++) {
        std::vector<flat_class> classes;
        std::size_t size = 0;
        for (std::uint64_t left = 1 + random.below(4); left > 0; left--) {
            size = (size + 15) / 16 * 16 + 1 + random.below(3000);
            classes.push_back({size, 1 + random.below(60)});
        }
        lazy_pool pool(classes, region);
        ASSERT_EQ(pool.status, FLAT_OK);
        std::vector<std::pair<char *, std::size_t>> live;
        for (int step = 0; step < 400; step++) {
            if (!live.empty() && random.below(100) < 45) {
                std::swap(live[random.below(live.size())], live.back());
                ASSERT_EQ(flat_pool_free(pool, live.back().first), FLAT_OK);
                live.pop_back();
            } else {
                const std::size_t bytes = 1 + random.below(size);
                if (char *const block = pool.alloc(bytes)) live.emplace_back(block, bytes);
            }
            if (!random.one_in(100)) continue;
            const std::size_t before = pool.resident(), returned = pool.trim(), after = pool.resident();
            ASSERT_EQ(returned, before - after);
            ASSERT_EQ(flat_pool_check(pool), FLAT_OK);
            std::set<std::uintptr_t> needed;
            for (const auto &[block, bytes] : live) {
                ASSERT_TRUE(std::all_of(block, block + bytes, [](char c) { return c == 'x'; }));
                const std::size_t whole = flat_pool_usable_size(pool, block);
                for (std::size_t at = 0; at < whole; at++) needed.insert(test::address_of(block + at) / 4096);
            }
            // Of a live block whose end was never written a page may be missing from the start.
            ASSERT_LE(after, needed.size() * 4096);
            for (const auto &[block, bytes] : live) {
                ASSERT_EQ(test::resident_pages(block, bytes), test::pages(block, bytes));
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(of, pool_trim, testing::Bool(),
                         [](const auto &made) { return std::string(made.param ? "shared" : "private"); });

TEST(pool_trim_refuses, pools_that_were_promised_their_pages) {
    const auto with = [](auto change) {
        flat_region_options options = lazily;
        change(options);
        lazy_pool pool({{4096, 4}}, options);
        if (pool.status != FLAT_OK) return pool.status;
        std::size_t returned = 7;
        const flat_status status = flat_pool_trim(pool, &returned);
        EXPECT_EQ(returned, status == FLAT_OK ? 0u : 7u);
        return status;
    };
    EXPECT_EQ(with([](flat_region_options &) {}), FLAT_OK);
    EXPECT_EQ(with([](flat_region_options &o) { o.lazy = false; }), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_pool_trim(nullptr, nullptr), FLAT_INVALID_ARGUMENT);
    const flat_status locked = with([](flat_region_options &o) { o.locked = true; });
    if (locked == FLAT_UNAVAILABLE) GTEST_SKIP() << "a system that cannot lock lazily";
    EXPECT_EQ(locked, FLAT_INVALID_ARGUMENT);
}

TEST(pool_trim_refuses, pools_on_explicit_huge_pages) {
    const test::reserved_huge_pages pages(2);
    if (pages.count() < 2) GTEST_SKIP() << "two huge pages cannot be set aside here: that takes root";
    flat_region_options options{};
    options.lazy = true;
    options.required_pages = FLAT_PAGES_EXPLICIT;
    lazy_pool pool({{4096, 4}}, options);
    ASSERT_EQ(pool.status, FLAT_OK);
    EXPECT_EQ(flat_pool_trim(pool, nullptr), FLAT_INVALID_ARGUMENT);
}

TEST(pool_trim_refuses, pools_in_the_callers_memory) {
    alignas(4096) static char metadata[4096], blocks[8192];
    const flat_class only{4096, 2};
    flat_pool_options options{};
    options.classes = &only;
    options.class_count = 1;
    flat_pool *pool = nullptr;
    ASSERT_EQ(flat_pool_init(&pool, &options, {metadata, sizeof metadata}, {blocks, sizeof blocks}), FLAT_OK);
    EXPECT_EQ(flat_pool_region(pool), nullptr);
    EXPECT_EQ(flat_pool_trim(pool, nullptr), FLAT_INVALID_ARGUMENT);
    flat_pool_destroy(pool);
    EXPECT_EQ(flat_pool_region(nullptr), nullptr);
}

TEST(pool_trim_refuses, to_call_pages_returned_that_the_system_keeps) {
    lazy_pool pool({{4096, 4}});
    char *const block = pool.alloc(4096);
    ASSERT_EQ(mlock2(block, 4096, 0), 0); // not mlock: sanitizers make it do nothing
    ASSERT_EQ(flat_pool_free(pool, block), FLAT_OK);
    std::size_t returned = 7;
    const flat_status status = flat_pool_trim(pool, &returned);
    if (status == FLAT_OK) GTEST_SKIP() << "an emulator that locks nothing";
    EXPECT_EQ(status, FLAT_UNAVAILABLE);
    EXPECT_EQ(returned, 0u);
    EXPECT_EQ(flat_pool_check(pool), FLAT_OK);
}
