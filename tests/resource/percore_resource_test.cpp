// Tests flat::percore_resource: a shard's blocks used through std::pmr and freed by any thread.
#include "core/environment.hpp"
#include "resource/handover.hpp"
#include "resource/incidents.hpp"
#include "resource/setups.hpp"

#include <flatline/percore.hpp>

#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <cstring>
#include <list>
#include <map>
#include <memory_resource>
#include <new>
#include <thread>
#include <type_traits>
#include <vector>

namespace {

using test::owned_percore;
using test::owned_pool;

static_assert(std::is_final_v<flat::percore_resource> && !std::is_copy_constructible_v<flat::percore_resource>);
static_assert(!std::is_convertible_v<flat_pool &, flat::percore_resource>);

void expect_sound(const owned_percore &set) {
    for (std::size_t i = 0; i < flat_percore_shard_count(set.get()); i++) {
        EXPECT_EQ(flat_percore_check(set.shard(i)), FLAT_OK) << "shard " << i;
    }
    EXPECT_EQ(set.live(), 0);
}

} // namespace

TEST(percore_resource, allocates_from_its_own_shard) {
    owned_percore set(3);
    flat::percore_resource resource(*set.shard(1));
    EXPECT_EQ(resource.shard(), set.shard(1));
    EXPECT_EQ(resource.set(), set.get());
    void *block = resource.allocate(48, 8);
    void *wide = resource.allocate(48, 64);
    void *tried = resource.try_allocate(48, 64);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(wide) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tried) % 64, 0u);
    for (void *of : {block, wide, tried}) EXPECT_EQ(flat_percore_shard_of(set.get(), of), 1u);
    resource.deallocate(block, 48, 8);
    resource.deallocate(wide, 48, 64);
    EXPECT_EQ(resource.try_deallocate(tried, 48, 64), FLAT_OK);
    expect_sound(set);
}

TEST(percore_resource, refuses_what_is_exhausted_and_what_no_class_holds) {
    owned_percore set(2, {{64, 2}, {128, 2}});
    flat::percore_resource resource(*set.shard(0));
    void *first = resource.allocate(64, 8), *second = resource.allocate(50, 8);
    for (std::size_t bytes : {std::size_t{33}, std::size_t{129}, SIZE_MAX}) {
        EXPECT_THROW((void)resource.allocate(bytes, 8), std::bad_alloc);
        EXPECT_STREQ(flat::last_refusal().resource, "percore_resource");
        EXPECT_EQ(flat::last_refusal().bytes, bytes);
        EXPECT_EQ(resource.try_allocate(bytes, 8), nullptr);
    }
    EXPECT_THROW((void)resource.allocate(16, 8192), std::bad_alloc);
    resource.deallocate(first, 64, 8);
    first = resource.allocate(64, 8);
    resource.deallocate(first, 64, 8);
    resource.deallocate(second, 50, 8);
    expect_sound(set);
}

// A local free would put the block into the free list at once, and leave nothing to collect.
TEST(percore_resource, gives_every_block_back_remotely_its_own_too) {
    owned_percore set;
    flat::percore_resource resource(*set.shard(0));
    void *first = resource.allocate(48, 8), *second = resource.allocate(48, 8);
    resource.deallocate(first, 48, 8);
    EXPECT_EQ(resource.try_deallocate(second, 48, 8), FLAT_OK);
    EXPECT_EQ(flat_percore_flush(set.shard(0)), 2u);
    expect_sound(set);
}

TEST(percore_resource, takes_the_blocks_of_every_shard_of_the_set_and_no_others) {
    owned_percore set(3), other;
    flat::percore_resource here(*set.shard(0)), there(*set.shard(2)), elsewhere(*other.shard(0));
    void *block = here.allocate(48, 8);
    EXPECT_TRUE(here.owns(block));
    EXPECT_TRUE(there.owns(block));
    EXPECT_FALSE(elsewhere.owns(block));
    EXPECT_TRUE(here.knows_its_blocks());
    EXPECT_EQ(elsewhere.try_deallocate(block, 48, 8), FLAT_FOREIGN_POINTER);
    there.deallocate(block, 48, 8);
    EXPECT_EQ(flat_percore_flush(set.shard(0)), 1u);
    EXPECT_EQ(here.try_deallocate(block, 48, 8), FLAT_DOUBLE_FREE);
    expect_sound(set);
}

TEST(percore_resource, is_equal_to_those_of_its_set_that_go_on_in_the_same_upstream) {
    owned_percore set(2), other;
    owned_pool pool;
    flat::pool_resource over_pool(*pool);
    flat::percore_resource here(*set.shard(0)), there(*set.shard(1)), elsewhere(*other.shard(0));
    flat::percore_resource into_pool(*set.shard(0), &over_pool), too(*set.shard(1), &over_pool);
    flat::percore_resource refusing(*set.shard(0), flat::refusing_resource());
    EXPECT_TRUE(here.is_equal(here));
    EXPECT_TRUE(here.is_equal(there));
    EXPECT_TRUE(there.is_equal(here));
    EXPECT_TRUE(into_pool.is_equal(too));
    EXPECT_TRUE(refusing.is_equal(there));
    EXPECT_FALSE(here.is_equal(elsewhere));
    EXPECT_FALSE(here.is_equal(into_pool)); // a block of the pool could not go back through `here`
    EXPECT_FALSE(here.is_equal(over_pool));
    EXPECT_FALSE(over_pool.is_equal(here));
    EXPECT_FALSE(here.is_equal(*std::pmr::new_delete_resource()));
}

TEST(percore_resource, containers_of_one_set_take_blocks_over_and_keep_their_resource) {
    owned_percore set;
    flat::percore_resource here(*set.shard(0)), there(*set.shard(1));
    {
        std::pmr::vector<int> mine(&here), theirs({1, 2, 3}, &there);
        const int *numbers = theirs.data();
        mine = std::move(theirs);
        EXPECT_EQ(mine.data(), numbers);
        EXPECT_EQ(mine.get_allocator().resource(), &here);
        std::pmr::list<int> my_list({1}, &here), their_list({2, 3}, &there);
        my_list.splice(my_list.end(), their_list);
        EXPECT_EQ(my_list, std::pmr::list<int>({1, 2, 3}));
        EXPECT_EQ(set.live(1), 3);
    }
    expect_sound(set);
}

TEST(percore_resource, goes_on_in_an_upstream_that_any_thread_may_give_blocks_to) {
    owned_percore set(2, {{64, 1}});
    flat::percore_resource resource(*set.shard(0), std::pmr::new_delete_resource());
    EXPECT_FALSE(resource.knows_its_blocks());
    void *first = resource.allocate(64, 8), *second = resource.allocate(64, 8);
    EXPECT_TRUE(resource.owns(first));
    EXPECT_FALSE(resource.owns(second));
    std::thread([&] {
        resource.deallocate(second, 64, 8);
        resource.deallocate(first, 64, 8);
    }).join();
    expect_sound(set);
}

TEST(percore_resource, is_not_made_over_a_pool_that_is_no_shard) {
    owned_pool pool;
    EXPECT_EXIT(flat::percore_resource{*pool}, testing::KilledBySignal(SIGABRT),
                "^flatline: percore_resource: the pool is no shard of a set\n$");
}

// One thread allocates and fills blocks, the other checks and frees them through its own resource.
TEST(percore_resource, gets_back_what_another_thread_frees_while_it_allocates) {
    owned_percore set(2, {{64, 100}, {512, 20}});
    test::handover<unsigned char *> blocks;
    const std::size_t turns = test::scaled(50000);
    const auto bytes_of = [](std::size_t turn) { return turn % 5 == 0 ? std::size_t{512} : std::size_t{64}; };
    std::thread producer([&] {
        flat::percore_resource resource(*set.shard(0));
        for (std::size_t turn = 0; turn < turns; turn++) {
            auto *block = static_cast<unsigned char *>(resource.try_allocate(bytes_of(turn), 8));
            ASSERT_NE(block, nullptr) << "turn " << turn; // at most 17 are in transit
            std::memset(block, static_cast<int>(turn % 251), bytes_of(turn));
            blocks.put(block);
        }
    });
    std::thread consumer([&] {
        flat::percore_resource resource(*set.shard(1));
        for (std::size_t turn = 0; turn < turns; turn++) {
            unsigned char *block = blocks.take();
            EXPECT_EQ(block[0], turn % 251);
            EXPECT_EQ(block[bytes_of(turn) - 1], turn % 251);
            resource.deallocate(block, bytes_of(turn), 8);
        }
    });
    producer.join();
    consumer.join();
    expect_sound(set);
}

// Exactly one of the two threads that free the block gets the report.
TEST(percore_resource, a_block_freed_by_two_threads_is_reported_once) {
    owned_percore set;
    flat::percore_resource here(*set.shard(0)), there(*set.shard(1));
    for (std::size_t round = 0; round < test::scaled(200); round++) {
        void *block = here.allocate(48, 8);
        flat_status first = FLAT_CORRUPTED, second = FLAT_CORRUPTED;
        std::thread other([&] { second = there.try_deallocate(block, 48, 8); });
        first = here.try_deallocate(block, 48, 8);
        other.join();
        ASSERT_TRUE((first == FLAT_OK && second == FLAT_DOUBLE_FREE) ||
                    (first == FLAT_DOUBLE_FREE && second == FLAT_OK))
            << flat_status_string(first) << ", " << flat_status_string(second);
    }
    expect_sound(set);
}

// Each thread has its own map, and the other thread destroys it.
TEST(percore_resource, containers_end_on_another_thread) {
    owned_percore set;
    using map = std::pmr::map<int, std::pmr::string>;
    const int rounds = static_cast<int>(test::scaled(200));
    test::handover<map *> to_first, to_second;
    const auto work = [&](std::size_t number, test::handover<map *> &out, test::handover<map *> &in) {
        flat::percore_resource resource(*set.shard(number));
        for (int round = 0; round < rounds; round++) {
            auto *made = ::new (resource.allocate(sizeof(map), alignof(map))) map(&resource);
            for (int i = 0; i < 20; i++) made->emplace(i, "a text too long for any small-string buffer");
            out.put(made);
            map *got = in.take();
            EXPECT_EQ(got->at(19), "a text too long for any small-string buffer");
            got->erase(7);
            got->~map();
            resource.deallocate(got, sizeof(map), alignof(map));
        }
        out.put(nullptr); // the other thread has destroyed all users of this resource
        EXPECT_EQ(in.take(), nullptr);
    };
    std::thread second([&] { work(1, to_first, to_second); });
    work(0, to_second, to_first);
    second.join();
    expect_sound(set);
}
