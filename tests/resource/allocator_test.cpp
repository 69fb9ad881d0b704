// Tests flat::allocator: containers over each source, the documented traits, and the usual line for misuse.
#include "resource/heap_calls.hpp"
#include "resource/incidents.hpp"
#include "resource/setups.hpp"

#include <flatline/allocator.hpp>

#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <scoped_allocator>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace {

using test::owned_arena;
using test::owned_pool;

template <class T> using on_pool = flat::allocator<T, flat_pool>;

// A source of each kind. `blocks()` is as in setups.hpp.
struct pool_source {
    using type = flat_pool;
    owned_pool pool;
    flat_pool *source() { return pool; }
    std::ptrdiff_t blocks() const { return pool.live(); }
};
struct heap_source {
    using type = flat_heap;
    test::owned_heap heap;
    flat_heap *source() { return heap.get(); }
    std::ptrdiff_t blocks() const { return heap.live(); }
};
struct arena_source {
    using type = flat_arena;
    owned_arena arena;
    flat_arena *source() { return arena; }
    static std::ptrdiff_t blocks() { return 0; }
};
struct inline_source {
    using type = flat::inline_arena<(1 << 20)>;
    std::unique_ptr<type> arena = std::make_unique<type>();
    type *source() { return arena.get(); }
    static std::ptrdiff_t blocks() { return 0; }
};

template <class Subject> class allocator_of : public testing::Test {
  protected:
    Subject subject_;
    template <class T> using allocator = flat::allocator<T, typename Subject::type>;
};
using sources = testing::Types<pool_source, heap_source, arena_source, inline_source>;
TYPED_TEST_SUITE(allocator_of, sources);

} // namespace

TYPED_TEST(allocator_of, every_container_lives_without_the_heap) {
    using pair = std::pair<const int, int>;
    const std::uint64_t before = test::heap_calls();
    {
        auto *source = this->subject_.source();
        std::vector<int, typename TestFixture::template allocator<int>> vector(source);
        std::list<int, typename TestFixture::template allocator<int>> list(source);
        std::deque<int, typename TestFixture::template allocator<int>> deque(source);
        std::basic_string<char, std::char_traits<char>, typename TestFixture::template allocator<char>> text(source);
        std::map<int, int, std::less<>, typename TestFixture::template allocator<pair>> map(source);
        std::unordered_map<int, int, std::hash<int>, std::equal_to<>, typename TestFixture::template allocator<pair>>
            hashed(source);
        for (int i = 0; i < 300; i++) {
            vector.push_back(i);
            list.push_back(i);
            deque.push_front(i);
            text.push_back(static_cast<char>('a' + i % 26));
            map[i] = hashed[i] = i;
        }
        for (int i = 0; i < 300; i++) ASSERT_EQ(vector[static_cast<std::size_t>(i)] + map.at(i) + hashed.at(i), 3 * i);
        ASSERT_EQ(list.back() + deque.front(), 598);
        ASSERT_EQ(std::string_view(text).substr(26, 4), "abcd");
        for (int i = 0; i < 300; i += 2) EXPECT_EQ(map.erase(i) + hashed.erase(i), 2u);
        list.remove(7);
    }
    EXPECT_EQ(test::heap_calls() - before, 0u);
    EXPECT_EQ(this->subject_.blocks(), 0);
}

TYPED_TEST(allocator_of, exhaustion_throws_and_is_kept) {
    typename TestFixture::template allocator<std::uint64_t> numbers(this->subject_.source());
    for (std::size_t count : {std::size_t{1} << 28, SIZE_MAX / 8, SIZE_MAX / 8 + 1, SIZE_MAX}) {
        EXPECT_THROW((void)numbers.allocate(count), std::bad_alloc);
        EXPECT_STREQ(flat::last_refusal().resource, "allocator");
        EXPECT_EQ(flat::last_refusal().bytes, count > SIZE_MAX / 8 ? SIZE_MAX : count * 8);
        EXPECT_EQ(flat::last_refusal().alignment, alignof(std::uint64_t));
    }
    EXPECT_EQ(this->subject_.blocks(), 0);
}

TYPED_TEST(allocator_of, a_foreign_pointer_ends_the_program_with_one_line) {
    typename TestFixture::template allocator<std::uint64_t> numbers(this->subject_.source());
    std::uint64_t elsewhere[6] = {};
    EXPECT_EXIT(numbers.deallocate(elsewhere, 6), testing::KilledBySignal(SIGABRT),
                test::line_of("allocator", "free of the foreign pointer", 48));
    const test::recorded_misuse recorded;
    numbers.deallocate(elsewhere, 6);
    ASSERT_EQ(recorded.incidents.size(), 1u);
    EXPECT_EQ(recorded.incidents[0].block, elsewhere);
    EXPECT_EQ(recorded.incidents[0].alignment, alignof(std::uint64_t));
}

TYPED_TEST(allocator_of, objects_aligned_beyond_the_granule_are) {
    struct alignas(256) wide {
        char bytes[256];
    };
    typename TestFixture::template allocator<wide> wides(this->subject_.source());
    wide *first = wides.allocate(1), *second = wides.allocate(1);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 256, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(second) % 256, 0u);
    EXPECT_NE(first, second);
    wides.deallocate(first, 1);
    wides.deallocate(second, 1);
    EXPECT_EQ(this->subject_.blocks(), 0);
}

// The smallest class that fits such an object is not aligned enough.
TEST(allocator, objects_of_a_pool_come_from_a_class_that_is_aligned_for_them) {
    struct alignas(64) line {
        char bytes[64];
    };
    owned_pool pool({{80, 4}, {128, 4}});
    on_pool<line> lines(pool);
    (void)on_pool<char>(pool).allocate(80);
    line *first = lines.allocate(1), *second = lines.allocate(1);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(second) % 64, 0u);
}

TEST(allocator, a_double_free_and_an_interior_pointer_end_the_program_with_one_line) {
    owned_pool pool;
    on_pool<std::uint64_t> numbers(pool);
    std::uint64_t *kept = numbers.allocate(6), *block = numbers.allocate(6);
    numbers.deallocate(block, 6);
    EXPECT_EXIT(numbers.deallocate(block, 6), testing::KilledBySignal(SIGABRT),
                test::line_of("allocator", "double free", 48));
    EXPECT_EXIT(numbers.deallocate(kept + 1, 6), testing::KilledBySignal(SIGABRT),
                test::line_of("allocator", "free of the interior pointer", 48));
    numbers.deallocate(kept, 6);
    EXPECT_EQ(pool.live(), 0);
}

using traits = std::allocator_traits<on_pool<int>>;
static_assert(!traits::propagate_on_container_copy_assignment::value);
static_assert(traits::propagate_on_container_move_assignment::value);
static_assert(traits::propagate_on_container_swap::value);
static_assert(!traits::is_always_equal::value);
static_assert(std::is_same_v<traits::rebind_alloc<long>, on_pool<long>>);
static_assert(std::is_same_v<traits::pointer, int *> && sizeof(on_pool<int>) == sizeof(void *));
static_assert(std::is_convertible_v<flat_pool *, on_pool<int>> && !std::is_default_constructible_v<on_pool<int>>);
static_assert(std::is_nothrow_move_assignable_v<std::vector<int, on_pool<int>>>);

TEST(allocator, copies_share_the_source_and_copy_assignment_keeps_its_own) {
    owned_pool here, there;
    std::vector<int, on_pool<int>> first({1, 2, 3}, here.get()), second(there.get());
    const std::vector<int, on_pool<int>> copy(first);
    EXPECT_EQ(copy.get_allocator().source(), here);
    second = first;
    EXPECT_EQ(second, first);
    EXPECT_EQ(second.get_allocator().source(), there);
    EXPECT_EQ(here.live(), 2);
    EXPECT_EQ(there.live(), 1);
}

TEST(allocator, moves_and_swaps_take_the_source_along_and_allocate_nothing) {
    owned_pool here, there;
    std::list<int, on_pool<int>> first({1, 2, 3}, here.get()), second({4, 5}, there.get());
    const int *node = &first.front();
    flat_pool_stats before[16];
    const std::size_t count = flat_pool_get_stats(there, before, 16);
    second = std::move(first);
    EXPECT_EQ(second.get_allocator().source(), here);
    EXPECT_EQ(&second.front(), node);
    EXPECT_EQ(there.live(), 0);
    flat_pool_stats after[16];
    (void)flat_pool_get_stats(there, after, 16);
    for (std::size_t i = 0; i < count; i++) EXPECT_EQ(after[i].high_water, before[i].high_water);
    std::list<int, on_pool<int>> third({6}, there.get());
    second.swap(third);
    EXPECT_EQ(second.get_allocator().source(), there);
    EXPECT_EQ(third.get_allocator().source(), here);
    EXPECT_EQ(&third.front(), node);
}

TEST(allocator, is_equal_iff_the_source_is_the_same) {
    owned_pool here, there;
    EXPECT_TRUE(on_pool<int>(here) == on_pool<long>(here));
    EXPECT_TRUE(on_pool<int>(here) != on_pool<int>(there));
    EXPECT_FALSE(on_pool<int>(here) == on_pool<int>(there));
    EXPECT_FALSE(on_pool<int>(here) != on_pool<long>(here));
    EXPECT_TRUE(on_pool<long>(on_pool<int>(here)) == on_pool<int>(here));
}

TEST(allocator, reaches_the_elements_by_a_scoped_adaptor) {
    using text = std::basic_string<char, std::char_traits<char>, on_pool<char>>;
    owned_pool pool;
    std::vector<text, std::scoped_allocator_adaptor<on_pool<text>>> texts{on_pool<text>(pool)};
    texts.emplace_back("a text too long for any small-string buffer");
    EXPECT_EQ(texts.front().get_allocator().source(), pool);
    EXPECT_EQ(pool.live(), 2);
}

// std::allocate_shared requests one node that contains the object.
TEST(allocator, makes_shared_objects) {
    owned_pool pool;
    {
        const std::shared_ptr<int> number = std::allocate_shared<int>(on_pool<int>(pool), 42);
        EXPECT_EQ(*number, 42);
        EXPECT_EQ(pool.live(), 1);
    }
    EXPECT_EQ(pool.live(), 0);
}

TEST(allocator, counts_balance_when_elements_throw_in_the_middle_of_growth) {
    struct fragile {
        explicit fragile(int &turns) {
            if (turns-- == 0) throw 0;
        }
    };
    owned_pool pool;
    for (int place = 0; place < 20; place++) {
        std::list<fragile, on_pool<fragile>> list(pool.get());
        std::map<int, fragile, std::less<>, on_pool<std::pair<const int, fragile>>> map(pool.get());
        int turns = place;
        const auto fill = [&] {
            for (int i = 0; i < 10; i++) {
                list.emplace_back(turns);
                map.emplace(i, turns);
            }
        };
        EXPECT_THROW(fill(), int);
        EXPECT_EQ(pool.live(), place);
    }
    EXPECT_EQ(pool.live(), 0);
}
