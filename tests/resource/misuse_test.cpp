#include "resource/misuse.hpp"

#include <unistd.h>

namespace test {

INSTANTIATE_TYPED_TEST_SUITE_P(resources, misuse, resources_of_their_own);
INSTANTIATE_TYPED_TEST_SUITE_P(layers, misuse, resources_over_others);

using checked_resources =
    testing::Types<pool_setup, heap_setup, percore_setup, limited_setup, tracking_setup, chain_setup,
                   chain_of_three_setup, chain_from_the_left_setup, locked_setup, upstream_setup>;
INSTANTIATE_TYPED_TEST_SUITE_P(resources, checked_misuse, checked_resources);

TEST(misuse_handler, is_given_back_when_another_is_set_and_null_is_the_default) {
    const flat::misuse_handler mine = [](const flat::misuse &) {};
    EXPECT_EQ(flat::set_misuse_handler(mine), nullptr);
    EXPECT_EQ(flat::set_misuse_handler(nullptr), mine);
    EXPECT_EQ(flat::set_misuse_handler(nullptr), nullptr);
}

TEST(misuse_handler, runs_without_the_lock_of_a_locked_resource) {
    static locked_setup *setup;
    locked_setup local;
    setup = &local;
    const flat::misuse_handler before = flat::set_misuse_handler([](const flat::misuse &) {
        void *block = setup->resource().allocate(16, 8); // would deadlock if the lock were held
        setup->resource().deallocate(block, 16, 8);
    });
    alarm(10); // ends the program on a deadlock
    local.resource().deallocate(&local, 48, 8);
    alarm(0);
    EXPECT_EQ(local.blocks(), 0);
    flat::set_misuse_handler(before);
}

TEST(misuse, a_free_into_the_refusing_resource_is_foreign) {
    int block = 0;
    EXPECT_EXIT(flat::refusing_resource()->deallocate(&block, 48, 8), testing::KilledBySignal(SIGABRT),
                line_of("refusing_resource", "free of the foreign pointer", 48));
}

// A free of more bytes than are live is an error, even if the block is live.
TEST(misuse, a_budget_refuses_more_bytes_than_are_live) {
    limited_setup setup;
    void *block = setup.resource().allocate(48, 8);
    EXPECT_EXIT(setup.resource().deallocate(block, 49, 8), testing::KilledBySignal(SIGABRT),
                line_of("limited_resource", "free of the foreign pointer", 49));
    setup.resource().deallocate(block, 48, 8);
    EXPECT_EQ(setup.under.live(), 0u);
}

TEST(misuse, a_tracking_resource_refuses_a_size_of_which_nothing_is_live) {
    tracking_setup setup;
    void *block = setup.resource().allocate(48, 8);
    void *other = setup.resource().allocate(480, 8);
    EXPECT_EXIT(setup.resource().deallocate(block, 49, 8), testing::KilledBySignal(SIGABRT),
                line_of("tracking_resource", "free of the foreign pointer", 49));
    setup.resource().deallocate(block, 48, 8);
    setup.resource().deallocate(other, 480, 8);
    EXPECT_EQ(setup.blocks(), 0);
}

// Such a chain could not find out where a block came from.
TEST(misuse, a_chain_whose_first_cannot_tell_its_blocks_is_reported_and_goes_without_it) {
    owned_pool pool, other;
    flat::pool_resource second(*other);
    flat::pool_resource upstreamed(*pool, std::pmr::new_delete_resource());
    flat::limited_resource limited(1000, &upstreamed);
    EXPECT_FALSE(limited.knows_its_blocks());
    EXPECT_EXIT(flat::chain_resource(&limited, &second), testing::KilledBySignal(SIGABRT),
                "^flatline: chain_resource: the first resource cannot tell its own blocks\n$");
    const recorded_misuse recorded;
    flat::chain_resource chain(&limited, &second);
    ASSERT_EQ(recorded.incidents.size(), 1u);
    EXPECT_EQ(recorded.incidents[0].status, FLAT_INVALID_ARGUMENT);
    void *block = chain.allocate(48, 8);
    EXPECT_EQ(pool.live(), 0);
    EXPECT_EQ(other.live(), 1);
    chain.deallocate(block, 48, 8);
    EXPECT_EQ(other.live(), 0);
    EXPECT_EQ(recorded.incidents.size(), 1u);
}

TEST(misuse, a_chain_without_a_first_is_reported_and_goes_without_it) {
    flat::inline_arena<64> arena;
    const recorded_misuse recorded;
    flat::chain_resource chain(nullptr, &arena);
    EXPECT_EQ(recorded.incidents.size(), 1u);
    EXPECT_TRUE(arena.owns(chain.allocate(48, 8)));
}

TEST(misuse, a_region_that_cannot_be_is_reported_and_gives_nothing) {
    EXPECT_EXIT(flat::region_resource(flat_memory{nullptr, 100}), testing::KilledBySignal(SIGABRT),
                "^flatline: region_resource: the memory is null or wraps around\n$");
    const recorded_misuse recorded;
    flat::region_resource region(flat_memory{nullptr, 100});
    ASSERT_EQ(recorded.incidents.size(), 1u);
    EXPECT_EQ(recorded.incidents[0].status, FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(region.try_allocate(1, 1), nullptr);
    EXPECT_THROW((void)region.allocate(1, 1), std::bad_alloc);
}

} // namespace test
