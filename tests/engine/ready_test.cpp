// ready.h: the order in which tasks that can run are run, and how long one can wait.
#include "core/environment.hpp"
#include "core/random_source.hpp"
#include "engine/parts.h"

#include <flatline/engine.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr unsigned urgencies = FLAT_ENGINE_URGENCIES;

struct ender {
    void operator()(part_ready *of) const { part_ready_end(of); }
};
using ready_lists = std::unique_ptr<part_ready, ender>;

// The rule in words, without bits: the most urgent list is next, unless a less urgent one has been passed over `limit`
// times since it began to wait or was chosen; then the least urgent of those is.
class plain_rule {
  public:
    explicit plain_rule(unsigned limit) : limit_(limit) {}

    void append(unsigned urgency, std::uint32_t node) {
        if (lists_[urgency].empty()) passed_over_[urgency] = 0;
        lists_[urgency].push_back(node);
    }
    void remove(unsigned urgency, std::size_t at) {
        lists_[urgency].erase(lists_[urgency].begin() + static_cast<std::ptrdiff_t>(at));
    }
    std::uint32_t choose() {
        const unsigned chosen = next();
        if (chosen == urgencies) return PART_NOBODY;
        for (unsigned u = 0; u < chosen; u++) passed_over_[u] += !lists_[u].empty();
        passed_over_[chosen] = 0;
        const std::uint32_t node = lists_[chosen].front();
        lists_[chosen].pop_front();
        return node;
    }
    const std::deque<std::uint32_t> &list(unsigned urgency) const { return lists_[urgency]; }

  private:
    unsigned next() const {
        for (unsigned u = 0; u < urgencies; u++) {
            if (!lists_[u].empty() && passed_over_[u] >= limit_) return u;
        }
        for (unsigned u = urgencies; u-- > 0;) {
            if (!lists_[u].empty()) return u;
        }
        return urgencies;
    }

    unsigned limit_;
    std::array<std::deque<std::uint32_t>, urgencies> lists_;
    std::array<std::uint64_t, urgencies> passed_over_{};
};

// Both, side by side. Operations 0 .. 3 append to the list of that urgency, 4 chooses, 5 .. 8 remove the last one of a
// list, 9 .. 12 its first.
class both {
  public:
    both(std::uint32_t nodes, unsigned limit) : lists_(part_ready_make(nodes, limit)), rule_(limit) {
        for (std::uint32_t i = nodes; i-- > 0;) free_.push_back(i);
    }

    static constexpr unsigned operations = 13;

    // "" or what is wrong.
    std::string apply(unsigned operation) {
        if (operation < urgencies) return append(operation);
        if (operation > urgencies) return remove((operation - urgencies - 1) % urgencies, operation > 2 * urgencies);
        const std::uint32_t expected = rule_.choose(), chosen = part_ready_choose(lists_.get());
        if (chosen != expected) return "chooses " + std::to_string(chosen) + ", not " + std::to_string(expected);
        if (chosen != PART_NOBODY) free_.push_back(chosen);
        return check();
    }

  private:
    std::string append(unsigned urgency) {
        if (free_.empty()) return "";
        part_ready_append(lists_.get(), urgency, free_.back());
        rule_.append(urgency, free_.back());
        free_.pop_back();
        return check();
    }
    std::string remove(unsigned urgency, bool first) {
        if (rule_.list(urgency).empty()) return "";
        const std::size_t at = first ? 0 : rule_.list(urgency).size() - 1;
        const std::uint32_t node = rule_.list(urgency)[at];
        part_ready_remove(lists_.get(), urgency, node);
        rule_.remove(urgency, at);
        free_.push_back(node);
        return check();
    }
    std::string check() const {
        for (unsigned u = 0; u < urgencies; u++) {
            if (part_ready_length(lists_.get(), u) != rule_.list(u).size()) return "a length is another";
            if ((part_ready_waiting(lists_.get()) >> u & 1) == rule_.list(u).empty()) return "a mark is another";
        }
        return "";
    }

    ready_lists lists_;
    plain_rule rule_;
    std::vector<std::uint32_t> free_;
};

// One task of each list at most, which is enough: that a list has more is as if the next one came at once.
class adversary {
  public:
    explicit adversary(unsigned limit) : limit_(limit) { explore(); }

    // The most choices until the first task of the list of `urgency` is chosen, whatever comes and is cancelled.
    std::size_t longest_wait(unsigned urgency) {
        std::size_t most = 0;
        longest_.clear();
        for (const auto &[key, state] : states_) {
            if ((part_ready_waiting(state.get()) >> urgency & 1) != 0)
                most = std::max(most, wait_from(state.get(), urgency));
        }
        return most;
    }

  private:
    using state_key = std::pair<std::uint32_t, std::uint64_t>;
    static constexpr std::size_t for_ever = SIZE_MAX / 2, being_searched = SIZE_MAX;

    // Counters of lists in which nothing waits do not matter.
    static state_key key_of(const part_ready *state) {
        const std::uint32_t waiting = part_ready_waiting(state);
        std::uint64_t counters = part_ready_counters(state);
        for (unsigned u = 0; u < urgencies; u++) {
            if ((waiting >> u & 1) == 0) counters &= ~(std::uint64_t{0xffff} << 16 * u);
        }
        return {waiting, counters};
    }

    ready_lists copy(const part_ready *from) const {
        ready_lists made(part_ready_make(urgencies, limit_));
        part_ready_copy(made.get(), from);
        return made;
    }

    // All that an adversary can make of a state before the next choice: each list but `kept` stays, begins, ends, or
    // ends and begins anew.
    template <class Visit> void arrivals(const part_ready *from, unsigned kept, Visit visit) const {
        for (unsigned pattern = 0; pattern < 81; pattern++) {
            ready_lists to = copy(from);
            for (unsigned u = 0, rest = pattern; u < urgencies; u++, rest /= 3) {
                const bool waits = (part_ready_waiting(to.get()) >> u & 1) != 0;
                if (u == kept) continue;
                if (waits && rest % 3 != 0) part_ready_remove(to.get(), u, u);
                if (rest % 3 == 2) part_ready_append(to.get(), u, u);
            }
            visit(to.get());
        }
    }

    void explore() {
        std::vector<part_ready *> open;
        const auto reach = [&](const part_ready *state) {
            auto [at, is_new] = states_.try_emplace(key_of(state));
            if (!is_new) return;
            at->second = copy(state);
            open.push_back(at->second.get());
        };
        reach(ready_lists(part_ready_make(urgencies, limit_)).get());
        while (!open.empty()) {
            part_ready *from = open.back();
            open.pop_back();
            arrivals(from, urgencies, [&](part_ready *state) {
                reach(state);
                (void)part_ready_choose(state);
                reach(state);
            });
        }
    }

    std::size_t wait_from(const part_ready *state, unsigned urgency) {
        const state_key key = key_of(state);
        const auto known = longest_.find(key);
        if (known != longest_.end()) return known->second == being_searched ? for_ever : known->second;
        longest_[key] = being_searched;
        std::size_t most = 0;
        arrivals(state, urgency, [&](part_ready *next) {
            if (most >= for_ever) return;
            const std::uint32_t chosen = part_ready_choose(next);
            most = std::max(most, chosen == urgency ? 1 : 1 + wait_from(next, urgency));
        });
        return longest_[key] = std::min(most, for_ever);
    }

    unsigned limit_;
    std::map<state_key, ready_lists> states_;
    std::map<state_key, std::size_t> longest_;
};

// What ready.h states.
std::size_t stated_bound(unsigned limit, unsigned urgency) {
    const std::size_t by_more_urgent = urgency + 1 < urgencies ? limit : 0;
    std::size_t passes = by_more_urgent;
    for (unsigned less = urgency; less-- > 0;) passes += 1 + passes / limit;
    return passes + 1;
}

} // namespace

TEST(engine_ready, every_short_sequence_is_as_the_rule_says) {
    for (unsigned limit = 1; limit <= 3; limit++) {
        constexpr std::size_t length = 5;
        std::array<unsigned, length> sequence{};
        for (std::size_t place = 0; place < length;) {
            both run(length, limit);
            // Each sequence goes on with choices until nothing is left.
            for (std::size_t i = 0; i < 2 * length; i++) {
                const std::string wrong = run.apply(i < length ? sequence[i] : urgencies);
                ASSERT_EQ(wrong, "") << "limit " << limit << ", operation " << i << " of "
                                     << testing::PrintToString(sequence);
            }
            for (place = 0; place < length && ++sequence[place] == both::operations; place++) sequence[place] = 0;
        }
    }
}

TEST(engine_ready, long_random_sequences_are_as_the_rule_says) {
    test::random_source random(test::seed());
    for (std::size_t round = 0; round < test::scaled(300); round++) {
        const auto limit = static_cast<unsigned>(random.one_in(3) ? 1 + random.below(3) : random.magnitude(32767));
        both run(40, limit);
        const std::uint64_t choosing = 2 + random.below(20);
        for (std::size_t i = 0; i < 2000; i++) {
            const unsigned operation =
                random.below(choosing) < 2 ? urgencies : static_cast<unsigned>(random.below(both::operations));
            const std::string wrong = run.apply(operation);
            ASSERT_EQ(wrong, "") << "limit " << limit << ", operation " << i << ", seed " << test::seed();
        }
    }
}

TEST(engine_ready, the_largest_limit_is_exact) {
    for (const unsigned limit : {1u, 2u, 64u, 32767u}) {
        ready_lists lists(part_ready_make(2, limit));
        part_ready_append(lists.get(), 0, 0);
        for (unsigned i = 0; i < limit; i++) {
            part_ready_append(lists.get(), 3, 1);
            ASSERT_EQ(part_ready_choose(lists.get()), 1u) << i;
        }
        part_ready_append(lists.get(), 3, 1);
        EXPECT_EQ(part_ready_choose(lists.get()), 0u) << limit;
    }
}

TEST(engine_ready, nobody_waits_longer_than_stated_and_the_bound_is_reached) {
    for (unsigned limit = 1; limit <= 4; limit++) {
        adversary against(limit);
        for (unsigned urgency = 0; urgency < urgencies; urgency++) {
            EXPECT_EQ(against.longest_wait(urgency), stated_bound(limit, urgency))
                << "limit " << limit << ", urgency " << urgency;
        }
    }
}
