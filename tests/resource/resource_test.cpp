// Tests what each resource does with a request that it cannot serve, and which resource gets a block back.
#include "resource/heap_calls.hpp"
#include "resource/incidents.hpp"
#include "resource/setups.hpp"

#include <flatline/resource.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <type_traits>
#include <vector>

namespace {

using test::owned_arena;
using test::owned_pool;

// A foreign resource, which throws its own exception when it is exhausted.
class counting_resource final : public std::pmr::memory_resource {
  public:
    struct out_of_memory : std::bad_alloc {};
    explicit counting_resource(std::size_t most = SIZE_MAX) : most_(most) {}
    std::size_t live = 0;

  private:
    void *do_allocate(std::size_t bytes, std::size_t alignment) override {
        if (live == most_) throw out_of_memory();
        void *block = std::pmr::new_delete_resource()->allocate(bytes, alignment);
        live++;
        return block;
    }
    void do_deallocate(void *block, std::size_t bytes, std::size_t alignment) override {
        live--;
        std::pmr::new_delete_resource()->deallocate(block, bytes, alignment);
    }
    bool do_is_equal(const memory_resource &other) const noexcept override { return this == &other; }
    std::size_t most_;
};

// Expects `allocate` to throw std::bad_alloc and the record to name the resource, the size and the alignment.
void expect_refused(std::pmr::memory_resource &resource, std::size_t bytes, std::size_t alignment, const char *who) {
    const std::uint64_t before = flat::last_refusal().count;
    EXPECT_THROW((void)resource.allocate(bytes, alignment), std::bad_alloc);
    const flat::refusal last = flat::last_refusal();
    EXPECT_STREQ(last.resource, who);
    EXPECT_EQ(last.bytes, bytes);
    EXPECT_EQ(last.alignment, alignment);
    EXPECT_EQ(last.count, before + 1);
}

bool is_aligned(const void *block, std::size_t alignment) {
    return reinterpret_cast<std::uintptr_t>(block) % alignment == 0;
}

} // namespace

static_assert(std::is_final_v<flat::pool_resource> && std::is_final_v<flat::arena_resource>);
static_assert(std::is_final_v<flat::heap_resource> && std::is_final_v<flat::region_resource>);
static_assert(std::is_final_v<flat::limited_resource> && std::is_final_v<flat::tracking_resource>);
static_assert(std::is_final_v<flat::chain_resource> && std::is_final_v<flat::locked_resource>);
static_assert(std::is_final_v<flat::inline_arena<100>>);
static_assert(!std::is_convertible_v<flat_pool &, flat::pool_resource>);
static_assert(!std::is_copy_constructible_v<flat::pool_resource>);

TEST(refusing_resource, gives_nothing_and_keeps_what_was_asked_for) {
    expect_refused(*flat::refusing_resource(), 4711, 64, "refusing_resource");
    expect_refused(*flat::refusing_resource(), 0, 1, "refusing_resource");
    EXPECT_EQ(flat::refusing_resource(), flat::refusing_resource());
    EXPECT_TRUE(flat::refusing_resource()->is_equal(*flat::refusing_resource()));
}

TEST(refusing_resource, has_no_block_to_take_back_and_knows_it) {
    auto &refusing = dynamic_cast<flat::resource &>(*flat::refusing_resource());
    EXPECT_EQ(refusing.try_deallocate(&refusing, 8, 8), FLAT_FOREIGN_POINTER);
    EXPECT_EQ(refusing.try_deallocate(nullptr, 8, 8), FLAT_OK);
    EXPECT_FALSE(refusing.owns(&refusing));
    EXPECT_TRUE(refusing.knows_its_blocks());
}

TEST(pool_resource, refuses_when_the_class_is_exhausted_and_does_not_spill_into_the_next) {
    owned_pool pool({{64, 2}, {128, 2}});
    flat::pool_resource resource(*pool);
    void *first = resource.allocate(64, 8), *second = resource.allocate(50, 8);
    expect_refused(resource, 33, 8, "pool_resource");
    resource.deallocate(first, 64, 8);
    first = resource.allocate(64, 8);
    resource.deallocate(first, 64, 8);
    resource.deallocate(second, 50, 8);
}

TEST(pool_resource, refuses_what_no_class_holds) {
    owned_pool pool({{64, 2}});
    flat::pool_resource resource(*pool);
    expect_refused(resource, 65, 8, "pool_resource");
    expect_refused(resource, SIZE_MAX, 8, "pool_resource");
    expect_refused(resource, 16, 8192, "pool_resource");
    expect_refused(resource, 16, std::size_t{1} << 63, "pool_resource");
    EXPECT_EQ(pool.live(), 0);
}

TEST(pool_resource, serves_every_alignment_that_a_class_has) {
    owned_pool pool({{48, 4}, {64, 4}, {4096, 4}});
    flat::pool_resource resource(*pool);
    for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        void *block = resource.allocate(40, alignment);
        EXPECT_TRUE(is_aligned(block, alignment)) << alignment;
        resource.deallocate(block, 40, alignment);
    }
    EXPECT_EQ(pool.live(), 0);
}

TEST(pool_resource, size_0_is_a_block_of_its_own) {
    owned_pool pool({{16, 2}});
    flat::pool_resource resource(*pool);
    void *first = resource.allocate(0, 1), *second = resource.allocate(0, 1);
    EXPECT_NE(first, second);
    resource.deallocate(first, 0, 1);
    resource.deallocate(second, 0, 1);
}

TEST(heap_resource, serves_any_size_and_alignment_and_is_one_piece_again) {
    test::owned_heap heap(std::size_t{4} << 20);
    flat::heap_resource resource(*heap);
    std::vector<void *> blocks;
    for (std::size_t alignment = 1; alignment <= std::size_t{1} << 18; alignment *= 2) {
        blocks.push_back(resource.allocate(3 * alignment / 2 + 1, alignment));
        EXPECT_TRUE(is_aligned(blocks.back(), alignment)) << alignment;
    }
    std::size_t alignment = 1;
    for (void *block : blocks) {
        resource.deallocate(block, 3 * alignment / 2 + 1, alignment);
        alignment *= 2;
    }
    void *all = resource.allocate(std::size_t{4} << 20, 8);
    EXPECT_TRUE(resource.owns(all));
    EXPECT_FALSE(resource.owns(&resource));
    expect_refused(resource, 1, 1, "heap_resource");
    resource.deallocate(all, std::size_t{4} << 20, 8);
    expect_refused(resource, (std::size_t{4} << 20) + 1, 1, "heap_resource");
    expect_refused(resource, SIZE_MAX, 64, "heap_resource");
    expect_refused(resource, 1, std::size_t{1} << 63, "heap_resource");
    EXPECT_EQ(heap.live(), 0);
}

TEST(arena_resource, hands_out_neighbours_and_refuses_at_its_end) {
    alignas(16) std::array<std::byte, 64> buffer;
    flat_arena arena;
    ASSERT_EQ(flat_arena_init(&arena, {buffer.data(), buffer.size()}), FLAT_OK);
    flat::arena_resource resource(arena);
    EXPECT_EQ(resource.allocate(24, 8), buffer.data());
    EXPECT_EQ(resource.allocate(1, 1), buffer.data() + 24);
    EXPECT_EQ(resource.allocate(8, 8), buffer.data() + 32);
    expect_refused(resource, 25, 1, "arena_resource");
    EXPECT_EQ(resource.allocate(24, 8), buffer.data() + 40);
    expect_refused(resource, 0, 1, "arena_resource");
    flat_arena_destroy(&arena);
}

TEST(arena_resource, takes_nothing_back_until_its_arena_is_reset) {
    owned_arena arena(1024);
    flat::arena_resource resource(*arena);
    void *first = resource.allocate(1000, 8);
    resource.deallocate(first, 1000, 8);
    expect_refused(resource, 1000, 8, "arena_resource");
    flat_arena_reset(&resource.source());
    EXPECT_EQ(resource.allocate(1000, 8), first);
}

TEST(arena_resource, serves_large_alignments_and_refuses_impossible_ones) {
    owned_arena arena(std::size_t{4} << 20);
    flat::arena_resource resource(*arena);
    (void)resource.allocate(1, 1);
    EXPECT_TRUE(is_aligned(resource.allocate(100, std::size_t{1} << 20), std::size_t{1} << 20));
    EXPECT_TRUE(is_aligned(resource.allocate(100, 32), 32));
    expect_refused(resource, 1, std::size_t{1} << 63, "arena_resource");
    expect_refused(resource, SIZE_MAX, 1, "arena_resource");
    expect_refused(resource, SIZE_MAX, 4096, "arena_resource");
}

TEST(arena_resource, of_an_arena_without_memory_refuses_everything) {
    flat_arena arena;
    ASSERT_EQ(flat_arena_init(&arena, {nullptr, 0}), FLAT_OK);
    flat::arena_resource resource(arena);
    expect_refused(resource, 1, 1, "arena_resource");
    EXPECT_EQ(resource.try_allocate(0, 1), nullptr);
}

TEST(region_resource, serves_the_memory_it_was_given_and_no_other) {
    test::owned_region region(4096);
    flat::region_resource resource(*region);
    char *block = static_cast<char *>(resource.allocate(4096, 16));
    EXPECT_EQ(block, (*region).start);
    expect_refused(resource, 1, 1, "region_resource");
    EXPECT_TRUE(resource.owns(block + 4095));
    EXPECT_FALSE(resource.owns(block + 4096));
}

TEST(region_resource, writes_nothing_but_what_the_caller_writes) {
    alignas(16) std::array<unsigned char, 256> buffer;
    buffer.fill(0xa5);
    {
        flat::region_resource resource(flat_memory{buffer.data(), buffer.size()});
        resource.deallocate(resource.allocate(100, 16), 100, 16);
    }
    for (unsigned char byte : buffer) ASSERT_EQ(byte, 0xa5);
}

TEST(inline_arena, has_all_of_its_bytes) {
    flat::inline_arena<100> arena;
    EXPECT_TRUE(arena.owns(arena.allocate(96, 16)));
    flat::inline_arena<96> exact;
    (void)exact.allocate(96, 16);
    expect_refused(exact, 1, 1, "inline_arena");
}

TEST(an_exhausted_resource, goes_to_the_upstream_that_was_named_and_blocks_go_back_to_where_they_came_from) {
    owned_pool small({{64, 1}}), large({{256, 4}});
    flat::pool_resource next(*large);
    flat::pool_resource resource(*small, &next);
    void *here = resource.allocate(64, 8), *there = resource.allocate(64, 8), *big = resource.allocate(200, 8);
    EXPECT_TRUE(flat_pool_owns(small, here));
    EXPECT_TRUE(flat_pool_owns(large, there));
    EXPECT_TRUE(flat_pool_owns(large, big));
    EXPECT_TRUE(resource.owns(here) && resource.owns(there));
    resource.deallocate(there, 64, 8);
    EXPECT_EQ(large.live(), 1);
    resource.deallocate(here, 64, 8);
    EXPECT_EQ(small.live(), 0);
    EXPECT_EQ(resource.try_deallocate(big, 200, 8), FLAT_OK);
    EXPECT_EQ(large.live(), 0);
}

TEST(an_exhausted_resource, goes_to_the_heap_only_where_the_heap_is_named) {
    owned_pool pool({{64, 1}});
    counting_resource heap;
    flat::pool_resource resource(*pool, &heap);
    void *here = resource.allocate(64, 8), *there = resource.allocate(64, 8);
    void *tried = resource.try_allocate(64, 8);
    EXPECT_EQ(heap.live, 2u);
    EXPECT_FALSE(resource.owns(there));
    EXPECT_FALSE(resource.knows_its_blocks());
    resource.deallocate(there, 64, 8);
    resource.deallocate(here, 64, 8);
    EXPECT_EQ(resource.try_deallocate(tried, 64, 8), FLAT_OK);
    EXPECT_EQ(heap.live, 0u);
    EXPECT_EQ(pool.live(), 0);
}

TEST(an_exhausted_resource, passes_on_what_its_upstream_throws_and_tries_in_silence) {
    owned_pool pool({{64, 1}});
    counting_resource nothing(0);
    flat::pool_resource resource(*pool, &nothing);
    void *block = resource.allocate(64, 8);
    EXPECT_THROW((void)resource.allocate(64, 8), counting_resource::out_of_memory);
    EXPECT_THROW((void)resource.allocate(64, 128), counting_resource::out_of_memory);
    EXPECT_EQ(resource.try_allocate(64, 8), nullptr);
    resource.deallocate(block, 64, 8);
}

TEST(an_exhausted_resource, without_an_upstream_is_one_with_a_refusing_one) {
    owned_pool pool({{64, 1}});
    for (flat::upstream next : {flat::upstream(), flat::upstream(flat::refusing_resource()),
                                flat::upstream(static_cast<std::pmr::memory_resource *>(nullptr)),
                                flat::upstream(static_cast<flat::resource *>(nullptr))}) {
        flat::pool_resource resource(*pool, next);
        EXPECT_TRUE(resource.knows_its_blocks());
        expect_refused(resource, 65, 8, "pool_resource");
    }
}

// Tests every resource with too little memory below it, while the default resource is the heap as usual.
TEST(an_exhausted_resource, never_continues_in_the_heap_by_itself) {
    owned_pool pool({{64, 1}});
    owned_arena arena(64);
    test::owned_heap heap(512);
    test::owned_region memory(64);
    flat::pool_resource on_pool(*pool);
    flat::heap_resource on_heap(*heap);
    flat::arena_resource on_arena(*arena);
    flat::region_resource on_region(*memory);
    flat::inline_arena<64> on_itself;
    flat::limited_resource limited(64, &on_pool), no_upstream(1000);
    flat::tracking_resource tracking(&on_pool), tracking_nothing;
    flat::chain_resource chain(&on_arena, &on_region), chain_of_one(&on_itself);
    flat::locked_resource locked(&on_pool), locked_nothing;
    for (std::pmr::memory_resource *resource : std::initializer_list<std::pmr::memory_resource *>{
             &on_pool, &on_heap, &on_arena, &on_region, &on_itself, &limited, &no_upstream, &tracking,
             &tracking_nothing, &chain, &chain_of_one, &locked, &locked_nothing}) {
        const std::uint64_t heap_before = test::heap_calls();
        int thrown = 0;
        try {
            std::pmr::vector<int> numbers(resource); // a few numbers fit, growth needs more
            for (int i = 0; i < 1000; i++) numbers.push_back(i);
        } catch (const std::bad_alloc &) {
            thrown++;
        }
        EXPECT_EQ(thrown, 1);
        // The only heap call is that of the C++ run time for the exception object.
        EXPECT_EQ(test::heap_calls() - heap_before, test::heap_is_counted ? 1u : 0u);
    }
}

// The mistake of docs/mistakes.md: the buffer is as large as the data, but a growing vector needs twice as much.
TEST(a_buffer_that_is_too_small, continues_in_the_heap_unnoticed_with_std_and_is_refused_with_ours) {
    constexpr std::size_t count = 1000;
    alignas(16) std::array<std::byte, count * sizeof(int)> buffer;
    const auto fill = [](std::pmr::memory_resource &resource) {
        std::pmr::vector<int> numbers(&resource);
        for (std::size_t i = 0; i < count; i++) numbers.push_back(static_cast<int>(i));
    };
    const std::uint64_t before = test::heap_calls();
    std::pmr::monotonic_buffer_resource monotonic(buffer.data(), buffer.size());
    EXPECT_NO_THROW(fill(monotonic));
    if (test::heap_is_counted) {
        EXPECT_GT(test::heap_calls(), before) << "then this is no mistake any more";
    }
    flat::region_resource ours(flat_memory{buffer.data(), buffer.size()});
    EXPECT_THROW(fill(ours), std::bad_alloc);
    EXPECT_STREQ(flat::last_refusal().resource, "region_resource");
    EXPECT_EQ(flat::last_refusal().bytes, 2048u); // 4 + 8 + ... + 1024 are already allocated
    flat_arena_stats stats;
    flat_arena_get_stats(&ours.source(), &stats);
    EXPECT_EQ(stats.needed, 4092u); // the bytes needed to serve this request too
}

TEST(the_count_of_heap_calls, sees_the_heap) {
    if (!test::heap_is_counted) GTEST_SKIP() << "the sanitizer's malloc cannot be counted";
    const std::uint64_t before = test::heap_calls();
    std::pmr::vector<int> numbers(100, 1, std::pmr::new_delete_resource());
    EXPECT_EQ(test::heap_calls() - before, 1u);
}

// Copies of std::pmr containers use the default resource. With this resource as the default, they are refused.
TEST(refusing_resource, as_the_default_resource_catches_copies_that_name_none) {
    owned_pool pool({{64, 4}});
    flat::pool_resource resource(*pool);
    std::pmr::memory_resource *before = std::pmr::set_default_resource(flat::refusing_resource());
    std::pmr::vector<int> numbers({1, 2, 3}, &resource);
    EXPECT_THROW(std::pmr::vector<int> copy(numbers), std::bad_alloc);
    EXPECT_EQ(std::pmr::vector<int>(numbers, &resource), numbers);
    std::pmr::set_default_resource(before);
}

TEST(containers, keep_their_content_when_growth_is_refused) {
    flat::inline_arena<200> arena;
    std::pmr::vector<int> numbers(&arena);
    EXPECT_THROW(
        {
            for (int i = 0; i < 1000; i++) numbers.push_back(i);
        },
        std::bad_alloc);
    EXPECT_EQ(numbers.size(), 16u); // 4 + 8 + 16 + 32 + 64 bytes fit, 128 more do not
    for (int i = 0; i < 16; i++) EXPECT_EQ(numbers[static_cast<std::size_t>(i)], i);
    EXPECT_STREQ(flat::last_refusal().resource, "inline_arena");
    EXPECT_EQ(flat::last_refusal().bytes, 128u);
}

TEST(limited_resource, serves_exactly_its_budget) {
    owned_pool pool;
    flat::pool_resource below(*pool);
    flat::limited_resource resource(100, &below);
    void *first = resource.allocate(60, 8), *second = resource.allocate(40, 8);
    EXPECT_EQ(resource.live(), 100u);
    expect_refused(resource, 1, 1, "limited_resource");
    expect_refused(resource, 0, 1, "limited_resource");
    expect_refused(resource, SIZE_MAX, 1, "limited_resource");
    EXPECT_EQ(resource.try_allocate(1, 1), nullptr);
    EXPECT_EQ(resource.refused(), 4u);
    resource.deallocate(second, 40, 8);
    EXPECT_EQ(resource.live(), 60u);
    EXPECT_EQ(resource.high_water(), 100u);
    void *nothing = resource.allocate(0, 1);
    EXPECT_EQ(resource.live(), 61u);
    resource.deallocate(nothing, 0, 1);
    resource.deallocate(first, 60, 8);
    EXPECT_EQ(resource.live(), 0u);
    EXPECT_EQ(resource.budget(), 100u);
}

TEST(limited_resource, counts_nothing_that_was_not_served_below) {
    owned_pool pool({{64, 1}});
    flat::pool_resource below(*pool);
    flat::limited_resource resource(1000, &below);
    void *block = resource.allocate(64, 8);
    expect_refused(resource, 64, 8, "pool_resource");
    EXPECT_EQ(resource.try_allocate(64, 8), nullptr);
    EXPECT_EQ(resource.live(), 64u);
    EXPECT_EQ(resource.refused(), 0u);
    const test::recorded_misuse recorded;
    resource.deallocate(&pool, 64, 8); // refused by the upstream, so the bytes stay counted
    EXPECT_EQ(resource.live(), 64u);
    resource.deallocate(block, 64, 8);
    EXPECT_EQ(recorded.incidents.size(), 1u);
}

TEST(chain_resource, goes_through_three_in_order_and_frees_to_where_each_block_came_from) {
    owned_pool a({{64, 1}}), b({{64, 1}}), c({{64, 1}});
    flat::pool_resource first(*a), second(*b), third(*c);
    flat::chain_resource rest(&second, &third), to_the_right(&first, &rest);
    flat::chain_resource start(&first, &second), to_the_left(&start, &third);
    for (flat::chain_resource *chain : {&to_the_right, &to_the_left}) {
        void *blocks[3];
        const flat_pool *pools[] = {a, b, c};
        for (int i = 0; i < 3; i++) {
            blocks[i] = chain->allocate(64, 8);
            EXPECT_TRUE(flat_pool_owns(pools[i], blocks[i])) << i;
            EXPECT_TRUE(chain->owns(blocks[i]));
        }
        expect_refused(*chain, 64, 8, "pool_resource"); // the last resource that was asked
        EXPECT_EQ(chain->try_allocate(64, 8), nullptr);
        chain->deallocate(blocks[1], 64, 8);
        EXPECT_EQ(a.live() * 100 + b.live() * 10 + c.live(), 101);
        EXPECT_EQ(chain->allocate(64, 8), blocks[1]);
        for (int i = 2; i >= 0; i--) chain->deallocate(blocks[i], 64, 8);
        EXPECT_EQ(a.live() + b.live() + c.live(), 0);
        EXPECT_FALSE(chain->owns(&chain));
    }
}

TEST(chain_resource, ends_in_the_heap_where_the_heap_is_named) {
    flat::inline_arena<64> arena;
    counting_resource heap;
    flat::chain_resource chain(&arena, &heap);
    void *here = chain.allocate(64, 8), *there = chain.allocate(64, 8);
    EXPECT_EQ(heap.live, 1u);
    EXPECT_FALSE(chain.knows_its_blocks());
    chain.deallocate(here, 64, 8);
    EXPECT_EQ(heap.live, 1u);
    chain.deallocate(there, 64, 8);
    EXPECT_EQ(heap.live, 0u);
}

TEST(chain_resource, of_one_refuses_in_its_own_name) {
    flat::inline_arena<64> arena;
    flat::chain_resource chain(&arena);
    (void)chain.allocate(64, 8);
    expect_refused(chain, 1, 1, "chain_resource");
}

TEST(resources, are_equal_only_to_themselves) {
    owned_pool pool;
    flat::pool_resource one(*pool), other(*pool);
    flat::tracking_resource tracking(&one);
    EXPECT_EQ(one, one);
    EXPECT_NE(one, other);
    EXPECT_NE(static_cast<std::pmr::memory_resource &>(tracking), one);
    EXPECT_FALSE(one.is_equal(*std::pmr::new_delete_resource()));
}

TEST(resources, without_a_resource_below_refuse_in_their_own_name) {
    flat::limited_resource limited(1000);
    flat::tracking_resource tracking;
    flat::locked_resource locked;
    expect_refused(limited, 10, 8, "limited_resource");
    expect_refused(tracking, 10, 8, "tracking_resource");
    expect_refused(locked, 10, 8, "locked_resource");
    EXPECT_EQ(limited.live(), 0u);
    EXPECT_EQ(tracking.stats().requests, 0u);
}

TEST(resources, asked_with_errors_as_values_are_not_counted_as_refusals) {
    owned_pool pool({{64, 1}});
    flat::pool_resource resource(*pool);
    const std::uint64_t before = flat::last_refusal().count;
    EXPECT_EQ(resource.try_allocate(65, 8), nullptr);
    EXPECT_EQ(resource.try_allocate(16, 4096), nullptr);
    EXPECT_EQ(flat::last_refusal().count, before);
    void *block = resource.try_allocate(64, 64);
    EXPECT_TRUE(is_aligned(block, 64));
    EXPECT_EQ(resource.try_deallocate(block, 64, 64), FLAT_OK);
}
