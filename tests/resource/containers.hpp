// Typed tests of every container of std::pmr over every resource, instantiated for the setups of setups.hpp.
#ifndef FLATLINE_TESTS_RESOURCE_CONTAINERS_HPP
#define FLATLINE_TESTS_RESOURCE_CONTAINERS_HPP

#include "resource/heap_calls.hpp"
#include "resource/setups.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory_resource>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace test {

inline std::string long_text(int number) {
    return "a text too long for any small-string buffer: " + std::to_string(number);
}

// An element that throws at a chosen copy or construction, and counts the live elements.
struct fragile {
    static inline int living = 0, until_throw = -1;
    int value;
    explicit fragile(int of) : value(of) {
        tick();
        living++;
    }
    fragile(const fragile &other) : value(other.value) {
        tick();
        living++;
    }
    fragile &operator=(const fragile &) = default;
    ~fragile() { living--; }
    bool operator<(const fragile &other) const { return value < other.value; }

    struct broken {};
    static void tick() {
        if (until_throw >= 0 && until_throw-- == 0) throw broken();
    }
};

template <class Subject> class containers : public testing::Test {
  protected:
    Subject setup_;
    std::pmr::memory_resource *resource() { return &setup_.resource(); }
    void TearDown() override { EXPECT_LE(setup_.blocks(), 0) << "blocks are left when every container is gone"; }
};
TYPED_TEST_SUITE_P(containers);

TYPED_TEST_P(containers, a_vector_grows_and_shrinks) {
    std::pmr::vector<int> numbers(this->resource());
    for (int i = 0; i < 1000; i++) numbers.push_back(i);
    EXPECT_EQ(std::accumulate(numbers.begin(), numbers.end(), 0), 499500);
    numbers.resize(10);
    numbers.shrink_to_fit();
    EXPECT_EQ(numbers.back(), 9);
}

TYPED_TEST_P(containers, a_string_grows) {
    std::pmr::string text(this->resource());
    std::string same;
    for (int i = 0; i < 500; i++) {
        text += static_cast<char>('a' + i % 26);
        same += static_cast<char>('a' + i % 26);
    }
    EXPECT_EQ(std::string_view(text), same);
}

TYPED_TEST_P(containers, a_map_takes_and_gives_nodes) {
    std::pmr::map<int, int> squares(this->resource());
    for (int i = 0; i < 500; i++) squares[i * 7 % 500] = i;
    for (int i = 0; i < 500; i += 2) squares.erase(i);
    EXPECT_EQ(squares.size(), 250u);
    for (int i = 0; i < 500; i++) squares[i] = i * i;
    for (int i = 0; i < 500; i++) ASSERT_EQ(squares.at(i), i * i);
}

TYPED_TEST_P(containers, an_unordered_map_rehashes) {
    std::pmr::unordered_map<int, int> squares(this->resource());
    for (int i = 0; i < 500; i++) squares[i] = i * i;
    for (int i = 0; i < 500; i++) ASSERT_EQ(squares.at(i), i * i);
    squares.clear();
    squares.rehash(0);
}

TYPED_TEST_P(containers, a_list_takes_and_gives_nodes) {
    std::pmr::list<int> numbers(this->resource());
    for (int i = 0; i < 500; i++) i % 2 ? numbers.push_back(i) : numbers.push_front(i);
    numbers.remove_if([](int i) { return i % 3 == 0; });
    EXPECT_EQ(numbers.size(), 333u);
}

TYPED_TEST_P(containers, a_deque_moves_along) {
    std::pmr::deque<int> numbers(this->resource());
    for (int i = 0; i < 200; i++) numbers.push_back(i);
    for (int i = 200; i < 1000; i++) {
        numbers.push_back(i);
        ASSERT_EQ(numbers.front(), i - 200);
        numbers.pop_front();
    }
}

TYPED_TEST_P(containers, elements_get_the_resource_of_their_container) {
    std::pmr::map<std::pmr::string, std::pmr::vector<std::pmr::string>> nested(this->resource());
    for (int i = 0; i < 20; i++) {
        nested[std::pmr::string(long_text(i % 5), this->resource())].emplace_back(long_text(i));
    }
    for (const auto &[key, texts] : nested) {
        ASSERT_EQ(key.get_allocator().resource(), this->resource());
        ASSERT_EQ(texts.get_allocator().resource(), this->resource());
        for (const auto &text : texts) ASSERT_EQ(text.get_allocator().resource(), this->resource());
    }
}

TYPED_TEST_P(containers, nothing_comes_from_the_heap) {
    if (!heap_is_counted) GTEST_SKIP() << "the sanitizer's malloc cannot be counted";
    const std::uint64_t before = heap_calls();
    {
        std::pmr::vector<int> numbers(this->resource());
        std::pmr::string text(this->resource());
        std::pmr::map<int, int> map(this->resource());
        std::pmr::unordered_map<int, int> hashed(this->resource());
        std::pmr::list<int> list(this->resource());
        std::pmr::deque<int> deque(this->resource());
        for (int i = 0; i < 300; i++) {
            numbers.push_back(i);
            text.push_back('x');
            map[i] = hashed[i] = i;
            list.push_back(i);
            deque.push_front(i);
        }
    }
    EXPECT_EQ(heap_calls() - before, 0u);
}

// Lets a constructor throw in the middle of growth, at every possible place.
template <class Fill> void throw_everywhere(Fill fill) {
    bool thrown = true;
    for (int place = 0; thrown; place++) {
        thrown = false;
        fragile::until_throw = place;
        try {
            fill();
        } catch (const fragile::broken &) {
            thrown = true;
        }
        fragile::until_throw = -1;
        ASSERT_EQ(fragile::living, 0) << "after the throw at place " << place;
        ASSERT_LT(place, 10000);
    }
}

TYPED_TEST_P(containers, counts_balance_when_elements_throw_in_the_middle_of_growth) {
    throw_everywhere([this] {
        std::pmr::vector<fragile> numbers(this->resource());
        for (int i = 0; i < 20; i++) numbers.push_back(fragile(i));
    });
    throw_everywhere([this] {
        std::pmr::map<int, fragile> map(this->resource());
        for (int i = 0; i < 20; i++) map.emplace(i, i);
    });
    throw_everywhere([this] {
        std::pmr::unordered_map<int, fragile> map(this->resource());
        for (int i = 0; i < 20; i++) map.emplace(i, i);
    });
    throw_everywhere([this] {
        std::pmr::list<fragile> list(this->resource());
        for (int i = 0; i < 20; i++) list.emplace_back(i);
    });
    throw_everywhere([this] {
        std::pmr::deque<fragile> deque(this->resource());
        for (int i = 0; i < 20; i++) deque.emplace_front(i);
    });
}

// By the standard, a polymorphic_allocator does not propagate: it stays with its container.
TYPED_TEST_P(containers, a_polymorphic_allocator_does_not_propagate) {
    using traits = std::allocator_traits<std::pmr::polymorphic_allocator<int>>;
    static_assert(!traits::propagate_on_container_copy_assignment::value);
    static_assert(!traits::propagate_on_container_move_assignment::value);
    static_assert(!traits::propagate_on_container_swap::value);
    owned_pool other;
    flat::pool_resource elsewhere(*other);
    {
        std::pmr::vector<int> here(100, 1, this->resource()), there(50, 2, &elsewhere);
        const int *old = there.data();
        here = there;
        EXPECT_EQ(here.get_allocator().resource(), this->resource());
        here = std::move(there); // different resources: elements move one by one, the block stays
        EXPECT_EQ(here.get_allocator().resource(), this->resource());
        EXPECT_NE(here.data(), old);
        std::pmr::vector<int> taken(std::move(here)); // move construction takes block and resource
        EXPECT_EQ(taken.get_allocator().resource(), this->resource());
        EXPECT_EQ(taken, std::pmr::vector<int>(50, 2, this->resource()));
        std::pmr::vector<int> copied(taken); // a copy uses the default resource, normally the heap's
        EXPECT_EQ(copied.get_allocator().resource(), std::pmr::get_default_resource());
    }
    EXPECT_EQ(other.live(), 0);
}

REGISTER_TYPED_TEST_SUITE_P(containers, a_vector_grows_and_shrinks, a_string_grows, a_map_takes_and_gives_nodes,
                            an_unordered_map_rehashes, a_list_takes_and_gives_nodes, a_deque_moves_along,
                            elements_get_the_resource_of_their_container, nothing_comes_from_the_heap,
                            counts_balance_when_elements_throw_in_the_middle_of_growth,
                            a_polymorphic_allocator_does_not_propagate);

} // namespace test

#endif
