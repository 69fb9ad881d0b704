// Tests a resource that threads share under a mutex with priority inheritance.
#include "core/environment.hpp"
#include "core/random_source.hpp"
#include "resource/incidents.hpp"
#include "resource/setups.hpp"

#include <flatline/resource.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <iostream>
#include <map>
#include <memory_resource>
#include <pthread.h>
#include <thread>
#include <vector>

namespace {

int asked_protocol = -1;
bool protocol_is_refused = false;

} // namespace

// Replaces the C library's function.
extern "C" int pthread_mutexattr_setprotocol(pthread_mutexattr_t *attributes, int protocol) noexcept {
    using function = int (*)(pthread_mutexattr_t *, int);
    asked_protocol = protocol;
    if (protocol_is_refused) return ENOTSUP;
    return reinterpret_cast<function>(dlsym(RTLD_NEXT, "pthread_mutexattr_setprotocol"))(attributes, protocol);
}

namespace {

constexpr int threads = 4;

// Allocates and frees random blocks, and fills every byte of a block with the thread's own mark.
void work(std::pmr::memory_resource &resource, unsigned char mark, std::size_t steps) {
    struct block {
        unsigned char *start;
        std::size_t bytes;
    };
    test::random_source random(test::seed() + mark);
    std::vector<block> live;
    for (std::size_t step = 0; step < steps; step++) {
        if (live.size() < 50 && random.below(2) == 0) {
            const std::size_t bytes = 1 + random.below(500);
            live.push_back({static_cast<unsigned char *>(resource.allocate(bytes, 8)), bytes});
            std::memset(live.back().start, mark, bytes);
        } else if (!live.empty()) {
            std::swap(live[random.below(live.size())], live.back());
            for (std::size_t i = 0; i < live.back().bytes; i++) ASSERT_EQ(live.back().start[i], mark);
            resource.deallocate(live.back().start, live.back().bytes, 8);
            live.pop_back();
        }
    }
    for (block of : live) resource.deallocate(of.start, of.bytes, 8);
}

// Makes every call slow, and notices a second call at the same time.
class slow_resource final : public flat::resource {
  public:
    int overlaps = 0;

  private:
    void stay() const noexcept {
        if (inside_.exchange(true)) const_cast<slow_resource *>(this)->overlaps++;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        inside_ = false;
    }
    void *do_allocate(std::size_t bytes, std::size_t alignment) override { return do_try_allocate(bytes, alignment); }
    void do_deallocate(void *block, std::size_t bytes, std::size_t alignment) override {
        (void)do_try_deallocate(block, bytes, alignment);
    }
    void *do_try_allocate(std::size_t, std::size_t) noexcept override {
        stay();
        return this;
    }
    flat_status do_try_deallocate(void *, std::size_t, std::size_t) noexcept override {
        stay();
        return FLAT_OK;
    }
    bool do_owns(const void *) const noexcept override {
        stay();
        return true;
    }
    bool do_knows_its_blocks() const noexcept override { return true; }
    mutable std::atomic<bool> inside_{false};
};

// Lets all threads call one function at the same time.
template <class Function> void expect_one_at_a_time(const char *what, Function function) {
    slow_resource below;
    flat::locked_resource locked(&below);
    std::vector<std::thread> callers;
    for (int i = 0; i < threads; i++) {
        callers.emplace_back([&] {
            for (int call = 0; call < 20; call++) function(locked);
        });
    }
    for (std::thread &caller : callers) caller.join();
    EXPECT_EQ(below.overlaps, 0) << what;
}

} // namespace

TEST(locked_resource, lets_one_call_at_a_time_through) {
    expect_one_at_a_time("allocate", [](flat::resource &of) { (void)of.allocate(8, 8); });
    expect_one_at_a_time("deallocate", [](flat::resource &of) { of.deallocate(&of, 8, 8); });
    expect_one_at_a_time("try_allocate", [](flat::resource &of) { (void)of.try_allocate(8, 8); });
    expect_one_at_a_time("try_deallocate", [](flat::resource &of) { (void)of.try_deallocate(&of, 8, 8); });
    expect_one_at_a_time("owns", [](flat::resource &of) { (void)of.owns(&of); });
}

TEST(locked_resource, gives_no_block_to_two_threads) {
    std::cout << "seed: FLATLINE_TEST_SEED=" << test::seed() << std::endl;
    test::locked_setup setup;
    std::vector<std::thread> workers;
    for (int i = 0; i < threads; i++) {
        workers.emplace_back(
            [&setup, i] { work(setup.resource(), static_cast<unsigned char>(i + 1), test::scaled(20000)); });
    }
    for (std::thread &worker : workers) worker.join();
    EXPECT_EQ(setup.blocks(), 0);
    EXPECT_EQ(flat_pool_check(setup.pool), FLAT_OK);
}

TEST(locked_resource, serves_containers_of_many_threads_over_a_resource_that_counts) {
    test::owned_pool pool;
    flat::pool_resource below(*pool);
    flat::tracking_resource tracking(&below);
    flat::locked_resource locked(&tracking);
    std::vector<std::thread> workers;
    for (int i = 0; i < threads; i++) {
        workers.emplace_back([&locked] {
            for (int round = 0; round < 20; round++) {
                std::pmr::map<int, int> map(&locked);
                for (int key = 0; key < 100; key++) map[key] = key;
                ASSERT_TRUE(locked.owns(&*map.begin()));
            }
        });
    }
    for (std::thread &worker : workers) worker.join();
    EXPECT_EQ(tracking.stats().live, 0u);
    EXPECT_EQ(tracking.stats().requests, threads * 20u * 100u);
}

TEST(locked_resource, knows_its_blocks_where_the_resource_below_does) {
    test::owned_pool pool({{64, 1}});
    flat::pool_resource knows(*pool), does_not(*pool, std::pmr::new_delete_resource());
    EXPECT_TRUE(flat::locked_resource(&knows).knows_its_blocks());
    EXPECT_FALSE(flat::locked_resource(&does_not).knows_its_blocks());
}

TEST(locked_resource, lets_go_of_its_lock_when_the_resource_below_throws) {
    test::owned_pool pool({{64, 1}});
    flat::pool_resource below(*pool);
    flat::locked_resource locked(&below);
    EXPECT_THROW((void)locked.allocate(65, 8), std::bad_alloc);
    std::thread([&locked] { locked.deallocate(locked.allocate(64, 8), 64, 8); }).join();
    EXPECT_EQ(pool.live(), 0);
}

TEST(locked_resource, asks_for_priority_inheritance) {
    asked_protocol = -1;
    const flat::locked_resource locked;
    EXPECT_EQ(asked_protocol, PTHREAD_PRIO_INHERIT);
}

TEST(locked_resource, is_not_made_without_priority_inheritance) {
    EXPECT_EXIT(
        {
            protocol_is_refused = true;
            flat::locked_resource locked;
        },
        testing::KilledBySignal(SIGABRT),
        "^flatline: locked_resource: the system has no mutex with priority inheritance\n$");
}
