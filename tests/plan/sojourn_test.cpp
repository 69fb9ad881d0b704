// The bound on what can be run before a task, against every order of submits that a small worker can meet.
#include "plan/sojourn.hpp"

#include "plan/ready_choices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

using namespace flat::plan;

namespace {

using Counts = std::array<unsigned, READY_LISTS>;

/// A worker whose tasks of urgency u have grants[u] grants of their own, or all of them the same `shared` grants.
struct Worker {
    Counts grants{};
    unsigned shared = 0;
    Urgencies used = every_urgency; // of the shared ones
    unsigned limit = 1;

    bool may_append(const Counts &waiting, unsigned urgency) const {
        if (shared == 0) return waiting[urgency] < grants[urgency];
        unsigned all = 0;
        for (const unsigned each : waiting) all += each;
        return (used >> urgency & 1) != 0 && all < shared;
    }

    std::vector<PayloadKind> kinds() const {
        if (shared != 0) return {{shared, 1, used}};
        std::vector<PayloadKind> kinds;
        for (unsigned urgency = 0; urgency < READY_LISTS; ++urgency)
            kinds.push_back({grants[urgency], 1, 1U << urgency});
        return kinds;
    }
};

/// A state of the worker's lists; and, of the task that is watched, how many are ahead of it in its own.
struct State {
    ready_state lists{};
    unsigned ahead = 0;
    auto key() const {
        return std::tuple(lists.passed_over, lists.length[0], lists.length[1], lists.length[2], lists.length[3], ahead);
    }
    Counts waiting() const { return {lists.length[0], lists.length[1], lists.length[2], lists.length[3]}; }
};

/// Searches through all that an adversary can do: it appends a task whenever a grant is free, or lets the worker
/// choose.
class Search {
  public:
    Search(const Worker &worker, unsigned urgency) : worker_(worker), urgency_(urgency) {}

    /// The most tasks that are chosen before a task of the urgency, appended in any state that can be reached.
    unsigned worst() {
        State start;
        visit(start);
        return worst_;
    }

  private:
    State appended(State state, unsigned urgency) const {
        ready_state_append(&state.lists, worker_.limit, urgency);
        return state;
    }

    /// Goes through the states without the watched task, and watches one from each where it can be appended.
    void visit(const State &first) {
        std::vector<State> left{first};
        while (!left.empty()) {
            State state = left.back();
            left.pop_back();
            if (!seen_.insert(state.key()).second) continue;
            if (worker_.may_append(state.waiting(), urgency_)) {
                State watched = appended(state, urgency_);
                watched.ahead = state.lists.length[urgency_];
                worst_ = std::max(worst_, longest(watched));
            }
            for (unsigned urgency = 0; urgency < READY_LISTS; ++urgency) {
                if (worker_.may_append(state.waiting(), urgency)) left.push_back(appended(state, urgency));
            }
            if (state.waiting() == Counts{}) continue;
            (void)ready_state_choose(&state.lists, worker_.limit);
            left.push_back(state);
        }
    }

    /// The most choices before that of the watched task. A state that leads to itself would let it wait for ever.
    unsigned longest(const State &state) {
        constexpr unsigned under_way = ~0U;
        const auto [at, fresh] = longest_.try_emplace(state.key(), under_way);
        if (!fresh) {
            EXPECT_NE(at->second, under_way) << "a task waits for ever";
            return at->second == under_way ? 0 : at->second;
        }
        State next = state;
        const unsigned chosen = ready_state_choose(&next.lists, worker_.limit);
        unsigned most = 0;
        if (chosen != urgency_ || state.ahead > 0) {
            next.ahead -= chosen == urgency_;
            most = 1 + longest(next);
        }
        for (unsigned urgency = 0; urgency < READY_LISTS; ++urgency) {
            if (worker_.may_append(state.waiting(), urgency)) most = std::max(most, longest(appended(state, urgency)));
        }
        return longest_[state.key()] = most;
    }

    const Worker &worker_;
    unsigned urgency_;
    unsigned worst_ = 0;
    std::set<decltype(State{}.key())> seen_;
    std::map<decltype(State{}.key()), unsigned> longest_;
};

/// The worst that there is, which must be within the bound, as a part of the bound. The search knows lists only, so
/// that the task that runs meanwhile is left out of both.
double part_reached(const Worker &worker, unsigned urgency) {
    const std::vector<PayloadKind> kinds = worker.kinds();
    const std::size_t kind = worker.shared != 0 ? 0 : urgency;
    const TasksBefore before = sojourn_bound(kinds, kind, urgency, worker.limit, 0).before;
    const std::uint64_t bound = before.all() - before.running;
    const unsigned worst = Search(worker, urgency).worst();
    EXPECT_LE(worst, bound) << "urgency " << urgency << " of " << testing::PrintToString(worker.grants) << " or "
                            << worker.shared << " shared by " << worker.used << ", limit " << worker.limit;
    return bound == 0 ? 1 : static_cast<double>(worst) / static_cast<double>(bound);
}

} // namespace

TEST(sojourn, no_order_of_submits_lets_more_tasks_pass_than_the_bound_says) {
    for (unsigned limit = 1; limit <= 3; ++limit) {
        for (Urgencies used = 1; used <= every_urgency; ++used) {
            for (unsigned shared = 1; shared <= 4; ++shared) {
                for (unsigned urgency = 0; urgency < READY_LISTS; ++urgency) {
                    if ((used >> urgency & 1) != 0) (void)part_reached({{}, shared, used, limit}, urgency);
                }
            }
        }
        for (unsigned code = 0; code < 81; ++code) {
            const Counts grants{code % 3, code / 3 % 3, code / 9 % 3, code / 27};
            for (unsigned urgency = 0; urgency < READY_LISTS; ++urgency) {
                if (grants[urgency] > 0) (void)part_reached({grants, 0, 0, limit}, urgency);
            }
        }
    }
}

TEST(sojourn, the_bound_is_reached) {
    for (unsigned limit = 1; limit <= 4; ++limit) {
        SCOPED_TRACE(limit);
        EXPECT_EQ(part_reached({{}, 5, 1, limit}, 0), 1); // one urgency
        EXPECT_EQ(part_reached({{3, 0, 0, 1}, 0, 0, limit}, 0), 1) << "passed over by more urgent ones";
        EXPECT_EQ(part_reached({{1, 0, 0, 3}, 0, 0, limit}, 3), 1) << "and by an overdue one";
        EXPECT_EQ(part_reached({{1, 3, 0, 1}, 0, 0, limit}, 1), 1) << "and by both";
    }
}
