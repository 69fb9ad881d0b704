// The bound on what can be run before a task, against every order of submits that a small worker can meet.
#include "plan/sojourn.hpp"

#include "engine/parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace flat::plan;

namespace {

using Counts = std::array<unsigned, FLAT_ENGINE_URGENCIES>;

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
        for (unsigned urgency = 0; urgency < FLAT_ENGINE_URGENCIES; ++urgency)
            kinds.push_back({grants[urgency], 1, 1U << urgency});
        return kinds;
    }
};

constexpr std::uint32_t most_tasks = 8;

/// The worker's lists; and, of the task that is watched, how many are ahead of it in its own.
class State {
  public:
    explicit State(unsigned limit) : lists_(part_ready_make(most_tasks, limit)) { urgency_of_.fill(nobody); }
    State(const State &from) : State(1) { *this = from; }
    State &operator=(const State &from) {
        part_ready_copy(lists_.get(), from.lists_.get());
        urgency_of_ = from.urgency_of_;
        ahead = from.ahead;
        return *this;
    }

    void append(unsigned urgency) {
        const auto free = std::ranges::find(urgency_of_, nobody);
        *free = urgency;
        part_ready_append(lists_.get(), urgency, static_cast<std::uint32_t>(free - urgency_of_.begin()));
    }

    /// The urgency of the task that is chosen; there is one.
    unsigned choose() { return std::exchange(urgency_of_.at(part_ready_choose(lists_.get())), nobody); }

    Counts waiting() const {
        Counts counts{};
        for (const unsigned urgency : urgency_of_) {
            if (urgency != nobody) ++counts[urgency];
        }
        return counts;
    }

    auto key() const { return std::tuple(part_ready_counters(lists_.get()), waiting(), ahead); }

    unsigned ahead = 0;

  private:
    static constexpr unsigned nobody = FLAT_ENGINE_URGENCIES;
    struct Ender {
        void operator()(part_ready *of) const { part_ready_end(of); }
    };
    std::unique_ptr<part_ready, Ender> lists_;
    std::array<unsigned, most_tasks> urgency_of_{};
};

/// Searches through all that an adversary can do: it appends a task whenever a grant is free, or lets the worker
/// choose.
class Search {
  public:
    Search(const Worker &worker, unsigned urgency) : worker_(worker), urgency_(urgency) {}

    /// The most tasks that are chosen before a task of the urgency, appended in any state that can be reached.
    unsigned worst() {
        visit(State(worker_.limit));
        return worst_;
    }

  private:
    static State appended(State state, unsigned urgency) {
        state.append(urgency);
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
                watched.ahead = state.waiting()[urgency_];
                worst_ = std::max(worst_, longest(watched));
            }
            for (unsigned urgency = 0; urgency < FLAT_ENGINE_URGENCIES; ++urgency) {
                if (worker_.may_append(state.waiting(), urgency)) left.push_back(appended(state, urgency));
            }
            if (state.waiting() == Counts{}) continue;
            (void)state.choose();
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
        const unsigned chosen = next.choose();
        unsigned most = 0;
        if (chosen != urgency_ || state.ahead > 0) {
            next.ahead -= chosen == urgency_;
            most = 1 + longest(next);
        }
        for (unsigned urgency = 0; urgency < FLAT_ENGINE_URGENCIES; ++urgency) {
            if (worker_.may_append(state.waiting(), urgency)) most = std::max(most, longest(appended(state, urgency)));
        }
        return longest_[state.key()] = most;
    }

    const Worker &worker_;
    unsigned urgency_;
    unsigned worst_ = 0;
    using Key = decltype(State(1).key());
    std::set<Key> seen_;
    std::map<Key, unsigned> longest_;
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
                for (unsigned urgency = 0; urgency < FLAT_ENGINE_URGENCIES; ++urgency) {
                    if ((used >> urgency & 1) != 0) (void)part_reached({{}, shared, used, limit}, urgency);
                }
            }
        }
        for (unsigned code = 0; code < 81; ++code) {
            const Counts grants{code % 3, code / 3 % 3, code / 9 % 3, code / 27};
            for (unsigned urgency = 0; urgency < FLAT_ENGINE_URGENCIES; ++urgency) {
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

TEST(sojourn, each_task_that_can_be_before_costs_its_limit) {
    // Three kinds: 4 grants of 10 ns at urgencies 0 and 1, 2 of 100 ns at 1, 1 of 1,000 ns at 3.
    const std::vector<PayloadKind> kinds{{4, 10, 1 | 2}, {2, 100, 2}, {1, 1000, 8}};
    const SojournBound low = sojourn_bound(kinds, 0, 0, 5, 7);
    EXPECT_EQ(low.before, (TasksBefore{1, 3, 20, {}}));
    // Itself, the running one, three ahead, those that pass; the overhead of 24 runs before it and of 7 grants.
    EXPECT_EQ(low.ns, 10 + 1000 + 3 * 10 + 20 * 1000 + 7 * (24 + 7U));
    const SojournBound middle = sojourn_bound(kinds, 1, 1, 5, 0);
    EXPECT_EQ(middle.before, (TasksBefore{1, 5, 30, {1 + 35 / 5}}));
    EXPECT_EQ(middle.ns, 100 + 1000 + (4 * 10 + 100) + 30 * 1000 + 8 * 10U);
    const SojournBound high = sojourn_bound(kinds, 2, 3, 5, 0);
    EXPECT_EQ(high.before, (TasksBefore{1, 0, 0, {1, 1}}));
    EXPECT_EQ(high.ns, 1000 + 1000 + 0 + 0 + 1 * 100 + 1 * 10U);
}

TEST(sojourn, a_kind_without_a_limit_leaves_no_bound_but_one_without_grants_does_not_matter) {
    const std::vector<PayloadKind> kinds{{4, 10, 1}, {0, 0, every_urgency}, {2, 0, 8}};
    const SojournBound none = sojourn_bound(kinds, 0, 0, 5, 7);
    EXPECT_FALSE(none.ns.has_value());
    EXPECT_EQ(none.unlimited, 2U);
    EXPECT_EQ(none.before.more_urgent, 20U);
    const SojournBound one = sojourn_bound(std::span(kinds).first(2), 0, 0, 5, 0);
    EXPECT_EQ(one.before, (TasksBefore{1, 3, 0, {}}));
    EXPECT_EQ(one.ns, 50U);
}

TEST(sojourn, a_bound_beyond_all_clocks_is_none) {
    const std::vector<PayloadKind> kinds{{1U << 26, std::uint64_t{1} << 56, every_urgency}};
    const SojournBound bound = sojourn_bound(kinds, 0, 0, 32767, 0);
    EXPECT_FALSE(bound.ns.has_value() || bound.unlimited.has_value());
}
