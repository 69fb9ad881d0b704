// Tasks that may run on any worker: who gets them, and what workers and submitters tell each other for that.
#include "core/environment.hpp"
#include "core/random_source.hpp"
#include "engine/any_worker_parts.h"
#include "engine/test_engine.hpp"

#include <flatline/engine_statistics.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <numeric>
#include <thread>

namespace {

constexpr std::size_t workers = 3;
constexpr std::array<flat_dispatch_policy, 14> policies{FLAT_DISPATCH_RANDOM,
                                                        FLAT_DISPATCH_ROUND_ROBIN,
                                                        FLAT_DISPATCH_SHORTEST_QUEUE,
                                                        FLAT_DISPATCH_TWO_CHOICES,
                                                        FLAT_DISPATCH_TWO_CHOICES_MEMORY,
                                                        FLAT_DISPATCH_IDLE_QUEUE,
                                                        FLAT_DISPATCH_BOUNDED_QUEUE,
                                                        FLAT_DISPATCH_LEAST_OCCUPIED,
                                                        FLAT_DISPATCH_SHORTEST_DELAY,
                                                        FLAT_DISPATCH_PEAK_EWMA,
                                                        FLAT_DISPATCH_C3,
                                                        FLAT_DISPATCH_PREQUAL,
                                                        FLAT_DISPATCH_STALE_LOAD,
                                                        FLAT_DISPATCH_PREDICTIVE};

// Three workers, of which the first has no class for more than 64 bytes.
test::engine_options three_workers(flat_dispatch_policy policy) {
    static const flat_class small{64, 32};
    test::engine_options options;
    options.value.worker_count = workers;
    options.value.lane_count = 1;
    options.value.dispatch = policy;
    options.value.dispatch_seed = test::seed();
    options.value.inline_limits.grants = 6;
    options.workers.resize(workers);
    options.workers[0].classes = &small;
    options.workers[0].class_count = 1;
    return options;
}

class choosing {
  public:
    explicit choosing(flat_dispatch_policy policy) : engine_(three_workers(policy)), lane_(engine_.lane()) {}

    // Random operations, after each of which what workers tell is what is there. An objection, or "".
    std::string run(test::random_source &random, std::size_t operations) {
        for (std::size_t i = 0; i < operations; i++) {
            const std::string wrong = operate(random) + told_is_true();
            if (!wrong.empty()) return "operation " + std::to_string(i) + ": " + wrong;
        }
        while (engine_.run() != 0 || any_timed()) continue;
        take_completions();
        part_take_back(lane_);
        if (!flying_.empty()) return "a task is lost";
        for (std::size_t worker = 0; worker < workers; worker++)
            if (part_own_tasks(lane_, worker) != 0) return "own tasks at a worker that are none";
        return told_is_true();
    }

  private:
    struct flight {
        std::size_t worker, size_class; // inline_class: in the descriptor
        flat_ticket ticket;
        bool completion;
    };
    struct sent {
        choosing *by;
        std::uint64_t id;
        std::uint64_t defers;
    };
    static constexpr std::size_t inline_class = 2;

    static void run_task(flat_worker *here, void *payload, std::size_t size) {
        sent *const of = static_cast<sent *>(payload);
        if (size < sizeof *of) return;
        if (flat_engine_outcome(here) == FLAT_TASK_DONE && of->defers != 0) {
            of->defers--;
            if (flat_engine_defer(here, of->defers % 2 == 0 ? 0 : 20'000) == FLAT_OK) return;
        }
        if (!of->by->flying_.at(of->id).completion) of->by->flying_.erase(of->id);
    }

    std::size_t left(std::size_t worker, std::size_t size_class) const {
        const std::size_t all =
            size_class == inline_class ? 6 : flat_engine_grants(lane_, worker, 64U << 2 * size_class);
        return all - static_cast<std::size_t>(std::count_if(flying_.begin(), flying_.end(), [&](const auto &each) {
                   return each.second.worker == worker && each.second.size_class == size_class;
               }));
    }

    bool any_left(std::size_t size_class) const {
        for (std::size_t worker = 0; worker < workers; worker++)
            if (left(worker, size_class) != 0) return true;
        return false;
    }

    // Of its type; some expire, some start later, some defer themselves. It is called in any case.
    flat_task task(test::random_source &random, sent &of, flat_ticket &ticket) const {
        flat_task made = test::task_of(run_task, static_cast<unsigned>(random.below(FLAT_ENGINE_URGENCIES)));
        made.type = static_cast<unsigned>(random.below(3));
        made.completion = random.one_in(3);
        made.always_run = !made.completion || random.one_in(2); // so that its end is known
        made.ticket = &ticket;
        of.defers = random.one_in(4) ? random.below(3) : 0;
        return made;
    }

    std::string operate(test::random_source &random) {
        switch (random.below(8)) {
        case 0:
        case 1:
        case 2: return submit(random, FLAT_ANY_WORKER);
        case 3: return submit(random, random.below(workers));
        case 4: return post(random);
        case 5:
            if (!flying_.empty() && random.one_in(4)) {
                auto at = flying_.begin();
                std::advance(at, random.below(flying_.size()));
                (void)!flat_engine_cancel(lane_, at->second.ticket);
            }
            return "";
        case 6: take_completions(); return "";
        default: (void)flat_engine_step(engine_, random.below(workers)); return "";
        }
    }

    std::string submit(test::random_source &random, std::size_t worker) {
        constexpr std::array<std::size_t, 3> sizes{64, 200, sizeof(sent)};
        const std::size_t size_class = random.below(3);
        std::array<char, 256> payload{};
        sent of{this, next_++, 0};
        flat_ticket ticket = 0;
        flat_task made = task(random, of, ticket);
        if (random.one_in(5) && size_class != inline_class) made.start_ns = engine_.now() + random.below(50'000);
        std::memcpy(payload.data(), &of, sizeof of);
        const bool had = worker == FLAT_ANY_WORKER ? any_left(size_class) : left(worker, size_class) != 0;
        const flat_status status = flat_engine_submit(lane_, worker, &made, payload.data(), sizes.at(size_class));
        if (status == FLAT_OK) flying_[of.id] = {(ticket >> 48) - 1, size_class, ticket, made.completion};
        if ((status == FLAT_OK) != had) return std::string("a submit gives \"") + flat_status_string(status) + "\"; ";
        chooses_ = chooses_ || worker == FLAT_ANY_WORKER;
        return "";
    }

    std::string post(test::random_source &random) {
        const std::size_t size_class = random.below(2);
        const std::size_t size = size_class == 1 ? 200 : random.one_in(2) ? 64 : sizeof(sent);
        sent of{this, next_++, 0};
        flat_ticket ticket = 0;
        const flat_task made = task(random, of, ticket);
        const bool had = any_left(size_class);
        const std::size_t worker = flat_engine_dispatch(lane_, &made, size);
        chooses_ = true;
        if ((worker != FLAT_ANY_WORKER) != had) return "a worker is chosen iff there is a grant; ";
        void *const block = flat_engine_grant(lane_, worker, size);
        if ((block != nullptr) != had) return "the chosen worker has a grant; ";
        if (!had) return "";
        std::memcpy(block, &of, sizeof of);
        if (flat_engine_post(lane_, block, &made) != FLAT_OK) return "a post is refused; ";
        flying_[of.id] = {worker, size_class, ticket, made.completion};
        return "";
    }

    void take_completions() {
        for (const flat_completion &each : test::poll_all(lane_)) {
            const auto is = [&](const auto &one) { return one.second.ticket == each.ticket; };
            flying_.erase(std::find_if(flying_.begin(), flying_.end(), is));
        }
    }

    bool any_timed() const {
        for (std::size_t worker = 0; worker < workers; worker++)
            if (snapshot(worker).timed != 0) return true;
        return false;
    }

    flat_worker_snapshot snapshot(std::size_t worker) const {
        flat_worker_snapshot seen{};
        if (flat_engine_snapshot(engine_, worker, &seen) != FLAT_OK) std::abort();
        return seen;
    }

    std::string told_is_true() const {
        for (std::size_t worker = 0; worker < workers; worker++) {
            const told_load told = part_told_load(engine_, worker);
            if (!told.tells) continue;
            if (!chooses_) return "a worker tells, and nobody chooses; ";
            const flat_worker_snapshot seen = snapshot(worker);
            const auto waiting = std::accumulate(std::begin(seen.queued), std::end(seen.queued), std::uint64_t{0});
            std::uint64_t in_flight = 0;
            for (std::size_t i = 0; i < seen.class_count; i++) in_flight += seen.classes[i].in_flight;
            if (told.waiting != waiting)
                return "told to wait " + std::to_string(told.waiting) + ", and " + std::to_string(waiting) + " do; ";
            if (told.in_flight != in_flight)
                return "told to be in flight " + std::to_string(told.in_flight) + ", and " + std::to_string(in_flight) +
                       " are; ";
            if (told.usual != 0) return "told to run; ";
            if (waiting == 0 && told.work != 0) return "told work of no task; ";
        }
        return "";
    }

    const test::test_engine engine_;
    flat_submitter *const lane_;
    std::map<std::uint64_t, flight> flying_;
    std::uint64_t next_ = 1;
    bool chooses_ = false;
};

test::engine_options two_workers(flat_dispatch_policy policy = FLAT_DISPATCH_DEFAULT) {
    test::engine_options options;
    options.value.dispatch = policy;
    return options;
}

// From now on the submitter chooses workers, and these tell their load.
void begin_to_choose(flat_submitter *submitter) {
    const flat_task task = test::task_of(test::do_nothing_at_all);
    (void)!flat_engine_dispatch(submitter, &task, 64);
}

// Runs a task of a type that takes `ns`.
void take(const test::test_engine &engine, flat_submitter *lane, std::size_t worker, unsigned type, std::uint64_t ns) {
    const test::action act = [&](flat_worker *) {
        for (const std::uint64_t until = engine.now() + ns; engine.now() < until;) continue;
    };
    flat_task task{};
    task.type = type;
    ASSERT_EQ(test::submit_action(lane, worker, act, task), FLAT_OK);
    ASSERT_TRUE(flat_engine_step(engine, worker));
}

// All own blocks of a worker, taken and given back by tasks.
struct block_holder {
    std::vector<void *> blocks;
    test::action take = [this](flat_worker *here) {
        for (void *block = nullptr; (block = flat_pool_alloc(flat_engine_pool(here), 256)) != nullptr;)
            blocks.push_back(block);
    };
    test::action give_back = [this](flat_worker *here) {
        for (void *const block : blocks) EXPECT_EQ(flat_pool_free(flat_engine_pool(here), block), FLAT_OK);
        blocks.clear();
    };
};

} // namespace

TEST(engine_any_worker, is_one_with_a_grant_and_refused_iff_there_is_none_with_every_policy) {
    test::random_source random(test::seed());
    for (const flat_dispatch_policy policy : policies) {
        choosing of(policy);
        EXPECT_EQ(of.run(random, test::scaled(6'000)), "") << "policy " << policy << ", seed " << test::seed();
    }
}

TEST(engine_any_worker, an_option_that_is_no_policy_is_refused) {
    test::engine_options options = two_workers(static_cast<flat_dispatch_policy>(policies.size() + 1));
    flat_footprint footprint{};
    EXPECT_EQ(flat_engine_footprint(options.get(), &footprint), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(options.message(), "dispatch is no flat_dispatch_policy");
}

TEST(engine_any_worker, needs_a_task_and_a_class) {
    const test::test_engine engine(two_workers());
    flat_submitter *const lane = engine.lane();
    flat_task task = test::task_of(test::do_nothing_at_all);
    EXPECT_LT(flat_engine_dispatch(lane, &task, 256), 2u);
    EXPECT_EQ(flat_engine_dispatch(nullptr, &task, 256), FLAT_ANY_WORKER);
    EXPECT_EQ(flat_engine_dispatch(lane, nullptr, 256), FLAT_ANY_WORKER);
    EXPECT_EQ(flat_engine_dispatch(lane, &task, 257), FLAT_ANY_WORKER);
    task.type = FLAT_ENGINE_TASK_TYPES;
    EXPECT_EQ(flat_engine_dispatch(lane, &task, 256), FLAT_ANY_WORKER);
    task.type = 0;
    task.size_class = 3;
    EXPECT_EQ(flat_engine_dispatch(lane, &task, 8), FLAT_ANY_WORKER) << "there are two classes";
    task.size_class = 2;
    EXPECT_LT(flat_engine_dispatch(lane, &task, 8), 2u);
}

TEST(engine_any_worker, has_the_capacity_of_all) {
    const test::test_engine engine(two_workers());
    const flat_submitter *const lane = engine.lane();
    for (const std::size_t size : {8U, 64U, 256U, 257U}) {
        EXPECT_EQ(flat_engine_capacity(lane, FLAT_ANY_WORKER, size), 2 * flat_engine_capacity(lane, 0, size));
        EXPECT_EQ(flat_engine_grants(lane, FLAT_ANY_WORKER, size), 2 * flat_engine_grants(lane, 1, size));
    }
    EXPECT_EQ(flat_engine_grants(lane, 2, 64), 0u);
}

TEST(engine_any_worker, workers_tell_nothing_before_somebody_chooses) {
    const test::test_engine engine(two_workers());
    flat_submitter *const lane = engine.lane();
    const test::action act = [](flat_worker *) {};
    for (int i = 0; i < 10; i++) ASSERT_EQ(test::submit_action(lane, 0, act), FLAT_OK);
    ASSERT_TRUE(flat_engine_step(engine, 0));
    EXPECT_FALSE(part_told_load(engine, 0).tells);
    ASSERT_EQ(test::submit_action(lane, FLAT_ANY_WORKER, act), FLAT_OK);
    EXPECT_FALSE(flat_engine_step(engine, 1) && flat_engine_step(engine, 1)) << "it gets one task at most";
    ASSERT_TRUE(flat_engine_step(engine, 0));
    const told_load told = part_told_load(engine, 0);
    EXPECT_TRUE(told.tells);
    EXPECT_GE(told.waiting, 8u) << "those that came before count";
    EXPECT_EQ(told.in_flight, told.waiting);
    EXPECT_EQ(engine.run(), told.waiting) << "and they run";
    EXPECT_EQ(part_told_load(engine, 0).waiting, 0u);
    EXPECT_EQ(part_told_load(engine, 0).in_flight, 0u);
}

TEST(engine_any_worker, the_shortest_queue_is_found) {
    const test::test_engine engine(two_workers(FLAT_DISPATCH_SHORTEST_QUEUE));
    flat_submitter *const lane = engine.lane(), *const other = engine.lane();
    const test::action act = [](flat_worker *) {};
    std::array<std::size_t, 2> runs{};
    const test::action count = [&](flat_worker *here) { runs[flat_engine_worker(here)]++; };
    for (std::size_t busy = 0; busy < 2; busy++) {
        ASSERT_EQ(test::submit_action(lane, FLAT_ANY_WORKER, act), FLAT_OK);
        (void)engine.run();
        for (int i = 0; i < 12; i++) ASSERT_EQ(test::submit_action(other, busy, act), FLAT_OK);
        ASSERT_TRUE(flat_engine_step(engine, busy)) << "it takes them in, and tells";
        for (int i = 0; i < 10; i++) ASSERT_EQ(test::submit_action(lane, FLAT_ANY_WORKER, count), FLAT_OK);
        (void)engine.run();
        EXPECT_EQ(runs[busy], 0u);
        EXPECT_EQ(runs[1 - busy], 10u);
        runs = {};
    }
}

TEST(engine_any_worker, the_predictive_policy_knows_what_tasks_of_a_type_take_at_a_worker) {
    const test::test_engine engine(two_workers(FLAT_DISPATCH_PREDICTIVE));
    flat_submitter *const lane = engine.lane();
    begin_to_choose(lane);
    for (int i = 0; i < 12; i++) {
        take(engine, lane, 0, 1, 3'000'000); // four times as long as on the other worker
        take(engine, lane, 1, 1, 750'000);
    }
    const std::uint64_t long_ones = part_told_load(engine, 0).service_of_type[1],
                        short_ones = part_told_load(engine, 1).service_of_type[1];
    EXPECT_GE(long_ones, part_ticks_of_ns(engine, 3'000'000) * 95 / 100);
    EXPECT_GE(short_ones, part_ticks_of_ns(engine, 750'000) * 95 / 100);
    EXPECT_EQ(part_told_load(engine, 0).service_of_type[2], 0u);
}

// One class whose blocks are all grants, and one that is the worker's own alone.
test::engine_options with_own_blocks(std::size_t own) {
    test::engine_options options = two_workers(FLAT_DISPATCH_PREDICTIVE);
    options.classes = {{64, 32}, {256, own}};
    options.limits.resize(2);
    options.limits[0].grants = 16; // of each of two outside lanes
    options.limits[0].worker_grants = options.limits[1].grants = options.limits[1].worker_grants = FLAT_NO_GRANTS;
    return options;
}

// Until the worker has counted all classes once more.
void let_it_count(const test::test_engine &engine, flat_submitter *lane, std::size_t worker) {
    for (int i = 0; i < 8; i++) take(engine, lane, worker, 0, 100'000);
}

TEST(engine_any_worker, blocks_run_out_where_a_worker_has_some_of_its_own) {
    const test::test_engine engine(with_own_blocks(4));
    flat_submitter *const lane = engine.lane();
    begin_to_choose(lane);
    const flat_task task = test::task_of(test::do_nothing_at_all);
    let_it_count(engine, lane, 0);
    EXPECT_EQ(part_told_load(engine, 0).exhaustion, UINT32_MAX)
        << "all of the first class are grants, and it is not counted";
    const test::action take_all = [](flat_worker *here) {
        while (flat_pool_alloc(flat_engine_pool(here), 256) != nullptr) continue;
    };
    ASSERT_EQ(test::submit_action(lane, 0, take_all), FLAT_OK);
    (void)engine.run();
    let_it_count(engine, lane, 0);
    EXPECT_EQ(part_told_load(engine, 0).exhaustion, 0U);
    for (int i = 0; i < 20; i++) {
        EXPECT_EQ(flat_engine_dispatch(lane, &task, 64), 1U) << "a worker without blocks comes last";
    }
}

TEST(engine_any_worker, the_predictive_policy_prefers_the_worker_that_would_be_done_sooner) {
    const test::test_engine engine(with_own_blocks(4));
    flat_submitter *const lane = engine.lane();
    flat_task task = test::task_of(test::do_nothing_at_all);
    task.type = 1;
    (void)!flat_engine_dispatch(lane, &task, 64);
    const auto takes = [&](std::size_t worker) { return part_told_load(engine, worker).service_of_type[1]; };
    for (std::size_t slower = 0; slower < 2; slower++) {
        // On a busy machine a short task may take long too: then it takes some more until they differ.
        const std::uint64_t until = engine.now() + test::patience;
        for (int i = 0; i < 40 || (takes(slower) < 4 * takes(1 - slower) && engine.now() < until); i++) {
            take(engine, lane, slower, 1, 4'000'000);
            take(engine, lane, 1 - slower, 1, 200'000);
        }
        // What tasks take at a worker is read now and then, and on a busy machine a report may be too old to prefer by.
        int in_a_row = 0;
        for (const std::uint64_t end = engine.now() + test::patience; in_a_row < 40 && engine.now() < end;) {
            (void)flat_engine_step(engine, 0); // both have nothing to do
            (void)flat_engine_step(engine, 1);
            in_a_row = flat_engine_dispatch(lane, &task, 64) == 1 - slower ? in_a_row + 1 : 0;
        }
        EXPECT_EQ(in_a_row, 40) << slower << " takes longer";
    }
}

TEST(engine_any_worker, says_to_whose_task_it_ran_last_that_it_has_nothing_to_do) {
    test::engine_options options = two_workers(FLAT_DISPATCH_IDLE_QUEUE);
    options.value.lane_count = 3;
    const test::test_engine engine(options);
    flat_submitter *const first = engine.lane(), *const second = engine.lane(), *const silent = engine.lane();
    begin_to_choose(first);
    const flat_task task = test::task_of(test::do_nothing_at_all);
    (void)!flat_engine_dispatch(second, &task, 64);
    const auto run = [&](flat_submitter *by, std::size_t worker) {
        ASSERT_EQ(flat_engine_submit(by, worker, &task, nullptr, 0), FLAT_OK);
        ASSERT_TRUE(flat_engine_step(engine, worker));
    };
    run(first, 1);
    EXPECT_FALSE(part_said_idle(first, 1)) << "it has not looked yet";
    EXPECT_FALSE(flat_engine_step(engine, 1));
    EXPECT_TRUE(part_said_idle(first, 1));
    EXPECT_FALSE(part_said_idle(first, 0));
    run(first, 0);
    run(second, 0);
    EXPECT_FALSE(flat_engine_step(engine, 0));
    EXPECT_TRUE(part_said_idle(second, 0));
    EXPECT_FALSE(part_said_idle(first, 0));
    run(silent, 0);
    EXPECT_FALSE(flat_engine_step(engine, 0));
    EXPECT_FALSE(part_said_idle(silent, 0)) << "it does not choose";
    const test::action count = [&](flat_worker *here) { EXPECT_EQ(flat_engine_worker(here), 1u); };
    EXPECT_EQ(test::submit_action(first, FLAT_ANY_WORKER, count), FLAT_OK);
    (void)engine.run();
}

TEST(engine_any_worker, the_submitter_learns_how_long_its_tasks_took_and_kept_their_grants) {
    const test::test_engine engine(two_workers(FLAT_DISPATCH_C3));
    flat_submitter *const lane = engine.lane();
    begin_to_choose(lane);
    flat_task task = test::task_of(test::do_nothing_at_all);
    take(engine, lane, 0, 0, 2'000'000);
    part_take_back(lane);
    const std::uint64_t took = part_response(lane, 0), least = part_ticks_of_ns(engine, 2'000'000);
    EXPECT_GE(took, least);
    EXPECT_EQ(part_held(lane, 0), 0u);
    constexpr std::uint64_t hold = 10'000'000;
    std::uint64_t longest = 0;     // until a task ran for the first time
    for (int i = 0; i < 40; i++) { // of an estimate that moves by a sixteenth each time
        bool again = false;
        const std::uint64_t before = engine.now();
        std::uint64_t ran = 0;
        const test::action keep = [&](flat_worker *here) {
            if (again) return;
            EXPECT_EQ(flat_engine_defer(here, hold), FLAT_OK);
            again = true;
        };
        task = {};
        task.type = 3;
        task.completion = i % 2 == 0;
        ASSERT_EQ(test::submit_action(lane, 1, keep, task), FLAT_OK);
        ASSERT_TRUE(engine.run_until(1, [&] {
            if (again && ran == 0) ran = engine.now();
            return again && part_told_load(engine, 1).in_flight == 0;
        }));
        longest = std::max(longest, ran - before);
        (void)test::poll_all(lane);
        part_take_back(lane);
    }
    EXPECT_GE(part_held(lane, 3), part_ticks_of_ns(engine, hold) / 2) << "of powers of two, in two of three parts";
    EXPECT_LE(part_response(lane, 1), part_ticks_of_ns(engine, longest + 1'000) * 17 / 16) << "in buckets";
}

TEST(engine_any_worker, a_task_in_a_granted_block_is_accounted_for) {
    const test::test_engine engine(two_workers(FLAT_DISPATCH_C3));
    flat_submitter *const lane = engine.lane();
    const flat_task task = test::task_of(test::do_nothing_at_all);
    ASSERT_NE(flat_engine_dispatch(lane, &task, 64), FLAT_ANY_WORKER);
    for (std::size_t worker = 0; worker < 2; worker++) {
        void *const block = flat_engine_grant(lane, worker, 64);
        ASSERT_NE(block, nullptr);
        ASSERT_EQ(flat_engine_post(lane, block, &task), FLAT_OK);
        EXPECT_EQ(part_own_tasks(lane, worker), 1u);
        (void)engine.run();
        part_take_back(lane);
        EXPECT_EQ(part_own_tasks(lane, worker), 0u);
        EXPECT_NE(part_response(lane, worker), 0u);
    }
}

TEST(engine_any_worker, a_task_that_did_not_run_teaches_nothing) {
    const test::test_engine engine(two_workers(FLAT_DISPATCH_C3));
    flat_submitter *const lane = engine.lane();
    begin_to_choose(lane);
    flat_task task = test::task_of(test::do_nothing_at_all);
    take(engine, lane, 0, 0, 2'000'000);
    part_take_back(lane);
    const std::uint32_t took = part_response(lane, 0);
    flat_ticket ticket = 0;
    task.ticket = &ticket;
    ASSERT_EQ(flat_engine_submit(lane, 0, &task, nullptr, 0), FLAT_OK);
    EXPECT_EQ(part_own_tasks(lane, 0), 1u);
    ASSERT_EQ(flat_engine_cancel(lane, ticket), FLAT_OK);
    (void)engine.run();
    part_take_back(lane);
    EXPECT_EQ(part_own_tasks(lane, 0), 0u);
    EXPECT_EQ(part_response(lane, 0), took);
}

// Else a worker without blocks would seem to be a fast one, and get all tasks.
TEST(engine_any_worker, a_run_that_was_refused_a_block_is_none) {
    test::engine_options options = with_own_blocks(4);
    options.value.dispatch = FLAT_DISPATCH_C3;
    const test::test_engine engine(options);
    flat_submitter *const lane = engine.lane();
    block_holder holder;
    ASSERT_EQ(test::submit_action(lane, 0, holder.take), FLAT_OK);
    (void)engine.run();
    ASSERT_EQ(holder.blocks.size(), 4u);
    begin_to_choose(lane);
    flat_task task{};
    const std::uint64_t begun = engine.now();
    take(engine, lane, 0, 3, 2'000'000); // the refusal before does not count as its own
    part_take_back(lane);
    const std::uint64_t until = 8'000'000 + 4 * (engine.now() - begun); // on a busy machine it took longer
    const told_load before = part_told_load(engine, 0);
    const std::uint32_t response = part_response(lane, 0);
    ASSERT_GE(before.service_of_type[3], part_ticks_of_ns(engine, 1'990'000)); // in 16 bits

    int runs = 0;
    const std::uint64_t submitted = engine.now();
    std::uint64_t ran = 0;
    const test::action needs_block = [&](flat_worker *here) {
        runs++;
        void *const block = flat_pool_alloc(flat_engine_pool(here), 256);
        if (block == nullptr) {
            EXPECT_EQ(flat_engine_defer(here, 100'000), FLAT_OK);
            return;
        }
        while (engine.now() < submitted + until) continue;
        ran = engine.now();
        EXPECT_EQ(flat_pool_free(flat_engine_pool(here), block), FLAT_OK);
    };
    task = {};
    task.type = 3;
    ASSERT_EQ(test::submit_action(lane, 0, needs_block, task), FLAT_OK);
    ASSERT_TRUE(engine.run_until(0, [&] { return runs == 5; }));
    const told_load tried = part_told_load(engine, 0);
    EXPECT_EQ(tried.service_of_type[3], before.service_of_type[3]);
    EXPECT_EQ(tried.ended, before.ended);
    EXPECT_EQ(tried.usual, 0u) << "nothing runs";
    EXPECT_EQ(tried.in_flight, 1u);

    ASSERT_EQ(test::submit_action(lane, 0, holder.give_back), FLAT_OK);
    ASSERT_TRUE(engine.run_until(0, [&] { return ran != 0; }));
    part_take_back(lane);
    EXPECT_EQ(part_told_load(engine, 0).ended, before.ended + 2);
    EXPECT_EQ(part_held(lane, 3), 0u) << "it did not keep its grant after it ran";
    EXPECT_GE(part_response(lane, 0), response + part_ticks_of_ns(engine, 100'000)) << "until it ran";
}

TEST(engine_any_worker, a_task_that_gives_up_since_it_was_refused_a_block_teaches_nothing) {
    test::engine_options options = with_own_blocks(4);
    options.value.dispatch = FLAT_DISPATCH_C3;
    const test::test_engine engine(options);
    flat_submitter *const lane = engine.lane();
    begin_to_choose(lane);
    take(engine, lane, 0, 3, 2'000'000);
    part_take_back(lane);
    const told_load before = part_told_load(engine, 0);
    const std::uint32_t response = part_response(lane, 0);
    flat_task task{};
    task.type = 3;
    block_holder holder;
    for (int i = 0; i < 3; i++) { // it takes until it is refused
        ASSERT_EQ(test::submit_action(lane, 0, holder.take, task), FLAT_OK);
        (void)engine.run();
    }
    part_take_back(lane);
    const told_load after = part_told_load(engine, 0);
    EXPECT_EQ(after.service_of_type[3], before.service_of_type[3]);
    EXPECT_EQ(after.ended, before.ended);
    EXPECT_EQ(after.in_flight, 0u);
    EXPECT_EQ(part_response(lane, 0), response);
    EXPECT_EQ(part_own_tasks(lane, 0), 0u);
}

TEST(engine_any_worker, a_busy_one_begins_to_tell_too) {
    const flat_class tasks{64, 64};
    flat_engine_options options{};
    options.worker_count = 1;
    options.classes = &tasks;
    options.class_count = 1;
    options.stack_size = test::worker_stack;
    flat_engine *engine = nullptr;
    flat_submitter *lane = nullptr;
    ASSERT_EQ(flat_engine_create(&engine, &options), FLAT_OK);
    ASSERT_EQ(flat_engine_register(engine, &lane), FLAT_OK);
    std::atomic<bool> ends{false}, runs{false};
    const test::action go_on = [&](flat_worker *here) {
        runs = true;
        if (ends) return;
        EXPECT_EQ(flat_engine_defer(here, 0), FLAT_OK);
    };
    ASSERT_EQ(test::submit_action(lane, 0, go_on), FLAT_OK);
    while (!runs) std::this_thread::yield();
    EXPECT_FALSE(part_has_told(engine, 0));
    const flat_task task = test::task_of(test::do_nothing_at_all);
    EXPECT_EQ(flat_engine_dispatch(lane, &task, 0), 0u);
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!part_has_told(engine, 0) && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    EXPECT_TRUE(part_has_told(engine, 0));
    ends = true;
    flat_engine_destroy(engine);
}

TEST(engine_any_worker, whoever_takes_a_lane_next_begins_anew) {
    test::engine_options options = two_workers(FLAT_DISPATCH_BOUNDED_QUEUE);
    options.value.lane_count = 1;
    const test::test_engine engine(options);
    const flat_task task = test::task_of(test::do_nothing_at_all);
    flat_submitter *lane = engine.lane();
    for (int i = 0; i < 5; i++) ASSERT_EQ(flat_engine_submit(lane, FLAT_ANY_WORKER, &task, nullptr, 0), FLAT_OK);
    EXPECT_EQ(part_own_tasks(lane, 0) + part_own_tasks(lane, 1), 5u);
    (void)engine.run();
    flat_engine_unregister(lane);
    lane = engine.lane();
    ASSERT_EQ(flat_engine_submit(lane, 1, &task, nullptr, 0), FLAT_OK);
    ASSERT_EQ(flat_engine_submit(lane, FLAT_ANY_WORKER, &task, nullptr, 0), FLAT_OK);
    EXPECT_EQ(part_own_tasks(lane, 0) + part_own_tasks(lane, 1), 1u) << "it began with the second one";
    for (int i = 0; i < 5; i++) ASSERT_EQ(flat_engine_submit(lane, FLAT_ANY_WORKER, &task, nullptr, 0), FLAT_OK);
    const std::uint32_t chosen = part_own_tasks(lane, 1);
    ASSERT_GT(chosen, 0u);
    ASSERT_TRUE(flat_engine_step(engine, 1));
    part_take_back(lane);
    EXPECT_EQ(part_own_tasks(lane, 1), chosen) << "what came back is what it sent first, with the last owner's grant";
    (void)engine.run();
    part_take_back(lane);
    EXPECT_EQ(part_own_tasks(lane, 0) + part_own_tasks(lane, 1), 0u);
}

TEST(engine_any_worker, tasks_choose_among_workers_too) {
    const test::test_engine engine(two_workers());
    std::array<std::size_t, 2> runs{};
    const test::action count = [&](flat_worker *here) { runs[flat_engine_worker(here)]++; };
    const test::action submit = [&](flat_worker *here) {
        for (int i = 0; i < 20; i++)
            ASSERT_EQ(test::submit_action(flat_engine_submitter(here), FLAT_ANY_WORKER, count), FLAT_OK);
    };
    ASSERT_EQ(test::submit_action(engine.lane(), 0, submit), FLAT_OK);
    EXPECT_EQ(engine.run(), 21u);
    EXPECT_EQ(runs[0] + runs[1], 20u);
    EXPECT_GT(runs[1], 0u);
}

TEST(engine_any_worker, times_in_powers_of_two) {
    EXPECT_EQ(part_held_code(0), 0u);
    EXPECT_EQ(part_held_code(1023), 0u);
    EXPECT_EQ(part_ticks_of_held(0), 0u);
    std::uint32_t before = 0;
    for (std::uint64_t ticks = 1024; ticks < std::uint64_t{1} << 40; ticks += ticks / 7 + 1) {
        const std::uint32_t code = part_held_code(ticks);
        ASSERT_TRUE(code == before || code == before + 1) << ticks;
        ASSERT_GE(part_ticks_of_held(code), ticks * 3 / 4) << ticks;
        ASSERT_LE(part_ticks_of_held(code), ticks * 3 / 2) << ticks;
        before = code;
    }
    EXPECT_EQ(part_held_code(UINT64_MAX), 31u);
}
