// What <flatline/engine.hpp> promises: every callable runs once or not at all and is destroyed once, results stay in
// their blocks, and nothing calls the heap after the start.
#include <flatline/engine.hpp>

#include <flatline/allocator.hpp>
#include <flatline/resource.hpp>

#include "resource/heap_calls.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <memory_resource>
#include <vector>

namespace {

constexpr std::uint64_t one_second = 1'000'000'000;

/// Counts its objects: `made` and `ended` count only those that hold something, `ran` its calls.
struct Counts {
    int made = 0, ended = 0, ran = 0;
};

class Counted {
  public:
    explicit Counted(Counts &counts) : counts_(&counts) { counts_->made++; }
    Counted(Counted &&other) noexcept : counts_(std::exchange(other.counts_, nullptr)) {}
    Counted(const Counted &) = delete;
    Counted &operator=(const Counted &) = delete;
    Counted &operator=(Counted &&) = delete;
    ~Counted() {
        if (counts_ != nullptr) counts_->ended++;
    }
    void operator()() const { counts_->ran++; }

  private:
    Counts *counts_;
};

/// An engine of one worker whose steps the test makes.
class Stepped : public testing::Test {
  protected:
    void SetUp() override {
        const std::array<flat_class, 2> classes = {flat_class{128, 16}, flat_class{1024, 4}};
        flat::engine_options options;
        options.classes = classes;
        options.lane_count = 1;
        options.caller_runs_workers = true;
        ASSERT_EQ(engine.start(options), FLAT_OK);
        ASSERT_EQ(lanes.attach(engine), FLAT_OK);
        before = test::heap_calls();
    }
    void TearDown() override {
        lanes.detach();
        engine = flat::engine();
    }
    void run_all() {
        while (engine.step(0)) continue;
    }
    void expect_no_heap_call() const {
        if (test::heap_is_counted) {
            EXPECT_EQ(test::heap_calls(), before);
        }
    }

    flat::engine engine;
    flat::submitter lanes;
    std::uint64_t before = 0;
};

using EngineHpp = Stepped;

TEST_F(EngineHpp, ATrivialCallableTravelsInTheDescriptor) {
    int sum = 0;
    // Both classes' grants are held: what is accepted needed no block.
    while (flat_engine_grant(lanes.get(), 0, 100) != nullptr) continue;
    EXPECT_EQ(lanes.submit(0, [&sum] { sum += 1; }), FLAT_OK);
    EXPECT_EQ(lanes.submit(FLAT_ANY_WORKER, [&sum](flat::worker &here) { sum += 10 + int(here.number()); }), FLAT_OK);
    run_all();
    EXPECT_EQ(sum, 11);
    expect_no_heap_call();
}

TEST_F(EngineHpp, ALargeCallableIsConstructedInABlock) {
    std::array<int, 50> values{};
    values.back() = 7;
    int got = 0;
    EXPECT_EQ(lanes.submit(0, [values, &got] { got = values.back(); }), FLAT_OK);
    run_all();
    EXPECT_EQ(got, 7);
    EXPECT_EQ(lanes.submit(FLAT_ANY_WORKER, [values, &got] { got = values.back() + 1; }), FLAT_OK);
    run_all();
    EXPECT_EQ(got, 8);
    const std::array<char, 2000> too_large{};
    EXPECT_EQ(lanes.submit(0, [too_large] { (void)too_large; }), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(lanes.submit(FLAT_ANY_WORKER, [too_large] { (void)too_large; }), FLAT_INVALID_ARGUMENT);
    expect_no_heap_call();
}

TEST_F(EngineHpp, ACallableThatRanIsDestroyedOnce) {
    Counts counts;
    EXPECT_EQ(lanes.submit(0, Counted(counts)), FLAT_OK);
    EXPECT_EQ(counts.ended, 0);
    run_all();
    EXPECT_EQ(counts.ran, 1);
    EXPECT_EQ(counts.ended, counts.made);
    expect_no_heap_call();
}

TEST_F(EngineHpp, ACallableThatExpiredIsDestroyedOnceAndNotRun) {
    Counts counts;
    flat::task_options soon;
    soon.deadline_ns = engine.now() + 100'000'000;
    ASSERT_EQ(lanes.submit(0, Counted(counts), soon), FLAT_OK);
    while (engine.now() <= soon.deadline_ns + 1'000'000) continue;
    run_all();
    EXPECT_EQ(counts.ran, 0);
    EXPECT_EQ(counts.ended, 1);
}

TEST_F(EngineHpp, ACallableThatIsCancelledIsDestroyedOnceAndNotRun) {
    Counts counts;
    flat_ticket ticket = 0;
    flat::task_options options;
    options.ticket = &ticket;
    ASSERT_EQ(lanes.submit(0, Counted(counts), options), FLAT_OK);
    EXPECT_EQ(lanes.cancel(ticket), FLAT_OK);
    run_all();
    EXPECT_EQ(counts.ran, 0);
    EXPECT_EQ(counts.ended, 1);
    EXPECT_EQ(lanes.cancel(ticket), FLAT_STALE_TICKET);
}

TEST_F(EngineHpp, ACallableThatAStopCancelsIsDestroyedOnce) {
    Counts counts;
    ASSERT_EQ(lanes.submit(0, Counted(counts)), FLAT_OK);
    EXPECT_EQ(engine.stop(0), FLAT_TIMED_OUT);
    run_all();
    EXPECT_EQ(engine.stop(one_second), FLAT_OK);
    EXPECT_EQ(counts.ran, 0);
    EXPECT_EQ(counts.ended, 1);
}

TEST_F(EngineHpp, ACallableThatIsRefusedIsDestroyedOnceAndItsGrantComesBack) {
    Counts counts;
    flat::task_options late;
    late.deadline_ns = 1;
    for (int i = 0; i < 100; i++) ASSERT_EQ(lanes.submit(0, Counted(counts), late), FLAT_DEADLINE_PAST);
    EXPECT_EQ(counts.made, 100);
    EXPECT_EQ(counts.ended, 100);
    EXPECT_EQ(counts.ran, 0);
}

TEST_F(EngineHpp, WithoutAGrantTheCallableIsNotTouched) {
    while (flat_engine_grant(lanes.get(), 0, sizeof(Counted)) != nullptr) continue;
    Counts counts;
    Counted callable(counts);
    EXPECT_EQ(lanes.submit(0, std::move(callable)), FLAT_NO_GRANT);
    callable(); // it still has what it held
    EXPECT_EQ(counts.ran, 1);
    EXPECT_EQ(lanes.submit(5, std::move(callable)), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(counts.ended, 0);
}

#if defined(__cpp_exceptions)
struct ThrowsWhenCopied {
    ThrowsWhenCopied() = default;
    ThrowsWhenCopied(const ThrowsWhenCopied &) { throw 1; }
    void operator()() const {}
};

TEST_F(EngineHpp, AConstructorThatThrowsLosesNoGrant) {
    const ThrowsWhenCopied callable;
    flat::completion<> handle;
    for (int i = 0; i < 100; i++) {
        EXPECT_THROW((void)lanes.submit(0, callable), int);
        EXPECT_THROW((void)lanes.submit(0, handle, callable), int);
    }
    EXPECT_FALSE(handle.valid());
    EXPECT_EQ(lanes.submit(0, [vector = std::vector<int>()] { (void)vector; }), FLAT_OK);
    run_all();
}

TEST_F(EngineHpp, ATaskThatThrowsEndsTheProgram) {
    ASSERT_EQ(lanes.submit(0, [] { throw 1; }), FLAT_OK);
    // Not by `engine.step`: nothing may pass through it, so that it would end the program as well.
    EXPECT_DEATH((void)flat_engine_step(engine.get(), 0), "terminate");
    lanes = flat::submitter();
}
#endif

TEST_F(EngineHpp, ACaptureMayBeMoveOnly) {
    auto owned = std::make_unique<int>(42);
    int got = 0;
    ASSERT_EQ(lanes.submit(0, [owned = std::move(owned), &got] { got = *owned; }), FLAT_OK);
    EXPECT_EQ(owned, nullptr);
    run_all();
    EXPECT_EQ(got, 42);
}

TEST_F(EngineHpp, ADeferredCallableIsTheSameObjectAndDestroyedOnce) {
    Counts counts;
    int runs = 0;
    auto again = [counted = Counted(counts), left = 3, &runs](flat::worker &here) mutable {
        runs++;
        if (--left > 0) {
            EXPECT_EQ(here.defer(0), FLAT_OK);
        }
    };
    ASSERT_EQ(lanes.submit(0, std::move(again)), FLAT_OK);
    run_all();
    EXPECT_EQ(runs, 3);
    EXPECT_EQ(counts.ended, 1);
    auto in_the_descriptor = [left = 3, &runs](flat::worker &here) mutable {
        runs++;
        if (--left > 0) {
            EXPECT_EQ(here.defer(0), FLAT_OK);
        }
    };
    ASSERT_EQ(lanes.submit(0, in_the_descriptor), FLAT_OK);
    run_all();
    EXPECT_EQ(runs, 6);
}

TEST_F(EngineHpp, AnAllocatorAndAResourceTakeFromTheWorkersPool) {
    int sum = 0;
    bool inside = false;
    ASSERT_EQ(lanes.submit(0,
                           [&sum, &inside](flat::worker &here) {
                               flat::pool_resource memory(here.pool());
                               std::pmr::vector<int> first({1, 2, 3}, &memory);
                               std::vector<int, flat::allocator<int, flat_pool>> second({4, 5}, &here.pool());
                               inside = flat_pool_owns(&here.pool(), first.data()) &&
                                        flat_pool_owns(&here.pool(), second.data());
                               for (const int each : first) sum += each;
                               for (const int each : second) sum += each;
                           }),
              FLAT_OK);
    run_all();
    EXPECT_EQ(sum, 15);
    EXPECT_TRUE(inside);
    expect_no_heap_call();
}

TEST_F(EngineHpp, ATaskSubmitsThroughItsWorkersLanes) {
    int sum = 0;
    ASSERT_EQ(lanes.submit(0,
                           [&sum](flat::worker &here) {
                               const flat_status status = here.lanes().submit(0, [&sum] { sum = 5; });
                               EXPECT_EQ(status, FLAT_OK);
                           }),
              FLAT_OK);
    run_all();
    EXPECT_EQ(sum, 5);
}

TEST_F(EngineHpp, AResultIsLeftInTheBlockUntilTheHandleEnds) {
    struct Price {
        double value;
        Price *self;
    };
    {
        flat::completion<Price> price;
        EXPECT_FALSE(price.valid());
        ASSERT_EQ(lanes.submit(0, price, [] { return Price{2.5, nullptr}; }), FLAT_OK);
        EXPECT_TRUE(price.valid() && !price.ready() && price.result() == nullptr);
        run_all();
        EXPECT_EQ(lanes.poll(), 1U);
        ASSERT_TRUE(price.ready());
        EXPECT_EQ(price.outcome(), FLAT_TASK_DONE);
        ASSERT_NE(price.result(), nullptr);
        const Price *place = price.result();
        for (int i = 0; i < 100; i++) { // other tasks do not get its block
            flat::completion<Price> other;
            ASSERT_EQ(lanes.submit(0, other, [i] { return Price{double(i), nullptr}; }), FLAT_OK);
            run_all();
            lanes.poll();
            ASSERT_NE(other.result(), place);
            ASSERT_EQ(other.result()->value, i);
        }
        EXPECT_EQ(price.result(), place);
        EXPECT_EQ(place->value, 2.5);
    }
    expect_no_heap_call();
}

TEST_F(EngineHpp, EveryGrantOfACompletionComesBack) {
    const std::size_t grants = flat_engine_capacity(lanes.get(), 0, 100);
    for (int round = 0; round < 10; round++) {
        std::array<flat::completion<int>, 64> handles;
        std::size_t accepted = 0;
        while (accepted < handles.size() && lanes.submit(0, handles[accepted], [round] { return round; }) == FLAT_OK) {
            accepted++;
        }
        ASSERT_EQ(accepted, grants) << "in round " << round;
        if (round % 3 == 0) handles[0].reset(); // given up in flight
        if (round % 3 == 1) handles[1] = std::move(handles[0]);
        run_all();
        EXPECT_EQ(lanes.poll(), accepted);
    }
    expect_no_heap_call();
}

TEST_F(EngineHpp, AHandleMovesWithItsTask) {
    flat::completion<int> first;
    ASSERT_EQ(lanes.submit(0, first, [] { return 3; }), FLAT_OK);
    flat::completion<int> second(std::move(first));
    EXPECT_FALSE(first.valid());
    run_all();
    lanes.poll();
    ASSERT_TRUE(second.ready());
    first = std::move(second);
    ASSERT_NE(first.result(), nullptr);
    EXPECT_EQ(*first.result(), 3);
    EXPECT_FALSE(second.ready());
}

TEST_F(EngineHpp, ACompletionTellsOfExpiryAndCancellation) {
    Counts counts;
    flat::completion<> cancelled, expired;
    ASSERT_EQ(lanes.submit(0, cancelled, Counted(counts)), FLAT_OK);
    flat::task_options soon;
    soon.deadline_ns = engine.now() + 100'000'000;
    ASSERT_EQ(lanes.submit(0, expired, Counted(counts), soon), FLAT_OK);
    EXPECT_EQ(cancelled.cancel(), FLAT_OK);
    while (engine.now() <= soon.deadline_ns + 1'000'000) continue;
    run_all();
    EXPECT_EQ(lanes.poll(), 2U);
    EXPECT_EQ(cancelled.outcome(), FLAT_TASK_CANCELLED);
    EXPECT_EQ(expired.outcome(), FLAT_TASK_EXPIRED);
    EXPECT_EQ(cancelled.cancel(), FLAT_STALE_TICKET);
    EXPECT_EQ(counts.ran, 0);
    EXPECT_EQ(counts.ended, 2);
    flat::completion<int> none;
    ASSERT_EQ(lanes.submit(0, none, [] { return 1; }), FLAT_OK);
    ASSERT_EQ(none.cancel(), FLAT_OK);
    run_all();
    lanes.poll();
    EXPECT_EQ(none.result(), nullptr);
}

TEST_F(EngineHpp, ARefusedSubmitLeavesTheHandleEmpty) {
    Counts counts;
    flat::completion<> handle;
    flat::task_options late;
    late.deadline_ns = 1;
    EXPECT_EQ(lanes.submit(0, handle, Counted(counts), late), FLAT_DEADLINE_PAST);
    EXPECT_FALSE(handle.valid());
    EXPECT_EQ(counts.ended, 1);
    EXPECT_EQ(lanes.wait(handle, engine.now() + one_second), FLAT_INVALID_ARGUMENT);
}

TEST_F(EngineHpp, OnlyTheBlockOfTheLastCompletionIsKept) {
    flat_task task{};
    task.run = [](flat_worker *, void *, std::size_t) {};
    task.completion = true;
    std::array<void *, 2> blocks{};
    for (void *&block : blocks) {
        block = flat_engine_grant(lanes.get(), 0, 100);
        ASSERT_NE(block, nullptr);
        ASSERT_EQ(flat_engine_post(lanes.get(), block, &task), FLAT_OK);
    }
    EXPECT_EQ(flat_engine_keep(lanes.get(), blocks[0]), FLAT_FOREIGN_POINTER); // in flight
    run_all();
    std::array<flat_completion, 2> done{};
    ASSERT_EQ(flat_engine_poll(lanes.get(), done.data(), done.size()), 2U);
    EXPECT_EQ(flat_engine_keep(lanes.get(), done[0].payload), FLAT_FOREIGN_POINTER); // not the last
    EXPECT_EQ(flat_engine_keep(lanes.get(), &task), FLAT_FOREIGN_POINTER);
    EXPECT_EQ(flat_engine_keep(lanes.get(), nullptr), FLAT_FOREIGN_POINTER);
    EXPECT_EQ(flat_engine_keep(nullptr, done[1].payload), FLAT_INVALID_ARGUMENT);
    ASSERT_EQ(flat_engine_keep(lanes.get(), done[1].payload), FLAT_OK);
    EXPECT_EQ(flat_engine_keep(lanes.get(), done[1].payload), FLAT_FOREIGN_POINTER); // it is held
    EXPECT_EQ(flat_engine_grant(lanes.get(), 0, 100), done[0].payload);
    EXPECT_EQ(flat_engine_post(lanes.get(), done[1].payload, &task), FLAT_OK);
    EXPECT_EQ(flat_engine_release(lanes.get(), done[0].payload), FLAT_OK);
    run_all();
}

TEST_F(EngineHpp, ACompletionWithoutAHandleIsPolledWithAFunction) {
    int context = 0, seen = 0;
    flat::task_options options;
    options.completion = true;
    options.context = &context;
    ASSERT_EQ(lanes.submit(0, [] {}, options), FLAT_OK);
    flat::completion<> handle;
    ASSERT_EQ(lanes.submit(0, handle, [] {}), FLAT_OK);
    run_all();
    EXPECT_EQ(lanes.poll([&](const flat_completion &done) { seen += done.context == &context; }), 2U);
    EXPECT_EQ(seen, 1);
    EXPECT_TRUE(handle.ready());
}

TEST(EngineHppOptions, ArraysOfAnotherLengthAreRefused) {
    const flat_class classes[] = {{64, 16}, {256, 16}};
    const std::array<flat_class_limits, 2> limits{}; // those behind the shorter arrays would be taken too
    const std::array<flat_worker_options, 3> workers{};
    flat::engine_options options;
    options.classes = classes;
    options.caller_runs_workers = true;
    flat::engine engine;
    options.class_limits = {limits.data(), 1};
    EXPECT_EQ(engine.start(options), FLAT_INVALID_ARGUMENT);
    options.class_limits = {};
    options.workers = {workers.data(), 2};
    options.worker_count = 3;
    EXPECT_EQ(engine.start(options), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(engine.get(), nullptr);
    options.worker_count = 0; // as many as there are options
    EXPECT_EQ(engine.start(options), FLAT_OK);
    EXPECT_FALSE(engine.step(1));
    EXPECT_EQ(engine.start(options), FLAT_INVALID_ARGUMENT); // there is one
    flat::engine moved(std::move(engine));
    EXPECT_EQ(engine.get(), nullptr);
    EXPECT_NE(moved.get(), nullptr);
}

TEST(EngineHppThreads, ATaskOnAnotherThreadIsWaitedForWithoutTheHeap) {
    const flat_class classes[] = {{128, 64}};
    flat::engine_options options;
    options.classes = classes;
    options.lane_count = 1;
    flat::engine engine;
    ASSERT_EQ(engine.start(options), FLAT_OK);
    flat::submitter lanes;
    ASSERT_EQ(lanes.attach(engine), FLAT_OK);
    EXPECT_EQ(lanes.attach(engine), FLAT_INVALID_ARGUMENT);
    const std::uint64_t before = test::heap_calls();
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < 1000; i++) {
        flat::completion<std::uint64_t> square;
        ASSERT_EQ(lanes.submit(0, square, [i] { return i * i; }), FLAT_OK);
        ASSERT_EQ(lanes.wait(square, engine.now() + 60 * one_second), FLAT_OK);
        sum += *square.result();
    }
    EXPECT_EQ(sum, 332'833'500U);
    if (test::heap_is_counted) {
        EXPECT_EQ(test::heap_calls(), before);
    }
    ASSERT_EQ(engine.drain(60 * one_second), FLAT_OK);
    EXPECT_EQ(lanes.submit(0, [] {}), FLAT_DRAINING);
}

struct alignas(32) OverAligned {
    void operator()() const {}
};
static_assert(!flat::is_task_v<OverAligned>, "a payload is aligned to 16");
static_assert(flat::is_task_v<Counted>);
static_assert(!flat::is_task_v<int>);
static_assert(!std::is_copy_constructible_v<flat::completion<int>> &&
              std::is_nothrow_move_constructible_v<flat::engine> && !std::is_copy_constructible_v<flat::engine> &&
              !std::is_copy_constructible_v<flat::submitter>);

} // namespace
