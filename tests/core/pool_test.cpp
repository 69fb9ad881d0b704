// pool.c: alloc, aligned alloc, free.
#include "core/test_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

extern "C" int c_caller_uses_a_pool(void);

namespace {

using test::address_of;
using test::at;
using test::test_pool;

const std::vector<flat_class> plain = {{16, 10}, {48, 7}, {4096, 3}, {6000, 2}};

// Keeps what it was called with, and answers with what nothing else does.
struct kept_refusal : flat_pool_otherwise {
    kept_refusal() : flat_pool_otherwise{keep_alloc, keep_free} {}

    static void *keep_alloc(flat_pool_otherwise *self, std::size_t size, std::size_t alignment) {
        auto &kept = *static_cast<kept_refusal *>(self);
        kept.calls++;
        kept.size = size;
        kept.alignment = alignment;
        return self;
    }
    static flat_status keep_free(flat_pool_otherwise *self, void *block, std::size_t size, std::size_t alignment,
                                 flat_status refusal) {
        auto &kept = *static_cast<kept_refusal *>(self);
        kept.calls++;
        kept.size = size;
        kept.alignment = alignment;
        kept.block = block;
        kept.refusal = refusal;
        return FLAT_UNAVAILABLE;
    }

    int calls = 0;
    std::size_t size = 0, alignment = 0;
    void *block = nullptr;
    flat_status refusal = FLAT_OK;
};

// What a pool goes on with uses it: it gives back a block and asks again, or checks that nothing is left half done.
struct user_of_the_pool : flat_pool_otherwise {
    explicit user_of_the_pool(flat_pool *of) : flat_pool_otherwise{make_room, look}, pool(of) {}

    static void *make_room(flat_pool_otherwise *self, std::size_t size, std::size_t) {
        auto &here = *static_cast<user_of_the_pool *>(self);
        EXPECT_EQ(flat_pool_check(here.pool), FLAT_OK);
        EXPECT_EQ(flat_pool_free(here.pool, here.spare), FLAT_OK);
        here.spare = nullptr;
        return flat_pool_alloc(here.pool, size);
    }
    static flat_status look(flat_pool_otherwise *self, void *, std::size_t, std::size_t, flat_status refusal) {
        auto &here = *static_cast<user_of_the_pool *>(self);
        EXPECT_EQ(flat_pool_check(here.pool), FLAT_OK);
        EXPECT_EQ(flat_pool_free(here.pool, flat_pool_alloc(here.pool, 16)), FLAT_OK);
        return refusal;
    }

    flat_pool *pool;
    void *spare = nullptr;
};

} // namespace

TEST(pool, serves_every_block_once_and_then_refuses) {
    test_pool pool(plain, PROT_NONE);
    for (const flat_class &c : plain) {
        std::set<void *> seen;
        for (std::size_t i = 0; i < c.block_count; i++) seen.insert(flat_pool_alloc(pool, c.block_size));
        EXPECT_EQ(seen.size(), c.block_count);
        EXPECT_EQ(seen.count(nullptr), 0u);
        EXPECT_EQ(flat_pool_alloc(pool, c.block_size), nullptr);
    }
    EXPECT_EQ(flat_pool_check(pool), FLAT_OK);
}

TEST(pool, blocks_lie_inside_their_memory_and_apart) {
    test_pool pool(plain, PROT_NONE);
    std::vector<std::pair<std::uintptr_t, std::size_t>> blocks;
    for (const flat_class &c : plain) {
        while (void *block = flat_pool_alloc(pool, c.block_size)) {
            blocks.emplace_back(address_of(block), (c.block_size + 15) / 16 * 16);
        }
    }
    ASSERT_EQ(blocks.size(), 22u);
    std::sort(blocks.begin(), blocks.end());
    std::uintptr_t end = address_of(pool.blocks().start());
    for (const auto &[start, size] : blocks) {
        EXPECT_GE(start, end);
        end = start + size;
    }
    EXPECT_LE(end, address_of(pool.blocks().start()) + pool.footprint().block_bytes);
}

TEST(pool, blocks_can_be_written_in_full) {
    test_pool pool(plain);
    std::vector<std::pair<unsigned char *, std::size_t>> blocks;
    for (const flat_class &c : plain) {
        while (auto *block = static_cast<unsigned char *>(flat_pool_alloc(pool, c.block_size))) {
            std::memset(block, static_cast<int>(blocks.size()), c.block_size);
            blocks.emplace_back(block, c.block_size);
        }
    }
    for (std::size_t i = 0; i < blocks.size(); i++) {
        const auto [block, size] = blocks[i];
        EXPECT_TRUE(std::all_of(block, block + size, [i](unsigned char c) { return c == i; })) << i;
        EXPECT_EQ(flat_pool_free(pool, block), FLAT_OK);
    }
    EXPECT_EQ(flat_pool_check(pool), FLAT_OK);
}

TEST(pool, serves_size_zero_as_size_one) {
    test_pool pool({{16, 1}, {32, 1}}, PROT_NONE);
    void *block = flat_pool_alloc(pool, 0);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(flat_pool_usable_size(pool, block), 16u);
    EXPECT_EQ(flat_pool_alloc(pool, 0), nullptr) << "the smallest class is exhausted";
}

TEST(pool, refuses_a_size_above_the_largest_class) {
    test_pool pool(plain, PROT_NONE);
    EXPECT_NE(flat_pool_alloc(pool, 6000), nullptr);
    EXPECT_NE(flat_pool_alloc(pool, 6000), nullptr);
    EXPECT_EQ(flat_pool_free(pool, nullptr), FLAT_OK);
    for (std::size_t size : {std::size_t{6001}, std::size_t{6017}, std::size_t{1} << 32, (std::size_t{1} << 32) + 16,
                             SIZE_MAX - 15, SIZE_MAX}) {
        EXPECT_EQ(flat_pool_alloc(pool, size), nullptr) << size;
        EXPECT_EQ(flat_pool_aligned_alloc(pool, 16, size), nullptr) << size;
    }
    for (const flat_pool_stats &s : pool.stats()) EXPECT_EQ(s.refused, 0u) << "no class refused these";
}

TEST(pool, serves_up_to_the_rounded_size_of_the_largest_class) {
    test_pool pool({{17, 2}}, PROT_NONE);
    EXPECT_NE(flat_pool_alloc(pool, 32), nullptr);
    EXPECT_EQ(flat_pool_alloc(pool, 33), nullptr);
}

TEST(pool, does_not_fall_back_to_a_larger_class) {
    test_pool pool(plain, PROT_NONE);
    for (int i = 0; i < 10; i++) ASSERT_NE(flat_pool_alloc(pool, 16), nullptr);
    EXPECT_EQ(flat_pool_alloc(pool, 16), nullptr);
    EXPECT_NE(flat_pool_alloc(pool, 17), nullptr);
}

TEST(pool, the_block_freed_last_comes_first) {
    test_pool pool(plain, PROT_NONE);
    std::vector<void *> blocks(6);
    ASSERT_EQ(flat_pool_alloc_many(pool, 48, blocks.data(), blocks.size()), blocks.size());
    for (std::size_t i : {3u, 0u, 5u, 1u}) ASSERT_EQ(flat_pool_free(pool, blocks[i]), FLAT_OK);
    for (std::size_t i : {1u, 5u, 0u, 3u}) EXPECT_EQ(flat_pool_alloc(pool, 48), blocks[i]);
    EXPECT_EQ(flat_pool_check(pool), FLAT_OK);
}

TEST(pool, used_blocks_come_before_fresh_ones) {
    test_pool pool({{64, 100}}, PROT_NONE);
    void *a = flat_pool_alloc(pool, 64);
    void *b = flat_pool_alloc(pool, 64);
    ASSERT_EQ(flat_pool_free(pool, b), FLAT_OK);
    ASSERT_EQ(flat_pool_free(pool, a), FLAT_OK);
    EXPECT_EQ(flat_pool_alloc(pool, 64), a);
    EXPECT_EQ(flat_pool_alloc(pool, 64), b);
    EXPECT_EQ(pool.stats()[0].high_water, 2u);
}

TEST(pool, blocks_are_aligned_to_what_divides_their_size) {
    std::vector<flat_class> classes;
    for (std::size_t size = 16; size <= 3 * 4096; size += 16) {
        classes.push_back({size, 5});
        if (classes.size() < 64) continue;
        test_pool pool(classes, PROT_NONE);
        for (const flat_class &c : classes) {
            const std::size_t alignment = std::min<std::size_t>(c.block_size & (0 - c.block_size), 4096);
            while (void *block = flat_pool_alloc(pool, c.block_size)) {
                ASSERT_EQ(address_of(block) % alignment, 0u) << "size " << c.block_size;
            }
        }
        classes.clear();
    }
}

TEST(pool, aligned_alloc_takes_the_smallest_class_that_fits_both) {
    test_pool pool({{48, 4}, {64, 4}, {80, 4}, {1000, 4}, {1024, 4}, {8192, 4}}, PROT_NONE);
    const struct {
        std::size_t alignment, size, served_by;
    } table[] = {{1, 1, 48},         {2, 48, 48},     {16, 48, 48},    {16, 49, 64},      {32, 1, 64},
                 {64, 64, 64},       {64, 65, 1024},  {32, 81, 1024},  {16, 81, 1008},    {128, 1, 1024},
                 {1024, 1024, 1024}, {2048, 1, 8192}, {4096, 0, 8192}, {4096, 8192, 8192}};
    for (const auto &row : table) {
        void *block = flat_pool_aligned_alloc(pool, row.alignment, row.size);
        ASSERT_NE(block, nullptr) << row.alignment << ' ' << row.size;
        EXPECT_EQ(flat_pool_usable_size(pool, block), row.served_by) << row.alignment << ' ' << row.size;
        EXPECT_EQ(address_of(block) % row.alignment, 0u);
        EXPECT_EQ(flat_pool_free(pool, block), FLAT_OK);
    }
}

TEST(pool, aligned_alloc_refuses_what_is_no_alignment) {
    test_pool pool({{8192, 4}}, PROT_NONE);
    for (std::size_t alignment : {std::size_t{0}, std::size_t{3}, std::size_t{24}, std::size_t{4097}, std::size_t{8192},
                                  std::size_t{1} << 32, (std::size_t{1} << 32) + 16, std::size_t{1} << 63, SIZE_MAX}) {
        EXPECT_EQ(flat_pool_aligned_alloc(pool, alignment, 16), nullptr) << alignment;
    }
    EXPECT_EQ(pool.stats()[0].refused, 0u);
}

TEST(pool, aligned_alloc_refuses_an_alignment_that_no_class_has) {
    test_pool pool({{16, 1}, {48, 1}}, PROT_NONE);
    EXPECT_EQ(flat_pool_aligned_alloc(pool, 32, 16), nullptr);
    EXPECT_NE(flat_pool_aligned_alloc(pool, 16, 17), nullptr);
    EXPECT_EQ(flat_pool_aligned_alloc(pool, 16, 17), nullptr) << "exhausted";
    EXPECT_EQ(pool.stats()[1].refused, 1u);
}

TEST(pool, free_of_null_is_ok) {
    test_pool pool(plain, PROT_NONE);
    EXPECT_EQ(flat_pool_free(pool, nullptr), FLAT_OK);
    EXPECT_EQ(flat_pool_check(pool), FLAT_OK);
}

TEST(pool, refuses_second_free) {
    test_pool pool(plain, PROT_NONE);
    void *block = flat_pool_alloc(pool, 48);
    void *other = flat_pool_alloc(pool, 48);
    EXPECT_EQ(flat_pool_free(pool, block), FLAT_OK);
    EXPECT_EQ(flat_pool_free(pool, block), FLAT_DOUBLE_FREE);
    EXPECT_EQ(flat_pool_free(pool, other), FLAT_OK);
    EXPECT_EQ(flat_pool_free(pool, block), FLAT_DOUBLE_FREE) << "also when it is not the last one freed";
    EXPECT_EQ(flat_pool_check(pool), FLAT_OK);
}

TEST(pool, refuses_the_free_of_a_block_never_handed_out) {
    test_pool pool({{48, 9}}, PROT_NONE);
    const std::uintptr_t first = address_of(flat_pool_alloc(pool, 48));
    for (std::size_t i = 1; i < 9; i++) EXPECT_EQ(flat_pool_free(pool, at(first + i * 48)), FLAT_DOUBLE_FREE);
    EXPECT_EQ(flat_pool_free(pool, at(first + 9 * 48)), FLAT_FOREIGN_POINTER) << "there is no tenth block";
    EXPECT_EQ(flat_pool_check(pool), FLAT_OK);
}

TEST(pool, refuses_every_interior_pointer) {
    test_pool pool({{48, 2}}, PROT_NONE);
    const std::uintptr_t first = address_of(flat_pool_alloc(pool, 48));
    for (std::size_t i = 1; i < 96; i++) {
        if (i == 48) continue;
        EXPECT_EQ(flat_pool_free(pool, at(first + i)), FLAT_INTERIOR_POINTER) << i;
    }
    EXPECT_EQ(flat_pool_free(pool, at(first)), FLAT_OK);
}

TEST(pool, refuses_foreign_pointers) {
    test_pool pool(plain, PROT_NONE), other(plain, PROT_NONE);
    int on_the_stack = 0;
    static int in_static_memory = 0;
    void *of_another_pool = flat_pool_alloc(other, 48);
    for (void *pointer : {static_cast<void *>(&on_the_stack), static_cast<void *>(&in_static_memory), of_another_pool,
                          static_cast<void *>(pool.metadata().start()), static_cast<void *>(pool.blocks().start() - 16),
                          static_cast<void *>(pool.blocks().start() + pool.footprint().block_bytes), at(1), at(15),
                          at(UINTPTR_MAX), at(UINTPTR_MAX - 15)}) {
        EXPECT_EQ(flat_pool_free(pool, pointer), FLAT_FOREIGN_POINTER) << pointer;
        EXPECT_FALSE(flat_pool_owns(pool, pointer)) << pointer;
        EXPECT_EQ(flat_pool_usable_size(pool, pointer), 0u) << pointer;
    }
    EXPECT_EQ(flat_pool_check(pool), FLAT_OK);
}

TEST(pool, a_refused_free_changes_nothing) {
    test_pool pool({{48, 4}}, PROT_NONE);
    std::vector<void *> blocks(4);
    ASSERT_EQ(flat_pool_alloc_many(pool, 48, blocks.data(), 4), 4u);
    ASSERT_EQ(flat_pool_free(pool, blocks[2]), FLAT_OK);
    ASSERT_EQ(flat_pool_free(pool, blocks[0]), FLAT_OK);
    const std::vector<char> before(pool.metadata().start(), pool.metadata().start() + pool.metadata().size());
    EXPECT_EQ(flat_pool_free(pool, blocks[0]), FLAT_DOUBLE_FREE);
    EXPECT_EQ(flat_pool_free(pool, blocks[2]), FLAT_DOUBLE_FREE);
    EXPECT_EQ(flat_pool_free(pool, at(address_of(blocks[1]) + 8)), FLAT_INTERIOR_POINTER);
    EXPECT_EQ(flat_pool_free(pool, &pool), FLAT_FOREIGN_POINTER);
    EXPECT_EQ(std::memcmp(before.data(), pool.metadata().start(), before.size()), 0);
    EXPECT_EQ(flat_pool_alloc(pool, 48), blocks[0]);
    EXPECT_EQ(flat_pool_alloc(pool, 48), blocks[2]);
}

TEST(pool, a_second_free_after_the_block_was_handed_out_again_is_the_new_owners) {
    // The stated limit of the check: the block is live again, and the pool cannot know by whom the free comes.
    test_pool pool({{48, 4}}, PROT_NONE);
    void *block = flat_pool_alloc(pool, 48);
    ASSERT_EQ(flat_pool_free(pool, block), FLAT_OK);
    ASSERT_EQ(flat_pool_alloc(pool, 48), block);
    EXPECT_EQ(flat_pool_free(pool, block), FLAT_OK);
}

TEST(pool, goes_on_elsewhere_with_a_request_that_it_refuses) {
    for (const std::vector<flat_class> &classes : {plain, {{48, 7}}}) {
        test_pool pool(classes);
        kept_refusal elsewhere;
        for (int i = 0; i < 7; i++) EXPECT_TRUE(flat_pool_owns(pool, flat_pool_alloc_or_else(pool, 40, 8, &elsewhere)));
        EXPECT_EQ(elsewhere.calls, 0);
        EXPECT_EQ(flat_pool_alloc_or_else(pool, 40, 8, &elsewhere), &elsewhere);
        EXPECT_EQ(elsewhere.calls, 1);
        EXPECT_EQ(elsewhere.size, 40u);
        EXPECT_EQ(elsewhere.alignment, 8u);
        EXPECT_EQ(flat_pool_alloc_or_else(pool, 6001, 16, &elsewhere), &elsewhere);
        EXPECT_EQ(elsewhere.calls, 2);
        EXPECT_EQ(elsewhere.size, 6001u);
        EXPECT_EQ(elsewhere.alignment, 16u);
        EXPECT_EQ(flat_pool_check(pool), FLAT_OK);
    }
}

TEST(pool, goes_on_elsewhere_with_a_free_that_it_refuses) {
    for (const std::vector<flat_class> &classes : {plain, {{48, 7}}}) {
        test_pool pool(classes);
        kept_refusal elsewhere;
        char *block = static_cast<char *>(flat_pool_alloc(pool, 48));
        EXPECT_EQ(flat_pool_free_or_else(pool, nullptr, 1, 2, &elsewhere), FLAT_OK);
        EXPECT_EQ(flat_pool_free_or_else(pool, block, 48, 16, &elsewhere), FLAT_OK);
        EXPECT_EQ(elsewhere.calls, 0);

        const auto refused = [&](void *given, std::size_t size, std::size_t alignment, flat_status why) {
            const int before = elsewhere.calls;
            EXPECT_EQ(flat_pool_free_or_else(pool, given, size, alignment, &elsewhere), FLAT_UNAVAILABLE);
            EXPECT_EQ(elsewhere.calls, before + 1);
            EXPECT_EQ(elsewhere.block, given);
            EXPECT_EQ(elsewhere.size, size);
            EXPECT_EQ(elsewhere.alignment, alignment);
            EXPECT_EQ(elsewhere.refusal, why);
        };
        refused(block, 48, 16, FLAT_DOUBLE_FREE);
        refused(block + 1, 47, 1, FLAT_INTERIOR_POINTER);
        refused(&elsewhere, sizeof elsewhere, 32, FLAT_FOREIGN_POINTER);
        EXPECT_EQ(flat_pool_check(pool), FLAT_OK);
    }
}

TEST(pool, may_be_used_by_what_it_goes_on_with_for_want_of_blocks) {
    test_pool pool({{16, 1}});
    user_of_the_pool here(pool);
    void *block = here.spare = flat_pool_alloc(pool, 16);
    EXPECT_EQ(flat_pool_alloc_or_else(pool, 16, 16, &here), block) << "what was given back serves the request";
    EXPECT_EQ(flat_pool_alloc_or_else(pool, 16, 16, &here), nullptr) << "and then there is nothing to give back";
    EXPECT_EQ(flat_pool_check(pool), FLAT_OK);
}

TEST(pool, may_be_used_by_what_it_goes_on_with_after_a_wrong_free) {
    test_pool pool({{16, 2}});
    user_of_the_pool here(pool);
    void *block = flat_pool_alloc(pool, 16);
    EXPECT_EQ(flat_pool_free_or_else(pool, &pool, 16, 16, &here), FLAT_FOREIGN_POINTER);
    EXPECT_EQ(flat_pool_free_or_else(pool, block, 16, 16, &here), FLAT_OK);
    EXPECT_EQ(flat_pool_free_or_else(pool, block, 16, 16, &here), FLAT_DOUBLE_FREE);
    EXPECT_EQ(flat_pool_check(pool), FLAT_OK);
}

TEST(pool, says_by_its_results_alone_that_it_refused) {
    test_pool pool({{16, 1}});
    void *block = flat_pool_alloc(pool, 16);
    EXPECT_EQ(flat_pool_alloc(pool, 16), nullptr);
    EXPECT_EQ(flat_pool_aligned_alloc(pool, 16, 16), nullptr);
    EXPECT_EQ(flat_pool_free(pool, &pool), FLAT_FOREIGN_POINTER);
    flat_pool_stats stats;
    EXPECT_EQ(flat_pool_get_stats(pool, &stats, 1), 1U);
    EXPECT_EQ(stats.refused, 2U);
    EXPECT_EQ(stats.live, 1U);
    EXPECT_EQ(flat_pool_free(pool, block), FLAT_OK);
}

TEST(pool, works_from_c11) { EXPECT_EQ(c_caller_uses_a_pool(), 0) << "is the line in c_caller.c that did not hold"; }
