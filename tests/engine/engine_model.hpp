// What an engine must do, without rings, bits or threads: tasks in lists, and a number of grants for each lane.
//
// Workers 0 and 1, outside lanes 0 and 1, and the workers' own lanes 2 and 3. Class 2 is the inline payloads'.
#ifndef FLATLINE_TESTS_ENGINE_ENGINE_MODEL_HPP
#define FLATLINE_TESTS_ENGINE_ENGINE_MODEL_HPP

#include <flatline/engine.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace test {

constexpr std::size_t model_workers = 2, model_outside = 2, model_lanes = model_outside + model_workers;
constexpr std::size_t model_inline = 2, model_classes = 3;
constexpr unsigned model_starvation_limit = 2;

// A task, and all that it will do.
struct task_plan {
    std::uint32_t id;
    std::size_t of_class, size;
    unsigned urgency;
    bool completion, always_run;
    bool expires;                  // its deadline has passed before any worker looks at it
    bool timed;                    // its start is far away
    std::vector<bool> deferrals;   // at each of its first runs; true: until far away
    std::vector<task_plan> nested; // submitted at its first run
    std::size_t nested_worker;
};

inline std::string words_of(flat_outcome outcome) {
    return outcome == FLAT_TASK_DONE ? "done" : outcome == FLAT_TASK_EXPIRED ? "expired" : "cancelled";
}

class engine_model {
  public:
    using outcomes = std::deque<std::pair<std::uint32_t, flat_outcome>>;

    // `grants[inside][class]`: of an outside lane and of a worker's, at each worker.
    explicit engine_model(const std::array<std::array<std::size_t, model_classes>, 2> &grants) {
        for (std::size_t lane = 0; lane < model_lanes; lane++) {
            for (auto &at_worker : left_[lane]) at_worker = grants[lane >= model_outside];
        }
    }

    bool is_draining() const { return draining_; }
    void drain() { draining_ = true; }
    void resume() { draining_ = false; }

    std::size_t left(std::size_t lane, std::size_t worker, std::size_t of_class) const {
        return left_[lane][worker][of_class];
    }
    void take_grant(std::size_t lane, std::size_t worker, std::size_t of_class) { left_[lane][worker][of_class]--; }
    void give_grant(std::size_t lane, std::size_t worker, std::size_t of_class) { left_[lane][worker][of_class]++; }

    flat_status can_submit(std::size_t lane, std::size_t worker, std::size_t of_class) const {
        if (draining_ && lane < model_outside) return FLAT_DRAINING;
        if (left_[lane][worker][of_class] != 0) return FLAT_OK;
        return of_class == model_inline ? FLAT_RING_FULL : FLAT_NO_GRANT;
    }

    // A task that was accepted, and whose grant was taken.
    void post(std::size_t lane, std::size_t worker, const task_plan &plan) {
        tasks_[plan.id] = {plan, lane, worker, where::mail, false, 0};
        mail_[worker][lane].push_back({plan.id, false});
    }

    // Whether the task holds its grant: it is in flight, or its completion is not read.
    bool holds_grant(std::uint32_t id) const { return tasks_.count(id) != 0; }
    void cancel(std::uint32_t id) {
        const task &of = tasks_.at(id);
        mail_[of.worker][of.lane].push_back({id, true});
    }

    // What a step does; its events are appended. Returns whether it found a task.
    bool step(std::size_t worker, std::vector<std::string> &events) {
        for (std::size_t lane = 0; lane < model_lanes; lane++) take_in(worker, lane);
        const unsigned urgency = choose(worker);
        if (urgency == FLAT_ENGINE_URGENCIES) return false;
        const std::uint32_t id = ready_[worker][urgency].front();
        ready_[worker][urgency].pop_front();
        task &of = tasks_.at(id);
        const flat_outcome outcome = of.is_cancelled                   ? FLAT_TASK_CANCELLED
                                     : of.plan.expires && of.runs == 0 ? FLAT_TASK_EXPIRED
                                                                       : FLAT_TASK_DONE;
        if (outcome != FLAT_TASK_DONE) {
            if (of.plan.always_run) events.push_back("run " + std::to_string(id) + ' ' + words_of(outcome));
            finish(id, outcome);
        } else {
            run(id, events);
        }
        return true;
    }

    // What a stop makes of all that is left, in no order. Their completions are with the unread ones.
    std::vector<std::string> cancel_all() {
        std::vector<std::string> events;
        for (auto &at_worker : mail_) {
            for (auto &of_lane : at_worker) of_lane.clear();
        }
        for (auto &at_worker : ready_) {
            for (auto &list : at_worker) list.clear();
        }
        std::vector<std::uint32_t> in_flight;
        for (const auto &[id, of] : tasks_) {
            if (of.at != where::unread) in_flight.push_back(id);
        }
        for (const std::uint32_t id : in_flight) {
            if (tasks_.at(id).plan.always_run) events.push_back("run " + std::to_string(id) + " cancelled");
            finish(id, FLAT_TASK_CANCELLED);
        }
        return events;
    }

    bool has_in_flight(std::size_t lane) const {
        for (const auto &at_worker : mail_) {
            if (!at_worker[lane].empty()) return true;
        }
        for (const auto &[id, of] : tasks_) {
            if (of.lane == lane && of.at != where::unread) return true;
        }
        return false;
    }
    bool is_idle() const {
        for (std::size_t lane = 0; lane < model_lanes; lane++) {
            if (has_in_flight(lane)) return false;
        }
        return true;
    }

    // The next completions of a lane: those of worker 0 first.
    outcomes poll(std::size_t lane, std::size_t capacity) {
        outcomes taken;
        for (std::size_t worker = 0; worker < model_workers; worker++) {
            outcomes &of = unread_[lane][worker];
            while (!of.empty() && taken.size() < capacity) {
                taken.push_back(of.front());
                of.pop_front();
                give_back(taken.back().first);
            }
        }
        return taken;
    }

    // Whether a cancellation of the task is in the mail.
    bool is_cancel_on_its_way(std::uint32_t id) const {
        for (const auto &at_worker : mail_) {
            for (const auto &of_lane : at_worker) {
                for (const letter &each : of_lane) {
                    if (each.id == id && each.cancels) return true;
                }
            }
        }
        return false;
    }

    const task_plan &plan_of(std::uint32_t id) const { return tasks_.at(id).plan; }

  private:
    enum class where : std::uint8_t { mail, ready, timed, unread };
    struct task {
        task_plan plan;
        std::size_t lane, worker;
        where at;
        bool is_cancelled;
        std::size_t runs;
    };
    struct letter {
        std::uint32_t id;
        bool cancels;
    };

    void make_ready(std::uint32_t id) {
        task &of = tasks_.at(id);
        auto &list = ready_[of.worker][of.plan.urgency];
        if (list.empty()) passed_over_[of.worker][of.plan.urgency] = 0;
        list.push_back(id);
        of.at = where::ready;
    }

    void take_in(std::size_t worker, std::size_t lane) {
        for (auto &mail = mail_[worker][lane]; !mail.empty(); mail.pop_front()) {
            const letter next = mail.front();
            if (next.cancels) {
                apply_cancellation(next.id);
            } else if (tasks_.at(next.id).plan.timed) {
                tasks_.at(next.id).at = where::timed;
            } else {
                make_ready(next.id);
            }
        }
    }

    void apply_cancellation(std::uint32_t id) {
        const auto found = tasks_.find(id);
        if (found == tasks_.end() || found->second.at == where::unread) return;
        task &of = found->second;
        if (of.plan.always_run) {
            of.is_cancelled = true;
            if (of.at == where::timed) make_ready(id);
            return;
        }
        if (of.at == where::ready) std::erase(ready_[of.worker][of.plan.urgency], id);
        finish(id, FLAT_TASK_CANCELLED);
    }

    unsigned choose(std::size_t worker) {
        auto &lists = ready_[worker];
        auto &passed = passed_over_[worker];
        unsigned chosen = FLAT_ENGINE_URGENCIES;
        for (unsigned u = FLAT_ENGINE_URGENCIES; u-- > 0;) {
            const bool overdue = !lists[u].empty() && passed[u] >= model_starvation_limit;
            if (overdue || (chosen == FLAT_ENGINE_URGENCIES && !lists[u].empty())) chosen = u;
        }
        if (chosen == FLAT_ENGINE_URGENCIES) return chosen;
        for (unsigned u = 0; u < chosen; u++) passed[u] += !lists[u].empty();
        passed[chosen] = 0;
        return chosen;
    }

    void run(std::uint32_t id, std::vector<std::string> &events) {
        events.push_back("run " + std::to_string(id) + " done");
        const task_plan plan = tasks_.at(id).plan;
        const std::size_t worker = tasks_.at(id).worker, runs = tasks_.at(id).runs++;
        if (runs == 0) {
            for (const task_plan &inner : plan.nested) submit_nested(worker, plan.nested_worker, inner, events);
        }
        if (runs >= plan.deferrals.size()) {
            finish(id, FLAT_TASK_DONE);
        } else if (plan.deferrals[runs]) {
            tasks_.at(id).at = where::timed;
        } else {
            make_ready(id);
        }
    }

    void submit_nested(std::size_t from, std::size_t to, const task_plan &plan, std::vector<std::string> &events) {
        const std::size_t lane = model_outside + from;
        const flat_status status = can_submit(lane, to, plan.of_class);
        events.push_back("nested " + std::to_string(plan.id) + ' ' + flat_status_string(status));
        if (status != FLAT_OK) return;
        take_grant(lane, to, plan.of_class);
        post(lane, to, plan);
    }

    void finish(std::uint32_t id, flat_outcome outcome) {
        task &of = tasks_.at(id);
        if (of.plan.completion) {
            of.at = where::unread;
            unread_[of.lane][of.worker].emplace_back(id, outcome);
        } else {
            give_back(id);
        }
    }

    void give_back(std::uint32_t id) {
        const task &of = tasks_.at(id);
        give_grant(of.lane, of.worker, of.plan.of_class);
        tasks_.erase(id);
    }

    bool draining_ = false;
    std::array<std::array<std::array<std::size_t, model_classes>, model_workers>, model_lanes> left_{};
    std::map<std::uint32_t, task> tasks_;
    std::array<std::array<std::deque<letter>, model_lanes>, model_workers> mail_;
    std::array<std::array<std::deque<std::uint32_t>, FLAT_ENGINE_URGENCIES>, model_workers> ready_;
    std::array<std::array<unsigned, FLAT_ENGINE_URGENCIES>, model_workers> passed_over_{};
    std::array<std::array<outcomes, model_workers>, model_outside> unread_;
};

} // namespace test

#endif
