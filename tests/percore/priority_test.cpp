// Runs an owner and a freeing thread with real-time priorities on one processor. The one of high priority preempts the
// other in the middle of its calls and keeps it from running, so a wait for the other thread would never end.
#include "core/processors.hpp"

#include <flatline/percore.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>

namespace {

constexpr std::size_t size = 64, count = 1000;
constexpr int low = 10, high = 20; // priorities
constexpr int wakes = 20000;       // of the high-priority thread

// The time between two wakes, in ns: shorter or longer than the other thread needs for all blocks.
long pause_before(int wake) { return 3000 + wake * 7919L % 30000; }

void sleep_for(long ns) {
    const timespec pause{0, ns};
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
}

// Blocks in transit from the owner to the freeing thread. The ring has room for all blocks.
struct ring {
    alignas(128) std::atomic<std::size_t> written{0};
    alignas(128) std::atomic<std::size_t> freed{0};
    void *blocks[count * 2];
};

class pair_of_threads {
  public:
    pair_of_threads() {
        const flat_class one{size, count};
        const flat_percore_options options{&one, 1, 1};
        if (flat_percore_create(&set_, &options, nullptr) != FLAT_OK) throw std::runtime_error("no set");
        shard_ = flat_percore_shard(set_, 0);
    }
    pair_of_threads(const pair_of_threads &) = delete;
    pair_of_threads &operator=(const pair_of_threads &) = delete;
    ~pair_of_threads() { flat_percore_destroy(set_); }

    // Allocates every block that the owner can get and passes it to the other thread. Returns whether it got any.
    bool allocate_to_exhaustion() {
        // A block is out of the owner's reach at most until its free has returned.
        const std::size_t out = ring_.written.load(std::memory_order_relaxed) - ring_.freed.load();
        std::size_t got = 0, at = ring_.written.load(std::memory_order_relaxed);
        for (; got < count; got++) {
            void *block = flat_percore_alloc(shard_, size);
            if (block == nullptr) break;
            ring_.blocks[at++ % (count * 2)] = block;
            ring_.written.store(at, std::memory_order_release);
        }
        missing_ += got + out < count ? 1 : 0;
        return got > 0;
    }

    // Frees one block, if there is one.
    bool free_one() {
        const std::size_t at = ring_.freed.load(std::memory_order_relaxed);
        if (ring_.written.load(std::memory_order_acquire) == at) return false;
        is_inside_ = true;
        refused_ += flat_percore_free(set_, ring_.blocks[at % (count * 2)]) == FLAT_OK ? 0U : 1U;
        is_inside_ = false;
        ring_.freed.store(at + 1, std::memory_order_release);
        return true;
    }

    // The work of the high-priority thread, which wakes at intervals.
    template <class Work> void wake(Work work) {
        for (int i = 0; i < wakes; i++) {
            sleep_for(pause_before(i));
            in_the_middle_ += is_inside_ ? 1 : 0;
            work();
        }
        done_ = true;
    }

    // The work of the low-priority thread, which runs between the wakes. It pauses for 5 us when it has nothing to do,
    // and now and then. A much shorter pause would end before the thread has left its processor.
    template <class Work> void work_until_done(Work work) {
        for (unsigned i = 1; !done_; i++) {
            if (!work() || i % 10000 == 0) sleep_for(5000);
        }
    }

    void require_all_back() {
        while (free_one()) {
        }
        EXPECT_EQ(missing_, 0u) << "the owner got less than was free";
        EXPECT_EQ(refused_, 0u);
        (void)flat_percore_flush(shard_);
        EXPECT_EQ(flat_pool_visit(shard_, nullptr, nullptr), 0u);
        EXPECT_EQ(flat_pool_check(shard_), FLAT_OK);
        EXPECT_EQ(flat_percore_check(shard_), FLAT_OK);
        EXPECT_EQ(flat_percore_late_double_frees(shard_), 0u);
    }

    int in_the_middle() const { return in_the_middle_; }

  private:
    flat_percore *set_ = nullptr;
    flat_pool *shard_ = nullptr;
    ring ring_;
    std::atomic<bool> done_{false};
    std::atomic<bool> is_inside_{false};
    int in_the_middle_ = 0; // wakes while the other thread was in a call
    std::size_t missing_ = 0, refused_ = 0;
};

// Returns false if the system refuses real-time priorities.
bool take_priority(int priority) {
    const sched_param param{priority};
    return pthread_setschedparam(pthread_self(), SCHED_FIFO, &param) == 0;
}

class priority : public testing::Test {
  protected:
    void SetUp() override {
        bool is_permitted = false;
        std::thread([&] { is_permitted = take_priority(low); }).join();
        if (!is_permitted) GTEST_SKIP() << "real-time priorities are refused here: needs CAP_SYS_NICE";
        // Half a second without a pause ends the test: a thread is waiting for one that cannot run.
        const rlimit limit{500000, 1000000};
        ASSERT_EQ(setrlimit(RLIMIT_RTTIME, &limit), 0);
    }

    template <class Low, class High> void run(Low with_low, High with_high) {
        const test::processors processors;
        std::thread first([&] {
            processors.keep_to(1);
            EXPECT_TRUE(take_priority(low));
            with_low();
        });
        std::thread second([&] {
            processors.keep_to(1);
            EXPECT_TRUE(take_priority(high));
            with_high();
        });
        second.join();
        first.join();
    }
};

} // namespace

TEST_F(priority, an_owner_that_preempts_a_free_goes_on_at_once) {
    const auto both = std::make_unique<pair_of_threads>();
    run([&] { both->work_until_done([&] { return both->free_one(); }); },
        [&] { both->wake([&] { (void)both->allocate_to_exhaustion(); }); });
    std::printf("%d of %d times in the middle of a free\n", both->in_the_middle(), wakes);
    EXPECT_GT(both->in_the_middle(), 0);
    both->require_all_back();
}

TEST_F(priority, a_free_that_preempts_the_owner_goes_on_at_once) {
    const auto both = std::make_unique<pair_of_threads>();
    run([&] { both->work_until_done([&] { return both->allocate_to_exhaustion(); }); },
        [&] {
            both->wake([&] {
                while (both->free_one()) {
                }
            });
        });
    both->require_all_back();
}
