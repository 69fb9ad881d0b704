// More than fits, from all sides: grants and pools that run out, tasks that stand still, stops and drains in the middle
// of a burst, and submitters that come, go and end. What was accepted is done or cancelled, once, and all comes back.
#include "core/environment.hpp"
#include "core/random_source.hpp"
#include "engine/stress.hpp"
#include "sanitizers.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <mutex>
#include <shared_mutex>

namespace {

using test::comes, test::gate, test::millisecond, test::patience;

constexpr std::array<flat_class, 3> classes{{{64, 120}, {512, 60}, {2048, 30}}};
constexpr std::array<flat_class_limits, 3> limits{{{10, 5, 0}, {6, 3, 0}, {3, 2, 0}}};
constexpr flat_class_limits inline_limits{16, 8, 0};
const std::vector<std::size_t> sizes{64, 512, 2048};

constexpr std::size_t live(std::size_t lanes, std::size_t workers) { return lanes * 19 + workers * 10; }

flat_engine_options options_for(std::size_t workers, std::size_t lanes, flat_waiting waiting = FLAT_WAITING_DEFAULT) {
    return {.worker_count = workers,
            .classes = classes.data(),
            .class_count = classes.size(),
            .class_limits = limits.data(),
            .inline_limits = inline_limits,
            .lane_count = lanes,
            .waiting = waiting};
}

// Counts of tasks that were accepted and of how they ended, as their always-run function sees it.
struct tally {
    std::atomic<std::uint64_t> accepted{0}, done{0}, expired{0}, cancelled{0};

    std::uint64_t ended() const { return done + expired + cancelled; }

    static void count(flat_worker *here, void *payload, std::size_t) {
        tally &of = *test::payload_as<tally *>(payload);
        switch (flat_engine_outcome(here)) {
        case FLAT_TASK_DONE: of.done++; break;
        case FLAT_TASK_EXPIRED: of.expired++; break;
        default: of.cancelled++;
        }
    }

    // Submits a task of any kind that counts itself here. FLAT_DEADLINE_PAST: the calling thread was not run for the
    // two milliseconds or more that this task has.
    flat_status submit(flat_engine *engine, flat_submitter *lane, std::size_t worker, test::random_source &random,
                       flat_task_function *run = count) {
        std::array<char, 2048> payload{};
        tally *self = this;
        std::memcpy(payload.data(), &self, sizeof self);
        flat_task task = {.run = run, .urgency = static_cast<unsigned>(random.below(4)), .always_run = true};
        if (random.one_in(8)) task.start_ns = flat_engine_now(engine) + random.below(2 * millisecond);
        if (random.one_in(8)) task.deadline_ns = flat_engine_now(engine) + 2 * millisecond + random.below(millisecond);
        const flat_status status = flat_engine_submit(lane, worker, &task, payload.data(),
                                                      sizeof self + random.below(payload.size() - sizeof self + 1));
        accepted += status == FLAT_OK;
        return status;
    }
};

// A task that submits two more to any workers, until one is refused.
void multiply(flat_worker *here, void *payload, std::size_t size) {
    const std::uint64_t now = flat_engine_now(flat_engine_of(here));
    tally &of = *test::payload_as<tally *>(payload);
    test::random_source random(now);
    if (flat_engine_outcome(here) == FLAT_TASK_DONE) {
        for (int i = 0; i < 2; i++) {
            const std::size_t worker = random.below(2);
            (void)of.submit(flat_engine_of(here), flat_engine_submitter(here), worker, random,
                            random.one_in(2) ? multiply : tally::count);
        }
    }
    tally::count(here, payload, size);
}

// ThreadSanitizer does not know that what a thread did comes before what others do who found by the system that it has
// ended. A thread that ends without leaving passes this as its last act; who may reclaim its lane then holds it.
std::shared_mutex ending;

void end_without_leaving() {
    if (test::thread_sanitizer) const std::unique_lock last(ending);
}

flat_submitter *take_lane(flat_engine *engine) {
    flat_submitter *lane = nullptr;
    EXPECT_TRUE(comes([&] {
        const std::shared_lock held(ending);
        return flat_engine_register(engine, &lane) == FLAT_OK;
    })) << "lost: no lane comes back";
    return lane;
}

} // namespace

TEST(engine_surge, grants_and_pools_run_out_on_every_worker_and_all_is_back_then) {
    constexpr std::size_t workers = 3, lanes = 2;
    const test::owned_engine engine(options_for(workers, lanes));
    for (int round = 0; round < 3; round++) {
        flat_submitter *lane = engine.lane(), *other = engine.lane();
        gate at(engine);
        // It takes all that is left of the worker's pool, and gives it back after the gate.
        const auto exhaust = [](flat_worker *here, void *payload, std::size_t size) {
            std::vector<void *> blocks;
            for (const std::size_t each : sizes) {
                while (void *block = flat_pool_alloc(flat_engine_pool(here), each)) blocks.push_back(block);
            }
            gate::stand(here, payload, size);
            for (void *block : blocks) {
                if (flat_pool_free(flat_engine_pool(here), block) != FLAT_OK) std::abort();
            }
        };
        std::atomic<unsigned> runs{0};
        const auto count = [](flat_worker *, void *payload, std::size_t) {
            (*test::payload_as<std::atomic<unsigned> *>(payload))++;
        };
        for (std::size_t i = 0; i < workers; i++) {
            ASSERT_EQ(test::submit_value(other, i, {.run = exhaust}, &at), FLAT_OK);
        }
        ASSERT_TRUE(comes([&] { return at.inside == workers; }));
        std::atomic<unsigned> *const counter = &runs;
        std::array<char, 2048> payload{};
        std::memcpy(payload.data(), &counter, sizeof counter);
        const flat_task task = {.run = count};
        unsigned accepted = 0;
        for (std::size_t worker = 0; worker < workers; worker++) {
            for (const std::size_t size : {sizeof counter, sizes[0], sizes[1], sizes[2]}) {
                const std::size_t capacity = flat_engine_capacity(lane, worker, size);
                for (std::size_t i = 0; i < capacity; i++, accepted++) {
                    ASSERT_EQ(flat_engine_submit(lane, worker, &task, payload.data(), size), FLAT_OK);
                }
                ASSERT_EQ(flat_engine_submit(lane, worker, &task, payload.data(), size),
                          size == sizeof counter ? FLAT_RING_FULL : FLAT_NO_GRANT);
            }
        }
        ASSERT_EQ(flat_engine_submit(lane, FLAT_ANY_WORKER, &task, payload.data(), 64), FLAT_NO_GRANT);
        EXPECT_EQ(runs, 0u);
        at.is_open = true;
        ASSERT_EQ(flat_engine_drain(engine, patience()), FLAT_OK);
        EXPECT_EQ(runs, accepted);
        flat_engine_unregister(lane);
        flat_engine_unregister(other);
        ASSERT_EQ(test::missing_of(engine, lanes, workers, sizes, live(lanes, workers)), "");
    }
}

TEST(engine_surge, a_worker_that_stands_in_a_task_holds_up_no_other_and_is_named) {
    constexpr std::size_t workers = 3, lanes = 2, stuck_worker = 1, behind = 5;
    const test::owned_engine engine(options_for(workers, lanes));
    flat_submitter *lane = engine.lane(), *other = engine.lane();
    gate at(engine);
    tally of;
    test::random_source random(1);
    ASSERT_TRUE(at.close_worker(lane, stuck_worker));
    tally *const self = &of;
    for (std::size_t i = 0; i < behind; i++) {
        ASSERT_EQ(test::submit_value(lane, stuck_worker, {.run = tally::count, .always_run = true}, self), FLAT_OK);
    }
    for (int i = 0; i < 2000; i++) {
        const std::uint64_t before = of.ended();
        flat_status status = FLAT_DEADLINE_PAST;
        while (status == FLAT_DEADLINE_PAST) status = of.submit(engine, other, i % 2 == 0 ? 0 : 2, random);
        ASSERT_EQ(status, FLAT_OK);
        ASSERT_TRUE(comes([&] { return of.ended() > before; })) << "lost";
    }
    const std::uint64_t ended = of.ended();
    ASSERT_EQ(flat_engine_drain(engine, 20 * millisecond), FLAT_TIMED_OUT);
    std::array<flat_stuck, 4> stuck;
    ASSERT_EQ(flat_engine_stuck(engine, stuck.data(), stuck.size()), 1u);
    EXPECT_EQ(stuck[0].worker, stuck_worker);
    EXPECT_EQ(stuck[0].run, gate::stand);
    EXPECT_GE(stuck[0].running_ns, 20 * millisecond);
    EXPECT_EQ(stuck[0].waiting, 1 + behind);
    EXPECT_NE(stuck[0].thread, 0u);
    EXPECT_EQ(of.ended(), ended);
    at.is_open = true;
    ASSERT_EQ(flat_engine_drain(engine, patience()), FLAT_OK);
    EXPECT_EQ(flat_engine_stuck(engine, stuck.data(), stuck.size()), 0u);
    EXPECT_EQ(of.ended(), ended + behind);
    flat_engine_unregister(lane);
    flat_engine_unregister(other);
    EXPECT_EQ(test::missing_of(engine, lanes, workers, sizes, live(lanes, workers)), "");
}

namespace {

// Submitters that submit as fast as they can while they may, and wait for the next round when they are refused.
class bursting {
  public:
    static constexpr std::size_t workers = 2, lanes = 3;

    explicit bursting(flat_waiting waiting) : engine(options_for(workers, lanes, waiting)) {
        for (std::size_t i = 0; i < lanes; i++) threads_.emplace_back([this, i] { burst(test::seed() + i); });
        while (registered_ != lanes) std::this_thread::yield();
    }
    bursting(const bursting &) = delete;
    bursting &operator=(const bursting &) = delete;
    ~bursting() {
        is_over_ = true;
        for (std::thread &each : threads_) each.join();
    }

    // All submitters were refused because the engine takes no more tasks.
    bool all_wait() {
        return comes([&] { return waiting_ == lanes; });
    }

    void go_on() {
        waiting_ = 0;
        flat_engine_resume(engine);
        round_++;
    }

    const test::owned_engine engine;
    tally of;
    std::atomic<bool> is_wrong{false};

  private:
    void burst(std::uint64_t seed) {
        test::random_source random(seed);
        flat_submitter *lane = engine.lane();
        registered_++;
        for (unsigned round = 0; !is_over_; round++) {
            for (flat_status status = FLAT_OK; status != FLAT_DRAINING && !is_over_;) {
                status =
                    of.submit(engine, lane, random.below(workers), random, random.one_in(16) ? multiply : tally::count);
                const bool is_full = status == FLAT_NO_GRANT || status == FLAT_RING_FULL;
                const bool is_late = status == FLAT_DEADLINE_PAST;
                if (status != FLAT_OK && status != FLAT_DRAINING && !is_full && !is_late) is_wrong = true;
            }
            waiting_++;
            while (round_ == round && !is_over_) std::this_thread::yield();
        }
        flat_engine_unregister(lane);
    }

    std::atomic<std::size_t> registered_{0}, waiting_{0};
    std::atomic<unsigned> round_{0};
    std::atomic<bool> is_over_{false};
    std::vector<std::thread> threads_;
};

class engine_bursts : public testing::TestWithParam<flat_waiting> {};

std::string waiting_name(const testing::TestParamInfo<flat_waiting> &of) {
    return of.param == FLAT_WAITING_BUSY ? "busy" : of.param == FLAT_WAITING_SLEEP ? "asleep" : "by_default";
}

} // namespace

TEST_P(engine_bursts, a_stop_completes_every_accepted_task_once) {
    bursting all(GetParam());
    test::random_source random(test::seed());
    const std::size_t rounds = test::scaled(60);
    for (std::size_t i = 0; i < rounds; i++) {
        std::this_thread::sleep_for(std::chrono::microseconds(random.below(3000)));
        ASSERT_EQ(flat_engine_stop(all.engine, patience()), FLAT_OK);
        const std::uint64_t ended = all.of.ended();
        ASSERT_TRUE(all.all_wait());
        ASSERT_EQ(all.of.accepted, ended) << "after round " << i;
        ASSERT_EQ(all.of.ended(), ended);
        ASSERT_FALSE(all.is_wrong);
        all.go_on();
    }
    EXPECT_GT(all.of.cancelled, 0u);
}

TEST_P(engine_bursts, no_accepted_task_is_left_when_any_of_several_drains_returns) {
    bursting all(GetParam());
    test::random_source random(test::seed());
    const std::size_t rounds = test::scaled(60);
    for (std::size_t i = 0; i < rounds; i++) {
        std::this_thread::sleep_for(std::chrono::microseconds(random.below(3000)));
        std::array<std::uint64_t, 3> ended{};
        std::array<flat_status, 3> status{};
        std::vector<std::thread> drains;
        for (std::size_t d = 0; d < ended.size(); d++) {
            drains.emplace_back([&, d] {
                status[d] = flat_engine_drain(all.engine, patience());
                ended[d] = all.of.ended();
            });
        }
        for (std::thread &each : drains) each.join();
        ASSERT_TRUE(all.all_wait());
        for (std::size_t d = 0; d < ended.size(); d++) {
            ASSERT_EQ(status[d], FLAT_OK) << "lost";
            ASSERT_EQ(all.of.accepted, ended[d]) << "after round " << i;
        }
        ASSERT_FALSE(all.is_wrong);
        all.go_on();
    }
    EXPECT_EQ(all.of.cancelled, 0u);
    EXPECT_GT(all.of.done, rounds);
}

INSTANTIATE_TEST_SUITE_P(while_workers_wait, engine_bursts,
                         testing::Values(FLAT_WAITING_DEFAULT, FLAT_WAITING_BUSY, FLAT_WAITING_SLEEP), waiting_name);

// More of them than processors, so that at each moment many stand in the middle of a submit.
TEST(engine_surge, a_drain_waits_for_nobody_that_is_refused_again_and_again) {
    constexpr std::size_t lanes = test::thread_sanitizer ? 48 : 200;
    const flat_class one{64, 2 * (lanes + 1)};
    const test::owned_engine engine(
        {.worker_count = 1, .classes = &one, .class_count = 1, .lane_count = lanes, .waiting = FLAT_WAITING_SLEEP});
    std::atomic<bool> is_over{false};
    std::atomic<std::uint64_t> accepted{0};
    std::atomic<std::size_t> registered{0};
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < lanes; i++) {
        threads.emplace_back([&] {
            flat_submitter *lane = engine.lane();
            registered++;
            const flat_task task = {.run = test::do_nothing};
            while (!is_over) {
                if (flat_engine_submit(lane, 0, &task, nullptr, 0) == FLAT_OK) accepted++;
            }
            flat_engine_unregister(lane);
        });
    }
    ASSERT_TRUE(comes([&] { return registered == lanes; }));
    for (int round = 0; round < 3; round++) {
        const std::uint64_t before = accepted;
        EXPECT_TRUE(comes([&] { return accepted > before; }));
        EXPECT_EQ(flat_engine_drain(engine, patience() / 2), FLAT_OK) << "lost";
        flat_engine_resume(engine);
    }
    is_over = true;
    for (std::thread &each : threads) each.join();
}

// The engine is destroyed while tasks submit tasks to each other's workers. Each that was accepted is disposed of.
TEST(engine_surge, tasks_that_tasks_submit_are_completed_when_the_engine_ends) {
    const std::size_t rounds = test::scaled(200);
    test::random_source random(test::seed());
    for (std::size_t i = 0; i < rounds; i++) {
        tally of;
        {
            const test::owned_engine engine(options_for(2, 1, i % 2 == 0 ? FLAT_WAITING_DEFAULT : FLAT_WAITING_SLEEP));
            flat_submitter *lane = engine.lane();
            for (int k = 0; k < 12; k++)
                (void)of.submit(engine, lane, static_cast<std::size_t>(k % 2), random, multiply);
            std::this_thread::sleep_for(std::chrono::microseconds(random.below(500)));
        }
        ASSERT_EQ(of.accepted, of.ended()) << "in round " << i;
    }
}

TEST(engine_surge, submitters_that_end_without_leaving_give_their_lanes_back_all_the_time) {
    constexpr std::size_t workers = 2, lanes = 3, threads_at_once = 4;
    const std::size_t lives = test::scaled(300);
    tally of;
    std::atomic<std::uint64_t> left{0}, held{0}; // lanes; grants, by the threads or by completions that nobody reads
    {
        const test::owned_engine engine(options_for(workers, lanes));
        const auto live_once = [&](std::uint64_t seed) {
            test::random_source random(seed);
            flat_submitter *lane = take_lane(engine);
            if (lane == nullptr) return;
            for (std::uint64_t i = random.below(200); i > 0; i--) {
                (void)of.submit(engine, lane, random.below(workers), random);
                if (random.one_in(32)) held += flat_engine_grant(lane, random.below(workers), 512) != nullptr;
                const flat_task unread = {.run = test::do_nothing, .completion = true};
                if (random.one_in(32))
                    held += flat_engine_submit(lane, random.below(workers), &unread, nullptr, 0) == FLAT_OK;
            }
            if (random.one_in(2)) return end_without_leaving();
            flat_engine_unregister(lane);
            left++;
        };
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < threads_at_once; i++) {
            threads.emplace_back([&, i] {
                for (std::size_t k = 0; k < lives; k++) std::thread(live_once, test::seed() + i * lives + k).join();
            });
        }
        for (std::thread &each : threads) each.join();
        EXPECT_GT(left, 0u);
        EXPECT_LT(left, threads_at_once * lives);
        EXPECT_GT(held, 0u);
        ASSERT_EQ(flat_engine_drain(engine, patience()), FLAT_OK);
        ASSERT_EQ(test::missing_of(engine, lanes, workers, sizes, live(lanes, workers)), "");
    }
    EXPECT_EQ(of.accepted, of.ended());
}
