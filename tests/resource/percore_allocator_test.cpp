// Tests flat::percore_allocator and flat::percore_local_allocator with containers whose blocks other threads free.
#include "core/environment.hpp"
#include "resource/handover.hpp"
#include "resource/heap_calls.hpp"
#include "resource/incidents.hpp"
#include "resource/setups.hpp"

#include <flatline/percore.hpp>

#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace {

using test::owned_percore;
using test::owned_pool;

struct any_thread {
    template <class T> using allocator = flat::percore_allocator<T>;
};
struct one_thread {
    template <class T> using allocator = flat::percore_local_allocator<T>;
};

// The containers of the tests, with either kind of allocator.
template <class Kind> struct made_with {
    template <class T> using allocator = typename Kind::template allocator<T>;
    using pair = std::pair<const int, int>;
    using vector = std::vector<int, allocator<int>>;
    using list = std::list<int, allocator<int>>;
    using deque = std::deque<int, allocator<int>>;
    using string = std::basic_string<char, std::char_traits<char>, allocator<char>>;
    using map = std::map<int, int, std::less<>, allocator<pair>>;
    using hashed = std::unordered_map<int, int, std::hash<int>, std::equal_to<>, allocator<pair>>;

    // One container of each kind, filled.
    struct all {
        vector numbers;
        list nodes;
        string text;
        map ordered;
        hashed unordered;

        explicit all(flat_pool *shard) : numbers(shard), nodes(shard), text(shard), ordered(shard), unordered(shard) {}
        void fill(int from, int to) {
            for (int i = from; i < to; i++) {
                numbers.push_back(i);
                nodes.push_back(i);
                text.push_back(static_cast<char>('a' + i % 26));
                ordered[i] = unordered[i] = i;
            }
        }
        void expect_filled(int to) const {
            ASSERT_EQ(numbers.size(), static_cast<std::size_t>(to));
            ASSERT_EQ(nodes.size(), static_cast<std::size_t>(to));
            for (int i = 0; i < to; i++) ASSERT_EQ(numbers[static_cast<std::size_t>(i)], i);
            ASSERT_EQ(nodes.back(), to - 1);
            ASSERT_EQ(text.size(), static_cast<std::size_t>(to));
            for (int i = 0; i < to; i++) ASSERT_EQ(ordered.at(i) + unordered.at(i), 2 * i);
        }
        void take_over(all &theirs) {
            numbers = std::move(theirs.numbers);
            nodes = std::move(theirs.nodes);
            text = std::move(theirs.text);
            ordered = std::move(theirs.ordered);
            unordered = std::move(theirs.unordered);
        }
    };
};

void expect_sound(const owned_percore &set) {
    for (std::size_t i = 0; i < flat_percore_shard_count(set.get()); i++) {
        EXPECT_EQ(flat_percore_check(set.shard(i)), FLAT_OK) << "shard " << i;
    }
    EXPECT_EQ(set.live(), 0);
}

template <class Kind> class percore_allocators : public testing::Test {
  protected:
    owned_percore set_{3};
    template <class T> using allocator = typename Kind::template allocator<T>;
    using with = made_with<Kind>;
};
using kinds = testing::Types<any_thread, one_thread>;
TYPED_TEST_SUITE(percore_allocators, kinds);

template <class T> using any = flat::percore_allocator<T>;
template <class T> using local = flat::percore_local_allocator<T>;
using traits = std::allocator_traits<any<int>>;
static_assert(!traits::propagate_on_container_copy_assignment::value);
static_assert(!traits::is_always_equal::value);
static_assert(std::is_same_v<traits::rebind_alloc<long>, any<long>>);
static_assert(std::is_same_v<std::allocator_traits<local<int>>::rebind_alloc<long>, local<long>>);
static_assert(std::is_same_v<traits::pointer, int *>);
static_assert(std::is_convertible_v<flat_pool *, any<int>> && !std::is_default_constructible_v<any<int>>);
static_assert(std::is_convertible_v<any<long>, any<int>>);
static_assert(!std::is_convertible_v<any<int>, local<int>> && !std::is_convertible_v<local<int>, any<int>>);
static_assert(std::is_nothrow_copy_constructible_v<any<int>> && std::is_trivially_copyable_v<any<int>>);

} // namespace

TYPED_TEST(percore_allocators, every_container_lives_without_the_heap) {
    const std::uint64_t before = test::heap_calls();
    {
        typename TestFixture::with::all containers(this->set_.shard(1));
        containers.fill(0, 300);
        typename TestFixture::with::deque deque(this->set_.shard(1));
        for (int i = 0; i < 300; i++) deque.push_front(i);
        containers.expect_filled(300);
        ASSERT_EQ(deque.front(), 299);
        containers.nodes.remove(7);
        EXPECT_EQ(this->set_.live(), this->set_.live(1));
    }
    EXPECT_EQ(test::heap_calls() - before, 0u);
    expect_sound(this->set_);
}

TYPED_TEST(percore_allocators, exhaustion_throws_and_is_kept) {
    typename TestFixture::template allocator<std::uint64_t> numbers(this->set_.shard(0));
    for (std::size_t count : {std::size_t{1} << 28, SIZE_MAX / 8, SIZE_MAX / 8 + 1, SIZE_MAX}) {
        EXPECT_THROW((void)numbers.allocate(count), std::bad_alloc);
        EXPECT_STREQ(flat::last_refusal().resource, numbers.name);
        EXPECT_EQ(flat::last_refusal().bytes, count > SIZE_MAX / 8 ? SIZE_MAX : count * 8);
        EXPECT_EQ(flat::last_refusal().alignment, alignof(std::uint64_t));
    }
    expect_sound(this->set_);
}

TYPED_TEST(percore_allocators, objects_aligned_beyond_the_granule_are) {
    struct alignas(256) wide {
        char bytes[256];
    };
    owned_percore set(2, {{272, 4}, {512, 4}}); // the smallest class that fits is not aligned enough
    typename TestFixture::template allocator<wide> wides(set.shard(1));
    wide *first = wides.allocate(1), *second = wides.allocate(1);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 256, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(second) % 256, 0u);
    EXPECT_NE(first, second);
    wides.deallocate(first, 1);
    wides.deallocate(second, 1);
    expect_sound(set);
}

TYPED_TEST(percore_allocators, misuse_ends_the_program_with_one_line) {
    typename TestFixture::template allocator<std::uint64_t> numbers(this->set_.shard(0));
    std::uint64_t elsewhere[6] = {};
    std::uint64_t *kept = numbers.allocate(6), *block = numbers.allocate(6);
    numbers.deallocate(block, 6);
    EXPECT_EXIT(numbers.deallocate(elsewhere, 6), testing::KilledBySignal(SIGABRT),
                test::line_of(numbers.name, "free of the foreign pointer", 48));
    EXPECT_EXIT(numbers.deallocate(block, 6), testing::KilledBySignal(SIGABRT),
                test::line_of(numbers.name, "double free", 48));
    EXPECT_EXIT(numbers.deallocate(kept + 1, 6), testing::KilledBySignal(SIGABRT),
                test::line_of(numbers.name, "free of the interior pointer", 48));
    const test::recorded_misuse recorded;
    numbers.deallocate(block, 6);
    ASSERT_EQ(recorded.incidents.size(), 1u);
    EXPECT_EQ(recorded.incidents[0].status, FLAT_DOUBLE_FREE);
    EXPECT_EQ(recorded.incidents[0].block, block);
    EXPECT_EQ(recorded.incidents[0].alignment, alignof(std::uint64_t));
    numbers.deallocate(kept, 6);
    expect_sound(this->set_);
}

TYPED_TEST(percore_allocators, is_not_made_over_a_pool_that_is_no_shard) {
    using numbers = typename TestFixture::template allocator<int>;
    owned_pool pool;
    const std::string line = std::string("^flatline: ") + numbers::name + ": the pool is no shard of a set\n$";
    EXPECT_EXIT(numbers{pool.get()}, testing::KilledBySignal(SIGABRT), line);
    EXPECT_EXIT(numbers{flat_percore_shard(this->set_.get(), 3)}, testing::KilledBySignal(SIGABRT), line);
}

TYPED_TEST(percore_allocators, are_equal_iff_they_are_of_one_set) {
    using ints = typename TestFixture::template allocator<int>;
    using longs = typename TestFixture::template allocator<long>;
    owned_percore other;
    const ints here(this->set_.shard(0)), there(this->set_.shard(1)), elsewhere(other.shard(0));
    EXPECT_TRUE(here == there);
    EXPECT_FALSE(here != there);
    EXPECT_TRUE(here == longs(there));
    EXPECT_FALSE(here == elsewhere);
    EXPECT_TRUE(longs(here) != elsewhere);
    EXPECT_EQ(ints(longs(there)).shard(), this->set_.shard(1));
}

TYPED_TEST(percore_allocators, containers_of_one_set_take_blocks_over_and_keep_their_handle) {
    using containers = typename TestFixture::with;
    {
        typename containers::all mine(this->set_.shard(0)), theirs(this->set_.shard(1));
        mine.fill(0, 5);
        theirs.fill(0, 100);
        const int *numbers = theirs.numbers.data(), *node = &theirs.nodes.front();
        const char *text = theirs.text.data();
        const auto *pair = &*theirs.ordered.begin();
        mine.take_over(theirs);
        EXPECT_EQ(mine.numbers.data(), numbers);
        EXPECT_EQ(&mine.nodes.front(), node);
        EXPECT_EQ(mine.text.data(), text);
        EXPECT_EQ(&*mine.ordered.begin(), pair);
        EXPECT_EQ(mine.numbers.get_allocator().shard(), this->set_.shard(0));
        const std::ptrdiff_t theirs_live = this->set_.live(1);
        mine.fill(100, 200);
        mine.expect_filled(200);
        EXPECT_LE(this->set_.live(1), theirs_live); // growth took blocks from shard 0, and freed old ones

        typename containers::vector one(3, 1, this->set_.shard(0)), two(4, 2, this->set_.shard(1));
        numbers = two.data();
        one.swap(two);
        EXPECT_EQ(one.data(), numbers);
        EXPECT_EQ(one.get_allocator().shard(), this->set_.shard(0));
        typename containers::vector extended(std::move(one), this->set_.shard(2));
        EXPECT_EQ(extended.data(), numbers);
        EXPECT_EQ(extended.get_allocator().shard(), this->set_.shard(2));
        two = extended; // the copy stays in two's own shard
        EXPECT_EQ(two.get_allocator().shard(), this->set_.shard(1));
        const typename containers::vector copy(extended);
        EXPECT_EQ(copy.get_allocator().shard(), this->set_.shard(2));

        typename containers::list first({1}, this->set_.shard(0)), second({2, 3}, this->set_.shard(1));
        node = &second.front();
        first.splice(first.end(), second);
        EXPECT_EQ(&*std::next(first.begin()), node);
        typename containers::map from(this->set_.shard(0)), to(this->set_.shard(1));
        from[1] = 2;
        to.insert(from.extract(1));
        EXPECT_EQ(to.at(1), 2);
    }
    expect_sound(this->set_);
}

TYPED_TEST(percore_allocators, containers_of_two_sets_move_their_elements) {
    owned_percore other;
    {
        typename TestFixture::with::vector here(100, 1, this->set_.shard(0)), there(50, 2, other.shard(0));
        const int *numbers = there.data();
        here = std::move(there);
        EXPECT_NE(here.data(), numbers);
        EXPECT_EQ(here.size(), 50u);
        EXPECT_EQ(here.get_allocator().set(), this->set_.get());
    }
    expect_sound(this->set_);
    expect_sound(other);
}

// A local free would put the block into the free list at once, and leave nothing to collect.
TEST(percore_allocator, gives_every_block_back_remotely_its_own_too) {
    owned_percore set;
    any<int> here(set.shard(0)), there(set.shard(1));
    int *first = here.allocate(4), *second = here.allocate(4);
    here.deallocate(first, 4);
    there.deallocate(second, 4);
    EXPECT_EQ(flat_percore_flush(set.shard(0)), 2u);
    expect_sound(set);
}

TEST(percore_local_allocator, gives_its_own_blocks_back_locally_and_others_remotely) {
    owned_percore set;
    local<int> here(set.shard(0)), there(set.shard(1));
    int *first = here.allocate(4), *second = there.allocate(4);
    here.deallocate(first, 4);
    here.deallocate(second, 4);
    EXPECT_EQ(flat_percore_flush(set.shard(0)), 0u);
    EXPECT_EQ(flat_percore_flush(set.shard(1)), 1u);
    expect_sound(set);
}

TEST(percore_allocator, makes_shared_objects_whose_last_owner_is_on_any_thread) {
    owned_percore set;
    std::shared_ptr<int> number = std::allocate_shared<int>(any<int>(set.shard(0)), 42);
    EXPECT_EQ(set.live(0), 1);
    std::thread([last = std::move(number)]() mutable {
        EXPECT_EQ(*last, 42);
        last.reset();
    }).join();
    expect_sound(set);
}

// One thread makes containers, another reads, empties and destroys them, while the first goes on allocating.
TEST(percore_allocator, containers_end_on_another_thread_than_their_own) {
    owned_percore set;
    using containers = made_with<any_thread>::all;
    test::handover<std::unique_ptr<containers>> travelling;
    const int rounds = static_cast<int>(test::scaled(200));
    std::thread maker([&] {
        for (int round = 0; round < rounds; round++) {
            auto made = std::make_unique<containers>(set.shard(0));
            made->fill(0, 1 + round % 60);
            travelling.put(std::move(made));
        }
    });
    std::thread user([&] {
        for (int round = 0; round < rounds; round++) {
            std::unique_ptr<containers> got = travelling.take();
            got->expect_filled(1 + round % 60);
            got->ordered.erase(0);
            got->nodes.clear();
            got->text.back() = 'z';
        }
    });
    maker.join();
    user.join();
    expect_sound(set);
}

// Both threads make containers. Each takes over those of the other, lets them grow and destroys them.
template <class Kind> void exchange_and_grow() {
    owned_percore set;
    using containers = typename made_with<Kind>::all;
    test::handover<containers *> to_first, to_second;
    const int rounds = static_cast<int>(test::scaled(100));
    const auto work = [&](std::size_t number, test::handover<containers *> &out, test::handover<containers *> &in) {
        for (int round = 0; round < rounds; round++) {
            containers made(set.shard(number)), mine(set.shard(number));
            made.fill(0, 20);
            out.put(&made);
            containers *theirs = in.take();
            mine.take_over(*theirs);
            out.put(nullptr); // finished with the other thread's containers
            EXPECT_EQ(in.take(), nullptr);
            mine.fill(20, 80);
            mine.expect_filled(80);
        }
    };
    std::thread second([&] { work(1, to_first, to_second); });
    work(0, to_second, to_first);
    second.join();
    expect_sound(set);
}

TEST(percore_allocator, containers_that_are_taken_over_grow_on_their_new_thread) { exchange_and_grow<any_thread>(); }

TEST(percore_local_allocator, containers_that_are_taken_over_grow_on_their_new_thread) {
    exchange_and_grow<one_thread>();
}

// The owner of a shard has ended, but its containers live on.
TEST(percore_allocator, containers_outlive_the_thread_that_made_them) {
    owned_percore set(1);
    std::unique_ptr<made_with<any_thread>::all> left;
    std::thread([&] {
        flat_pool *shard = flat_percore_adopt(set.get());
        ASSERT_NE(shard, nullptr);
        left = std::make_unique<made_with<any_thread>::all>(shard);
        left->fill(0, 50);
        flat_percore_leave(shard);
    }).join();
    left->expect_filled(50);
    left.reset();
    flat_pool *shard = flat_percore_adopt(set.get());
    ASSERT_NE(shard, nullptr);
    EXPECT_GT(flat_percore_flush(shard), 0u);
    expect_sound(set);
}
