// Stops a submitter after each instruction of each of its calls in turn, for ever or until its thread ends there. All
// others must go on, and what it had accepted must be done once.
#include "engine/stress.hpp"
#include "percore/stopped_call.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include <sys/mman.h>

namespace {

using test::instructions;
using test::millisecond;
using test::stopped_call;

constexpr std::size_t workers = 2, lanes = 3;
constexpr std::array<flat_class, 2> classes{{{64, 40}, {1024, 20}}};
constexpr std::array<flat_class_limits, 2> limits{{{4, 2, 0}, {3, 2, 0}}};
constexpr flat_class_limits inline_limits{5, 2, 0};
const std::vector<std::size_t> sizes{64, 1024};
constexpr std::size_t ring = 2 * (5 + 4 + 3); // descriptors of a lane: a task and a cancellation for each grant
constexpr std::size_t live = lanes * (4 + 3) + workers * (2 + 2);

void *map_shared(std::size_t bytes) {
    void *start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) throw std::runtime_error("no memory");
    return start;
}

// What the stopped call and the test share.
struct scene {
    flat_task task;
    void *granted;
    flat_ticket ticket;   // of a task that waits for its start
    flat_submitter *lane; // of a thread that has ended
    std::array<char, 1000> payload;
    std::atomic<unsigned> runs;                         // of the stopped call's task
    std::atomic<unsigned> others_runs, completed_unrun; // of the other submitter's; of the stopped one's that waited
};

scene *shared;

// An engine that forked processes share, whose workers the test steps.
class shared_engine {
  public:
    shared_engine() {
        options_ = {.worker_count = workers,
                    .classes = classes.data(),
                    .class_count = classes.size(),
                    .class_limits = limits.data(),
                    .inline_limits = inline_limits,
                    .lane_count = lanes,
                    .caller_runs_workers = true};
        if (flat_engine_footprint(&options_, &need_) != FLAT_OK) throw std::runtime_error("no footprint");
        metadata_ = map_shared(need_.metadata_bytes);
        blocks_ = map_shared(need_.block_bytes);
        if (flat_engine_init(&engine_, &options_, {metadata_, need_.metadata_bytes}, {blocks_, need_.block_bytes}) !=
            FLAT_OK) {
            throw std::runtime_error("no engine");
        }
        const char *start = static_cast<char *>(metadata_);
        as_initialised_.assign(start, start + need_.metadata_bytes);
    }
    shared_engine(const shared_engine &) = delete;
    shared_engine &operator=(const shared_engine &) = delete;
    ~shared_engine() {
        flat_engine_destroy(engine_);
        (void)munmap(metadata_, need_.metadata_bytes);
        (void)munmap(blocks_, need_.block_bytes);
    }

    // One for all tests, which is as it was after its initialisation: that takes milliseconds, since it measures the
    // clock's rate. No other thread may be in a call.
    static const shared_engine &as_new() {
        static const shared_engine one;
        std::memcpy(one.metadata_, one.as_initialised_.data(), one.as_initialised_.size());
        return one;
    }

    operator flat_engine *() const { return engine_; } // NOLINT: it stands for the engine

    void step_workers() const {
        for (bool any = true; any;) {
            any = false;
            for (std::size_t i = 0; i < workers; i++) any |= flat_engine_step(engine_, i);
        }
    }

    flat_submitter *lane() const {
        flat_submitter *made = nullptr;
        if (flat_engine_register(engine_, &made) != FLAT_OK) throw std::runtime_error("no lane");
        return made;
    }

    // A lane of a thread that has ended.
    flat_submitter *lane_of_the_dead() const {
        flat_submitter *made = nullptr;
        std::thread([&] { made = lane(); }).join();
        return made;
    }

  private:
    flat_engine_options options_{};
    flat_footprint need_{};
    void *metadata_, *blocks_;
    flat_engine *engine_ = nullptr;
    std::vector<char> as_initialised_;
};

// The calls. Each returns a flat_status; that of the task which runs is counted.
constexpr std::size_t to = 1; // the worker
constexpr int no_block = 127;

void count_run(flat_worker *, void *payload, std::size_t size) {
    if (std::memcmp(payload, shared->payload.data(), size) != 0) std::abort();
    shared->runs++;
}
void count_other(flat_worker *, void *, std::size_t) { shared->others_runs++; }
void count_unrun(flat_worker *here, void *, std::size_t) {
    shared->completed_unrun += flat_engine_outcome(here) == FLAT_TASK_CANCELLED;
}

int call_grant(flat_submitter *lane, scene *) { return flat_engine_grant(lane, to, 64) != nullptr ? 0 : no_block; }
int call_release(flat_submitter *lane, scene *in) { return flat_engine_release(lane, in->granted); }
int call_post(flat_submitter *lane, scene *in) { return flat_engine_post(lane, in->granted, &in->task); }
int submit_inline(flat_submitter *lane, scene *in) {
    return flat_engine_submit(lane, to, &in->task, in->payload.data(), 20);
}
int submit_copied(flat_submitter *lane, scene *in) {
    return flat_engine_submit(lane, to, &in->task, in->payload.data(), 90);
}
int call_cancel(flat_submitter *lane, scene *in) { return flat_engine_cancel(lane, in->ticket); }
int call_dispatch(flat_submitter *lane, scene *in) {
    return flat_engine_dispatch(lane, &in->task, 64) != FLAT_ANY_WORKER ? 0 : no_block;
}
int submit_anywhere(flat_submitter *lane, scene *in) {
    return flat_engine_submit(lane, FLAT_ANY_WORKER, &in->task, in->payload.data(), 20);
}

struct one_call {
    const char *name;
    int (*function)(flat_submitter *, scene *);
    bool submits; // a task, whose run is counted
    bool chooses; // among the workers, and not for the first time
};

const one_call calls[] = {{"grant", call_grant, false, false},
                          {"release", call_release, false, false},
                          {"post", call_post, true, false},
                          {"submit_inline", submit_inline, true, false},
                          {"submit_copied", submit_copied, true, false},
                          {"cancel", call_cancel, false, false},
                          {"dispatch", call_dispatch, false, true},
                          {"submit_anywhere", submit_anywhere, true, true}};

// What the lane has before the call: a completion that was not polled, a grant that is held, a task that waits for its
// start if that is asked for, and all that the call needs. With `wraps` its next descriptor is the last of the ring.
void prepare(const shared_engine &engine, flat_submitter *lane, bool one_waits, bool has_chosen = false,
             bool wraps = false) {
    shared->runs = shared->others_runs = shared->completed_unrun = 0;
    shared->ticket = 0;
    const flat_task polled = {.run = test::do_nothing, .completion = true}, forgotten = {.run = test::do_nothing};
    for (std::size_t posted = one_waits ? 2 : 1; wraps && posted + 1 < ring; posted++) {
        ASSERT_EQ(flat_engine_submit(lane, to, &forgotten, nullptr, 0), FLAT_OK);
        engine.step_workers();
    }
    const flat_task later = {.run = count_unrun,
                             .always_run = true,
                             .start_ns = flat_engine_now(engine) + test::hour,
                             .ticket = &shared->ticket};
    ASSERT_EQ(flat_engine_submit(lane, to, &polled, nullptr, 0), FLAT_OK);
    if (one_waits) {
        ASSERT_EQ(flat_engine_submit(lane, to, &later, nullptr, 0), FLAT_OK);
    }
    shared->granted = flat_engine_grant(lane, to, 64);
    ASSERT_NE(shared->granted, nullptr);
    ASSERT_NE(flat_engine_grant(lane, 0, 64), nullptr);
    for (std::size_t i = 0; i < shared->payload.size(); i++) shared->payload[i] = static_cast<char>(i);
    std::memcpy(shared->granted, shared->payload.data(), 64);
    shared->task = {.run = count_run};
    if (has_chosen) (void)!flat_engine_dispatch(lane, &shared->task, 64);
    engine.step_workers();
}

// Everything that another submitter can have in flight is accepted, and runs. So does what tasks submit.
void expect_others_go_on(const shared_engine &engine, flat_submitter *lane) {
    shared->others_runs = 0;
    const auto nest = [](flat_worker *here, void *payload, std::size_t size) {
        count_other(here, payload, size);
        const flat_task task = {.run = count_other};
        for (std::size_t i = 0; i < workers; i++) {
            if (flat_engine_submit(flat_engine_submitter(here), i, &task, nullptr, 0) != FLAT_OK) std::abort();
        }
    };
    const flat_task task = {.run = count_other}, nesting = {.run = nest};
    unsigned accepted = 0;
    for (std::size_t worker = 0; worker < workers; worker++) {
        ASSERT_EQ(flat_engine_submit(lane, worker, &nesting, nullptr, 0), FLAT_OK);
        accepted += 1 + workers;
        for (const std::size_t size : {std::size_t{1}, std::size_t{64}, std::size_t{900}}) {
            while (flat_engine_submit(lane, worker, &task, shared->payload.data(), size) == FLAT_OK) {
                accepted++;
            }
        }
    }
    ASSERT_EQ(accepted, workers * (inline_limits.grants + limits[0].grants + limits[1].grants + workers));
    engine.step_workers();
    ASSERT_EQ(shared->others_runs, accepted);
}

// Whether the one thing that a drain waits for is this thread, in the middle of a submit.
void expect_stuck(const shared_engine &engine, bool is_inside) {
    std::array<flat_stuck, 4> stuck;
    ASSERT_EQ(flat_engine_stuck(engine, stuck.data(), stuck.size()), is_inside ? 1u : 0u);
    if (!is_inside) return;
    EXPECT_EQ(stuck[0].worker, FLAT_ANY_WORKER);
    EXPECT_EQ(stuck[0].thread, static_cast<std::uint32_t>(gettid()));
}

void expect_whole(const shared_engine &engine) {
    std::atomic<bool> is_over{false};
    std::thread stepping([&] {
        while (!is_over) engine.step_workers();
    });
    const std::string missing = test::missing_of(engine, lanes, workers, sizes, live);
    is_over = true;
    stepping.join();
    ASSERT_EQ(missing, "");
}

// Stops the call after `steps` instructions, goes on without it, and then lets it return. False: the call is shorter.
// `*was_inside` says whether a drain waited for it, or a stop where a task waits for its start.
bool stop_for_a_while(const one_call &call, bool wraps, unsigned steps, instructions &seen, bool *was_inside) {
    const shared_engine &engine = shared_engine::as_new();
    flat_submitter *lane = engine.lane(), *other = engine.lane();
    const bool one_waits = call.function == call_cancel;
    const auto settle = one_waits ? flat_engine_stop : flat_engine_drain;
    prepare(engine, lane, one_waits, call.chooses, wraps);
    stopped_call stopped(call.function, lane, shared);
    const bool goes_on = stopped.step(steps, seen);
    expect_others_go_on(engine, other);
    flat_submitter *third = engine.lane();
    EXPECT_EQ(flat_engine_reclaim(engine).lanes, 0u) << "its thread has not ended";
    EXPECT_NE(settle(engine, 0), FLAT_INVALID_ARGUMENT);
    engine.step_workers();
    *was_inside = settle(engine, millisecond) == FLAT_TIMED_OUT;
    expect_stuck(engine, *was_inside);
    const unsigned runs = shared->runs;
    const int result = stopped.finish();
    if (!call.submits) {
        EXPECT_TRUE(result == FLAT_OK || (one_waits && result == FLAT_STALE_TICKET)) << result;
    } else if (!*was_inside) {
        EXPECT_EQ(result, runs == 1 ? FLAT_OK : FLAT_DRAINING);
    }
    engine.step_workers();
    EXPECT_EQ(settle(engine, millisecond), FLAT_OK);
    expect_stuck(engine, false);
    EXPECT_EQ(shared->runs, call.submits && result == FLAT_OK ? 1u : 0u);
    EXPECT_TRUE(*was_inside || shared->runs == runs);
    EXPECT_EQ(shared->completed_unrun, one_waits ? 1u : 0u);
    for (flat_submitter *each : {lane, other, third}) flat_engine_unregister(each);
    expect_whole(engine);
    return goes_on;
}

// Ends the call after `steps` instructions, as if its thread had ended there.
bool end_there(const one_call &call, bool wraps, unsigned steps, instructions &seen, bool by_drain) {
    const shared_engine &engine = shared_engine::as_new();
    flat_submitter *lane = engine.lane_of_the_dead(), *other = engine.lane();
    prepare(engine, lane, true, call.chooses, wraps);
    bool goes_on = false;
    {
        stopped_call stopped(call.function, lane, shared);
        goes_on = stopped.step(steps, seen);
    }
    expect_others_go_on(engine, other);
    const unsigned runs = shared->runs;
    EXPECT_LE(runs, 1u);
    EXPECT_TRUE(goes_on || !call.submits || runs == 1);
    if (by_drain) {
        EXPECT_NE(flat_engine_stop(engine, 0), FLAT_INVALID_ARGUMENT); // cancels what waits for its start
        engine.step_workers();
        EXPECT_TRUE(test::comes([&] { return flat_engine_stop(engine, millisecond) == FLAT_OK; }));
        expect_stuck(engine, false);
        flat_engine_resume(engine);
    } else {
        const bool one_waits = shared->completed_unrun == 0;
        const flat_reclaimed before = flat_engine_reclaim(engine);
        EXPECT_EQ(before.waiting, one_waits ? 1u : 0u);
        EXPECT_EQ(before.in_flight, one_waits ? 1u : 0u);
        EXPECT_NE(flat_engine_stop(engine, 0), FLAT_INVALID_ARGUMENT); // cancels what waits for its start
        engine.step_workers();
        flat_engine_resume(engine);
        const flat_reclaimed found = one_waits ? flat_engine_reclaim(engine) : before;
        EXPECT_EQ(found.lanes, 1u);
        EXPECT_EQ(found.unread, 1u);
        EXPECT_GE(found.held, call.function == call_release || call.function == call_post ? 1u : 2u);
        EXPECT_LE(found.held, call.function == call_grant ? 3u : 2u);
    }
    EXPECT_EQ(shared->runs, runs);
    EXPECT_EQ(shared->completed_unrun, 1u);
    flat_engine_unregister(other);
    expect_whole(engine);
    EXPECT_EQ(shared->runs, runs);
    return goes_on;
}

// What takes a lane, or gives one back.
int call_register(flat_engine *engine, scene *) {
    flat_submitter *made = nullptr;
    return flat_engine_register(engine, &made);
}
int call_reclaim(flat_engine *engine, scene *) { return static_cast<int>(flat_engine_reclaim(engine).lanes); }
int call_unregister(flat_engine *, scene *in) {
    flat_engine_unregister(in->lane);
    return FLAT_OK;
}

struct lane_call {
    const char *name;
    int (*function)(flat_engine *, scene *);
    std::size_t free; // lanes that are, before
};
const lane_call lane_calls[] = {{"register", call_register, lanes - 1},
                                {"register_reclaims", call_register, 0},
                                {"reclaim", call_reclaim, 0},
                                {"unregister", call_unregister, 0}};

// Ends the call after `steps` instructions, as if its thread had ended there. Of its engine's lanes one is of a thread
// that has ended, `call.free` are free, and the others are this thread's.
bool end_among_lanes(const lane_call &call, unsigned steps) {
    const shared_engine &engine = shared_engine::as_new();
    const flat_task task = {.run = test::do_nothing, .completion = true};
    std::vector<flat_submitter *> own;
    while (own.size() + 1 + call.free < lanes) own.push_back(engine.lane());
    shared->lane = engine.lane_of_the_dead();
    EXPECT_EQ(flat_engine_submit(shared->lane, to, &task, nullptr, 0), FLAT_OK);
    EXPECT_NE(flat_engine_grant(shared->lane, 0, 64), nullptr);
    engine.step_workers();
    bool goes_on = false;
    {
        stopped_call stopped(call.function, static_cast<flat_engine *>(engine), shared);
        goes_on = stopped.step(steps);
    }
    EXPECT_LE(flat_engine_reclaim(engine).lanes, 2u); // the dead one's, and one that the call had taken
    for (flat_submitter *lane : own) flat_engine_unregister(lane);
    expect_whole(engine);
    EXPECT_EQ(flat_engine_reclaim(engine).lanes, 0u);
    return goes_on;
}

int call_drain(flat_engine *engine, scene *) { return flat_engine_drain(engine, 0); }
int call_resume(flat_engine *engine, scene *) {
    flat_engine_resume(engine);
    return FLAT_OK;
}

// The state is looked at and changed among the first instructions. After these, not each of them is tried.
unsigned next_stop(unsigned steps) { return steps + (steps < 150 ? 1 : 61); }

// A choice takes so many that not each of them is tried.
unsigned next_stop(const one_call &call, unsigned steps) { return steps + (call.chooses ? 127 : 1); }

// Ends the engine while the call stands after `steps` instructions. Whether the workers' threads still leave then.
bool end_meanwhile(int (*call)(flat_engine *, scene *), unsigned steps, bool *goes_on) {
    const shared_engine &engine = shared_engine::as_new();
    if (call == call_resume) {
        EXPECT_EQ(flat_engine_drain(engine, 0), FLAT_OK);
    }
    stopped_call stopped(call, static_cast<flat_engine *>(engine), shared);
    *goes_on = stopped.step(steps);
    flat_engine_end(engine);
    (void)stopped.finish();
    std::atomic<bool> has_left{false};
    std::thread worker([&] { has_left = flat_engine_run(engine, 0) == FLAT_OK; });
    const bool leaves = test::comes([&] { return has_left.load(); });
    flat_engine_end(engine);
    worker.join();
    return leaves;
}

// A worker runs a task that submits another one to the other worker, and counts whether that was accepted.
int step_first_worker(flat_engine *engine, scene *) { return flat_engine_step(engine, 0) ? 0 : no_block; }

void submit_to_the_other(flat_worker *here, void *, std::size_t) {
    const flat_task task = {.run = count_other, .always_run = true};
    shared->runs += flat_engine_submit(flat_engine_submitter(here), to, &task, nullptr, 0) == FLAT_OK;
}

// Ends the engine while the first worker stands after `steps` instructions. Whether the other one's task has ended.
bool end_beside_a_task(unsigned steps, bool *goes_on) {
    const shared_engine &engine = shared_engine::as_new();
    shared->runs = shared->others_runs = 0;
    const flat_task task = {.run = submit_to_the_other};
    EXPECT_EQ(flat_engine_submit(engine.lane(), 0, &task, nullptr, 0), FLAT_OK);
    stopped_call stopped(step_first_worker, static_cast<flat_engine *>(engine), shared);
    *goes_on = stopped.step(steps);
    std::atomic<bool> has_left{false};
    std::thread ends([&] {
        flat_engine_end(engine);
        has_left = flat_engine_run(engine, to) == FLAT_OK;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(2)); // it is done if it does not wait for the task
    (void)stopped.finish();
    ends.join();
    return has_left && shared->runs == shared->others_runs;
}

// Stops the engine while a drain stands after `steps` instructions. Whether tasks are cancelled then.
bool stop_meanwhile(unsigned steps, bool *goes_on) {
    const shared_engine &engine = shared_engine::as_new();
    prepare(engine, engine.lane(), true);
    stopped_call stopped(call_drain, static_cast<flat_engine *>(engine), shared);
    *goes_on = stopped.step(steps);
    EXPECT_EQ(flat_engine_stop(engine, 0), FLAT_TIMED_OUT);
    (void)stopped.finish();
    engine.step_workers();
    return shared->completed_unrun == 1;
}

class engine_stopping_of_states : public testing::Test {
  protected:
    void SetUp() override {
        if (shared == nullptr) shared = new (map_shared(sizeof(scene))) scene();
        try {
            const shared_engine &engine = shared_engine::as_new();
            stopped_call once(call_grant, engine.lane(), shared);
        } catch (const test::cannot_trace &why) {
            GTEST_SKIP() << why.what();
        }
    }
};

class engine_stopping_among_lanes : public engine_stopping_of_states, public testing::WithParamInterface<lane_call> {};

class engine_stopping : public engine_stopping_of_states, public testing::WithParamInterface<one_call> {};

} // namespace

// Calls `place(wraps, steps, seen)`, which returns whether the call goes on, for each number of instructions.
template <class Place> void at_each_place(const one_call &call, Place place) {
    for (const bool wraps : {false, true}) {
        instructions seen;
        unsigned steps = 0;
        for (bool goes_on = true; goes_on && !testing::Test::HasFailure(); steps = next_stop(call, steps)) {
            SCOPED_TRACE(testing::Message() << "after " << steps << " instructions" << (wraps ? ", as it wraps" : ""));
            goes_on = place(wraps, steps, seen);
        }
        std::printf("%s: %u instructions\n", call.name, steps - 1);
        EXPECT_TRUE(call.chooses || seen.executed == seen.stopped_before) << "calls took different ways";
    }
}

TEST_P(engine_stopping, after_any_instruction_a_submitter_holds_up_nobody_and_is_named_iff_it_is_inside) {
    unsigned inside = 0;
    at_each_place(GetParam(), [&](bool wraps, unsigned steps, instructions &seen) {
        bool was_inside = false;
        const bool goes_on = stop_for_a_while(GetParam(), wraps, steps, seen, &was_inside);
        inside += was_inside;
        return goes_on;
    });
    std::printf("%s: a drain waited in %u of the places\n", GetParam().name, inside);
    EXPECT_EQ(inside > 0, GetParam().submits || GetParam().function == call_cancel);
}

TEST_P(engine_stopping, after_any_instruction_a_thread_can_end_and_its_lane_comes_back) {
    for (const bool by_drain : {false, true}) {
        at_each_place(GetParam(), [&](bool wraps, unsigned steps, instructions &seen) {
            return end_there(GetParam(), wraps, steps, seen, by_drain);
        });
    }
}

TEST_P(engine_stopping_among_lanes, after_any_instruction_a_thread_can_end_and_every_lane_comes_back) {
    unsigned steps = 0;
    for (bool goes_on = true; goes_on && !HasFailure(); steps = next_stop(steps)) {
        SCOPED_TRACE(testing::Message() << "after " << steps << " instructions");
        goes_on = end_among_lanes(GetParam(), steps);
    }
    std::printf("%s: %u instructions\n", GetParam().name, steps);
}

TEST_F(engine_stopping_of_states, a_drain_or_a_resume_stopped_anywhere_undoes_no_end) {
    for (auto *call : {call_drain, call_resume}) {
        unsigned steps = 0;
        for (bool goes_on = true; goes_on && !HasFailure(); steps = next_stop(steps)) {
            ASSERT_TRUE(end_meanwhile(call, steps, &goes_on)) << "after " << steps << " instructions";
        }
    }
}

TEST_F(engine_stopping_of_states, an_end_leaves_no_task_behind_that_a_task_stopped_anywhere_submits) {
    unsigned steps = 0;
    for (bool goes_on = true; goes_on && !HasFailure(); steps += 8) {
        ASSERT_TRUE(end_beside_a_task(steps, &goes_on)) << "after " << steps << " instructions";
    }
}

TEST_F(engine_stopping_of_states, a_drain_stopped_anywhere_undoes_no_stop) {
    unsigned steps = 0;
    for (bool goes_on = true; goes_on && !HasFailure(); steps = next_stop(steps)) {
        ASSERT_TRUE(stop_meanwhile(steps, &goes_on)) << "after " << steps << " instructions";
    }
}

INSTANTIATE_TEST_SUITE_P(in, engine_stopping_among_lanes, testing::ValuesIn(lane_calls),
                         [](const auto &of) { return std::string(of.param.name); });

INSTANTIATE_TEST_SUITE_P(in, engine_stopping, testing::ValuesIn(calls),
                         [](const auto &of) { return std::string(of.param.name); });
