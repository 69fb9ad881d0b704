// The bound of a sojourn against an engine: tasks of every kind come whenever they can, and each accepted one begins
// within as many runs, and as much time, as was planned.
#include "plan/engine_plan.hpp"

#include "core/environment.hpp"
#include "core/random_source.hpp"
#include "plan/engine_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

using namespace flat::plan;

namespace {

struct Ender {
    void operator()(flat_engine *engine) const { flat_engine_destroy(engine); }
};

EngineDeclaration one_lane(std::size_t grants, Urgencies urgencies, unsigned limit) {
    EngineDeclaration declaration;
    declaration.lane_count = 1;
    declaration.classes = {{{64, 1}}, {{FLAT_NO_GRANTS, FLAT_NO_GRANTS, 1000}}, {urgencies}};
    declaration.inline_limits = {grants, FLAT_NO_GRANTS, 1000};
    declaration.inline_urgencies = urgencies;
    declaration.starvation_limit = limit;
    declaration.caller_runs_workers = true;
    declaration.overhead_ns = 0;
    return declaration;
}

/// An engine of one worker whose time is what its tasks are stated to take.
class Simulation {
  public:
    Simulation(const EngineDeclaration &declaration, std::uint64_t seed)
        : plan_(plan_engine(EngineOptions(declaration).get(), use_of(declaration))),
          payloads_(plan_.kinds.front().payloads), random_(seed) {
        flat_engine *made = nullptr;
        const EngineOptions options(declaration);
        EXPECT_EQ(flat_engine_create(&made, &options.get()), FLAT_OK);
        engine_.reset(made);
        lanes_.resize(plan_.lanes);
        for (flat_submitter *&lane : lanes_) EXPECT_EQ(flat_engine_register(made, &lane), FLAT_OK);
        current = this;
    }

    Simulation(const Simulation &) = delete;
    Simulation &operator=(const Simulation &) = delete;
    /// Tasks that are left dispose of themselves, while all else is still there.
    ~Simulation() {
        acts = nullptr;
        engine_.reset();
    }

    /// What a task does when it runs, besides taking its time.
    void (*acts)(Simulation &, flat_worker *, std::uint32_t) = nullptr;

    /// Submits a task of this kind of payload; returns its number, or `refused`.
    static constexpr std::uint32_t refused = UINT32_MAX;
    std::uint32_t submit(flat_submitter *lane, std::size_t kind, flat_task task) {
        const auto number = static_cast<std::uint32_t>(tasks_.size());
        flat_ticket ticket = 0;
        task.run = run;
        task.size_class = kind + 1 < payloads_.size() ? static_cast<unsigned>(kind + 1) : 0;
        task.ticket = &ticket;
        tasks_.push_back({kind, task.urgency, runs_, clock_, task.start_ns == 0});
        if (flat_engine_submit(lane, 0, &task, &number, sizeof number) == FLAT_OK) {
            tickets_.push_back({lane, ticket});
            return number;
        }
        tasks_.pop_back();
        return refused;
    }
    std::uint32_t submit(std::size_t kind, unsigned urgency) {
        flat_task task{};
        task.urgency = urgency;
        return submit(lanes_.front(), kind, task);
    }

    bool step() { return flat_engine_step(engine_.get(), 0); }

    void defer(flat_worker *here, std::uint32_t number) {
        if (flat_engine_defer(here, 0) == FLAT_OK) deferred_ = number;
    }

    /// Whatever an adversary may do between two instructions.
    void act_at_random(flat_worker *here) {
        for (std::uint64_t left = random_.below(6); left > 0; --left) {
            flat_submitter *lane = lanes_[random_.below(lanes_.size())];
            if (here != nullptr && random_.one_in(3)) lane = flat_engine_submitter(here);
            submit_at_random(lane);
        }
        if (!tickets_.empty() && random_.one_in(4)) {
            const auto &[lane, ticket] =
                tickets_[tickets_.size() - 1 - random_.below(std::min<std::size_t>(tickets_.size(), 8))];
            if (here != nullptr || lane != own_) {
                EXPECT_NE(flat_engine_cancel(lane, ticket), FLAT_INVALID_ARGUMENT);
            }
        }
    }

    test::random_source &random() { return random_; }
    const EnginePlan &plan() const { return plan_; }
    std::uint64_t runs() const { return runs_; }
    std::uint64_t most_runs() const { return most_runs_; }
    std::uint64_t most_time() const { return most_time_; }
    std::size_t accepted() const { return tasks_.size(); }
    flat_engine *engine() const { return engine_.get(); }

  private:
    struct Task {
        std::size_t kind;
        unsigned urgency;
        std::uint64_t runs, clock; // when it was accepted
        bool bounded;
    };

    void submit_at_random(flat_submitter *lane) {
        const std::size_t kind = random_.below(payloads_.size());
        flat_task task{};
        task.urgency = static_cast<unsigned>(random_.below(FLAT_ENGINE_URGENCIES));
        if ((payloads_[kind].urgencies >> task.urgency & 1) == 0) return;
        if (kind + 1 == payloads_.size() && payloads_[kind].lane_grants * payloads_[kind].worker_grants == 0) return;
        task.always_run = random_.one_in(4);
        if (random_.one_in(8)) task.start_ns = flat_engine_now(engine_.get()) + random_.below(20000);
        if (random_.one_in(8) && task.start_ns == 0)
            task.deadline_ns = flat_engine_now(engine_.get()) + random_.below(20000) + 1;
        (void)submit(lane, kind, task);
    }

    const SojournBound &bound_of(const Task &task) const {
        const std::vector<SojournBound> &bounds = payloads_[task.kind].bounds;
        return *std::ranges::find(bounds, task.urgency, &SojournBound::urgency);
    }

    void check(const Task &task) {
        if (!task.bounded) return;
        const SojournBound &bound = bound_of(task);
        const std::uint64_t runs = runs_ - task.runs, time = clock_ - task.clock + payloads_[task.kind].service_ns;
        EXPECT_LE(runs, bound.before.all());
        EXPECT_LE(time, bound.ns.value_or(0));
        most_runs_ = std::max(most_runs_, runs);
        most_time_ = std::max(most_time_, time);
    }

    static void run(flat_worker *here, void *payload, std::size_t) {
        Simulation &self = *current;
        const std::uint32_t number = *static_cast<const std::uint32_t *>(payload);
        self.own_ = flat_engine_submitter(here);
        self.check(self.tasks_[number]);
        self.deferred_ = refused;
        if (self.acts != nullptr) self.acts(self, here, number);
        ++self.runs_;
        self.clock_ += self.payloads_[self.tasks_[number].kind].service_ns;
        if (self.deferred_ != refused) {
            Task &again = self.tasks_[self.deferred_];
            again.runs = self.runs_;
            again.clock = self.clock_;
            again.bounded = true;
        }
    }

    static inline Simulation *current = nullptr;

    EnginePlan plan_;
    std::vector<PlannedPayload> payloads_;
    test::random_source random_;
    std::unique_ptr<flat_engine, Ender> engine_;
    std::vector<flat_submitter *> lanes_;
    flat_submitter *own_ = nullptr;
    std::vector<Task> tasks_;
    std::vector<std::pair<flat_submitter *, flat_ticket>> tickets_;
    std::uint64_t runs_ = 0, clock_ = 0, most_runs_ = 0, most_time_ = 0;
    std::uint32_t deferred_ = refused;
};

EngineDeclaration small_engine(test::random_source &random) {
    const auto grants = [&]() -> std::size_t { return random.one_in(3) ? FLAT_NO_GRANTS : 1 + random.below(3); };
    const auto limits = [&] { return flat_class_limits{grants(), grants(), 1 + random.below(50)}; };
    const auto urgencies = [&] { return static_cast<Urgencies>(1 + random.below(every_urgency)); };
    EngineDeclaration declaration;
    declaration.lane_count = 1 + random.below(3);
    declaration.classes = {{{64, 40}, {256, 40}}, {limits(), limits()}, {urgencies(), urgencies()}};
    declaration.classes.limits[0].grants = 1;
    declaration.inline_limits = limits();
    declaration.inline_urgencies = urgencies();
    declaration.starvation_limit = static_cast<unsigned>(1 + random.below(4));
    declaration.caller_runs_workers = true;
    declaration.overhead_ns = 0;
    return declaration;
}

} // namespace

TEST(engine_bound, holds_for_every_accepted_task_whatever_comes) {
    const std::uint64_t seed = test::seed();
    SCOPED_TRACE("FLATLINE_TEST_SEED=" + std::to_string(seed));
    test::random_source random(seed);
    std::size_t accepted = 0;
    for (std::size_t left = test::scaled(100); left > 0; --left) {
        Simulation simulation(small_engine(random), random.next());
        simulation.acts = [](Simulation &self, flat_worker *here, std::uint32_t number) {
            self.act_at_random(here);
            if (self.random().one_in(3)) self.defer(here, number);
        };
        for (int steps = 0; steps < 500; ++steps) {
            simulation.act_at_random(nullptr);
            (void)simulation.step();
        }
        accepted += simulation.accepted();
        if (HasFailure()) return;
    }
    EXPECT_GT(accepted, test::scaled(100) * 100);
}

TEST(engine_bound, is_reached_to_the_task_with_one_urgency) {
    Simulation simulation(one_lane(8, 1, 0), 1);
    // The first task lets seven others wait, then submits the last one that there is a grant for, and defers itself: so
    // it is ahead of the last one twice.
    simulation.acts = [](Simulation &self, flat_worker *here, std::uint32_t number) {
        if (number != 0 || self.runs() != 0) return;
        EXPECT_NE(self.submit(1, 0), Simulation::refused);
        EXPECT_EQ(self.submit(1, 0), Simulation::refused);
        self.defer(here, number);
    };
    for (int i = 0; i < 7; ++i) ASSERT_NE(simulation.submit(1, 0), Simulation::refused);
    while (simulation.step()) continue;
    const SojournBound &bound = simulation.plan().kinds.front().payloads.back().bounds.front();
    EXPECT_EQ(bound.before.all(), 8U);
    EXPECT_EQ(simulation.most_runs(), 8U);
    EXPECT_EQ(bound.ns, 9000U);
    EXPECT_EQ(simulation.most_time(), 9000U);
}

TEST(engine_bound, is_nearly_reached_with_a_more_urgent_task_that_comes_again_and_again) {
    Simulation simulation(one_lane(8, 1 | 8, 5), 1);
    simulation.acts = [](Simulation &self, flat_worker *here, std::uint32_t number) {
        if (number != 0) return;
        if (self.runs() == 0) {
            while (self.submit(1, 0) != Simulation::refused) continue;
        }
        if (self.runs() < 100) self.defer(here, number);
    };
    ASSERT_NE(simulation.submit(1, 3), Simulation::refused);
    while (simulation.step()) continue;
    const TasksBefore before = simulation.plan().kinds.front().payloads.back().bounds.front().before;
    EXPECT_EQ(before.all(), 1 + 7 + 8 * 5U);
    EXPECT_EQ(simulation.most_runs(), 1 + 6 + 7 * 5U); // one grant is the urgent task's
}

TEST(engine_bound, a_task_that_was_cancelled_disposes_in_its_turn) {
    // A worker that ran it as it takes tasks in would keep all others waiting, as often as someone cancels.
    const EngineDeclaration declaration = one_lane(4, 1, 0);
    const EngineOptions options(declaration);
    flat_engine *made = nullptr;
    flat_submitter *lane = nullptr;
    ASSERT_EQ(flat_engine_create(&made, &options.get()), FLAT_OK);
    const std::unique_ptr<flat_engine, Ender> engine(made);
    ASSERT_EQ(flat_engine_register(made, &lane), FLAT_OK);
    static std::vector<flat_outcome> outcomes;
    outcomes.clear();
    flat_ticket ticket = 0;
    flat_task task{};
    task.run = [](flat_worker *here, void *, std::size_t) { outcomes.push_back(flat_engine_outcome(here)); };
    task.always_run = true;
    task.ticket = &ticket;
    const auto submit = [&](std::uint64_t start_ns) {
        task.start_ns = start_ns;
        ASSERT_EQ(flat_engine_submit(lane, 0, &task, nullptr, 0), FLAT_OK);
    };
    submit(0);
    submit(flat_engine_now(made) + 3600 * std::uint64_t{1000000000});
    ASSERT_EQ(flat_engine_cancel(lane, ticket), FLAT_OK); // no longer has to wait for its start
    submit(0);
    ASSERT_EQ(flat_engine_cancel(lane, ticket), FLAT_OK);
    for (std::size_t ran = 1; ran <= 3; ++ran) {
        ASSERT_TRUE(flat_engine_step(made, 0));
        ASSERT_EQ(outcomes.size(), ran);
    }
    EXPECT_EQ(std::ranges::count(outcomes, FLAT_TASK_CANCELLED), 2);
    EXPECT_EQ(outcomes.front(), FLAT_TASK_DONE);
}

TEST(engine_bound, each_run_is_held_to_the_limit) {
    EngineDeclaration declaration = one_lane(4, 1, 0);
    declaration.inline_limits.service_ns = 50000;
    const EngineOptions options(declaration);
    flat_engine *made = nullptr;
    flat_submitter *lane = nullptr;
    ASSERT_EQ(flat_engine_create(&made, &options.get()), FLAT_OK);
    const std::unique_ptr<flat_engine, Ender> engine(made);
    ASSERT_EQ(flat_engine_register(made, &lane), FLAT_OK);
    flat_ticket ticket = 0;
    flat_task task{};
    // Takes twice the limit; defers itself once; and takes as long to dispose.
    task.run = [](flat_worker *here, void *, std::size_t) {
        static int runs;
        const flat_engine *of = flat_engine_of(here);
        const std::uint64_t end = flat_engine_now(of) + 100000;
        while (flat_engine_now(of) < end) continue;
        if (++runs == 1) {
            EXPECT_EQ(flat_engine_defer(here, 0), FLAT_OK);
        }
    };
    task.always_run = true;
    task.ticket = &ticket;
    ASSERT_EQ(flat_engine_submit(lane, 0, &task, nullptr, 0), FLAT_OK);
    ASSERT_TRUE(flat_engine_step(made, 0));
    EXPECT_EQ(engine_runs_over_limit(made, 0, 1), 1U);
    ASSERT_TRUE(flat_engine_step(made, 0));
    EXPECT_EQ(engine_runs_over_limit(made, 0, 1), 2U);
    ASSERT_EQ(flat_engine_submit(lane, 0, &task, nullptr, 0), FLAT_OK);
    ASSERT_EQ(flat_engine_cancel(lane, ticket), FLAT_OK);
    ASSERT_TRUE(flat_engine_step(made, 0));
    EXPECT_EQ(engine_runs_over_limit(made, 0, 1), 3U);
}
