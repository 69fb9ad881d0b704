// Tests flat::object_pool against a plain reference, the status of every address, and constructors that throw or use
// the pool.
#include "core/environment.hpp"
#include "core/random_source.hpp"
#include "resource/heap_calls.hpp"
#include "sanitizers.hpp"

#include <flatline/object_pool.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

struct counted {
    static inline int living = 0;
    int value;
    explicit counted(int of) : value(of) { living++; }
    counted(const counted &) = delete;
    ~counted() { living--; }
};

struct plain {
    std::uint32_t a, b, c;
};

struct alignas(128) wide {
    char byte;
};

// The pool is constant-initialised: no constructor runs at start-up, and the program's file has only zeros for it.
constinit flat::object_pool<plain, 1000> of_static_storage;

// Destroys the object at an address that the compiler cannot track.
flat_status destroy_at(auto &pool, std::uintptr_t address) {
    const volatile std::uintptr_t unknown = address;
    using object = std::remove_pointer_t<decltype(pool.construct(std::declval<int>()))>;
    return pool.destroy(reinterpret_cast<object *>(unknown));
}

} // namespace

static_assert(!std::is_copy_constructible_v<flat::object_pool<plain, 4>>);
static_assert(std::is_trivially_destructible_v<flat::object_pool<plain, 4>> || test::address_sanitizer);
static_assert(!std::is_trivially_destructible_v<flat::object_pool<std::string, 4>>);
static_assert(alignof(flat::object_pool<wide, 4>) == 128);
// The size is that of the objects, two bytes for each, and three numbers.
static_assert(sizeof(flat::object_pool<plain, 1000>) == 1000 * (sizeof(plain) + 2) + 24);

TEST(object_pool, constructs_until_it_is_full_and_then_refuses) {
    flat::object_pool<counted, 5> pool;
    std::array<counted *, 5> objects{};
    for (int i = 0; i < 5; i++) {
        objects[static_cast<std::size_t>(i)] = pool.construct(i);
        ASSERT_NE(objects[static_cast<std::size_t>(i)], nullptr);
    }
    EXPECT_EQ(counted::living, 5);
    EXPECT_EQ(pool.construct(5), nullptr);
    EXPECT_EQ(counted::living, 5);
    for (int i = 0; i < 5; i++) EXPECT_EQ(objects[static_cast<std::size_t>(i)]->value, i);
    EXPECT_EQ(pool.destroy(objects[3]), FLAT_OK);
    EXPECT_EQ(counted::living, 4);
    EXPECT_EQ(pool.construct(6), objects[3]);
    const flat_pool_stats stats = pool.stats();
    EXPECT_EQ(stats.block_size, sizeof(counted));
    EXPECT_EQ(stats.block_count, 5u);
    EXPECT_EQ(stats.live, 5u);
    EXPECT_EQ(stats.high_water, 5u);
    EXPECT_EQ(stats.refused, 1u);
}

TEST(object_pool, ends_what_is_still_live_with_itself) {
    {
        flat::object_pool<counted, 5> pool;
        counted *first = pool.construct(1);
        (void)pool.construct(2);
        (void)pool.construct(3);
        EXPECT_EQ(pool.destroy(first), FLAT_OK);
        EXPECT_EQ(counted::living, 2);
    }
    EXPECT_EQ(counted::living, 0);
}

TEST(object_pool, gives_every_address_its_status_and_changes_nothing) {
    flat::object_pool<counted, 6> pool;
    std::array<counted *, 4> objects{};
    for (int i = 0; i < 4; i++) objects[static_cast<std::size_t>(i)] = pool.construct(i);
    ASSERT_EQ(pool.destroy(objects[1]), FLAT_OK); // slots: live, freed, live, live, two never used
    const std::uintptr_t start = reinterpret_cast<std::uintptr_t>(objects[0]);
    for (std::uintptr_t address = start - 64; address < start + 6 * sizeof(counted) + 64; address++) {
        if (address == start || address == start + 2 * sizeof(counted) || address == start + 3 * sizeof(counted))
            continue;
        const flat_status expected = address < start || address >= start + 6 * sizeof(counted) ? FLAT_FOREIGN_POINTER
                                     : (address - start) % sizeof(counted) != 0                ? FLAT_INTERIOR_POINTER
                                                                                               : FLAT_DOUBLE_FREE;
        ASSERT_EQ(destroy_at(pool, address), expected) << static_cast<std::ptrdiff_t>(address - start);
        ASSERT_EQ(pool.owns(reinterpret_cast<void *>(address)), expected != FLAT_FOREIGN_POINTER);
    }
    EXPECT_EQ(destroy_at(pool, 8), FLAT_FOREIGN_POINTER);
    EXPECT_EQ(destroy_at(pool, UINTPTR_MAX), FLAT_FOREIGN_POINTER);
    EXPECT_EQ(pool.destroy(nullptr), FLAT_OK);
    EXPECT_EQ(counted::living, 3);
    EXPECT_EQ(pool.stats().live, 3u);
    EXPECT_EQ(pool.construct(9), objects[1]);
}

TEST(object_pool, random_operations_match_a_reference) {
    std::cout << "seed: FLATLINE_TEST_SEED=" << test::seed() << std::endl;
    for (std::size_t round = 0; round < test::scaled(50) && !HasFailure(); round++) {
        SCOPED_TRACE("FLATLINE_TEST_SEED=" + std::to_string(test::seed() + round));
        test::random_source random(test::seed() + round);
        constexpr std::size_t count = 37;
        auto pool = std::make_unique<flat::object_pool<counted, count>>();
        std::vector<std::pair<counted *, int>> live;
        std::vector<counted *> freed; // the object freed last is at the end
        std::set<counted *> used;
        std::uint64_t refused = 0;
        for (int step = 0; step < 2000 && !HasFailure(); step++) {
            if (random.below(100) < 52) {
                counted *object = pool->construct(step);
                ASSERT_EQ(object == nullptr, live.size() == count);
                if (object == nullptr) {
                    refused++;
                    continue;
                }
                if (!freed.empty()) {
                    ASSERT_EQ(object, freed.back()) << "the slot freed last did not come first";
                    freed.pop_back();
                } else {
                    ASSERT_TRUE(used.insert(object).second) << "a slot that is in use was handed out";
                }
                live.emplace_back(object, step);
            } else if (!live.empty()) {
                std::swap(live[random.below(live.size())], live.back());
                ASSERT_EQ(live.back().first->value, live.back().second);
                ASSERT_EQ(pool->destroy(live.back().first), FLAT_OK);
                ASSERT_EQ(pool->destroy(live.back().first), FLAT_DOUBLE_FREE);
                freed.push_back(live.back().first);
                live.pop_back();
            }
            ASSERT_EQ(counted::living, static_cast<int>(live.size()));
            const flat_pool_stats stats = pool->stats();
            ASSERT_EQ(stats.live, live.size());
            ASSERT_EQ(stats.high_water, used.size());
            ASSERT_EQ(stats.refused, refused);
        }
        pool.reset();
        ASSERT_EQ(counted::living, 0);
    }
}

TEST(object_pool, a_constructor_that_throws_gives_its_slot_back) {
    struct fragile {
        explicit fragile(bool breaks) {
            if (breaks) throw 0;
        }
    };
    flat::object_pool<fragile, 2> pool;
    EXPECT_THROW((void)pool.construct(true), int);
    EXPECT_EQ(pool.stats().live, 0u);
    fragile *first = pool.construct(false), *second = pool.construct(false);
    EXPECT_TRUE(first != nullptr && second != nullptr && first != second);
    EXPECT_EQ(pool.destroy(first), FLAT_OK);
    EXPECT_THROW((void)pool.construct(true), int);
    EXPECT_EQ(pool.construct(false), first);
}

// The constructor and destructor of this node use the pool that contains it.
TEST(object_pool, may_be_used_by_the_constructors_and_destructors_of_its_objects) {
    struct node;
    using node_pool = flat::object_pool<node, 4>;
    struct node {
        node_pool &pool;
        node *next;
        flat_status of_itself = FLAT_OK;
        flat_status &at_its_end;
        node(node_pool &in, int more, flat_status &end)
            : pool(in), next(more > 0 ? in.construct(in, more - 1, end) : nullptr), at_its_end(end) {
            of_itself = pool.destroy(this); // not an object yet
        }
        ~node() {
            at_its_end = pool.destroy(this); // not an object any more
            (void)pool.destroy(next);
        }
    };
    node_pool pool;
    flat_status at_the_end = FLAT_OK;
    node *first = pool.construct(pool, 3, at_the_end);
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(first->of_itself, FLAT_DOUBLE_FREE);
    EXPECT_EQ(pool.stats().live, 4u);
    EXPECT_EQ(pool.destroy(first), FLAT_OK);
    EXPECT_EQ(at_the_end, FLAT_DOUBLE_FREE);
    EXPECT_EQ(pool.stats().live, 0u);
}

TEST(object_pool, aligns_its_objects) {
    flat::object_pool<wide, 3> pool;
    for (int i = 0; i < 3; i++) EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pool.construct()) % 128, 0u);
}

TEST(object_pool, has_words_for_any_number_of_slots) {
    const auto pools_of = [](auto pool) {
        using pool_type = typename decltype(pool)::element_type;
        std::vector<char *> objects;
        while (char *object = pool->construct('x')) objects.push_back(object);
        EXPECT_EQ(objects.size(), pool_type::capacity());
        EXPECT_EQ(std::set<char *>(objects.begin(), objects.end()).size(), objects.size());
        for (char *object : objects) ASSERT_EQ(pool->destroy(object), FLAT_OK);
        EXPECT_EQ(pool->construct('y'), objects.back());
    };
    pools_of(std::make_unique<flat::object_pool<char, 1>>());
    pools_of(std::make_unique<flat::object_pool<char, 65533>>());
    pools_of(std::make_unique<flat::object_pool<char, 65534>>());
    pools_of(std::make_unique<flat::object_pool<char, 65536>>());
}

TEST(object_pool, of_static_storage_asks_nobody_for_memory) {
    const std::uint64_t before = test::heap_calls();
    plain *object = of_static_storage.construct(plain{1, 2, 3});
    ASSERT_NE(object, nullptr);
    EXPECT_EQ(object->c, 3u);
    EXPECT_EQ(of_static_storage.destroy(object), FLAT_OK);
    EXPECT_EQ(test::heap_calls() - before, 0u);
}

#if defined(FLAT_ADDRESS_SANITIZER)
TEST(object_pool, tells_address_sanitizer_of_freed_objects) {
    flat::object_pool<plain, 4> pool;
    plain *object = pool.construct(plain{1, 2, 3});
    EXPECT_EQ(pool.destroy(object), FLAT_OK);
    EXPECT_DEATH((void)*static_cast<volatile std::uint32_t *>(&object->a), "use-after-poison");
    EXPECT_EQ(pool.construct(plain{4, 5, 6}), object);
    EXPECT_EQ(object->a, 4u);
}
#endif
