// Checks runs of units against a plain map of the free units: after every step the lists hold the longest free runs
// there are, each once.
extern "C" {
#include "runs.h"
}

#include "core/environment.hpp"
#include "core/random_source.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <new>
#include <set>
#include <sys/mman.h>
#include <vector>

namespace {

constexpr std::uint32_t units_in_all = 640;
constexpr run_bounds bounds{0, units_in_all};

// The tables of a set of `count` units.
class tables {
  public:
    explicit tables(std::size_t count) : units_(count), long_runs_(count / LONG_RUN + 1), bits_(count / 64 + 1) {}
    run_tables all() { return {units_.data(), long_runs_.data(), bits_.data()}; }

  private:
    std::vector<unit> units_;
    std::vector<long_run> long_runs_;
    std::vector<std::uint64_t> bits_;
};

struct model {
    tables of{units_in_all};
    run_set runs{};
    std::vector<bool> free = std::vector<bool>(units_in_all, false);
    std::vector<bool> dirty = std::vector<bool>(units_in_all, false);
    std::map<std::uint32_t, std::uint32_t> used; // first unit: count

    model() {
        flat_runs_init(&runs, of.all());
        give(0, units_in_all, UNIT_CLEAN);
    }

    [[nodiscard]] const unit &at(std::uint32_t head) const { return *flat_run(&runs, head); }

    void give(std::uint32_t head, std::uint32_t count, unit_state state) {
        const std::uint32_t first = flat_runs_give(&runs, head, {count, state}, bounds);
        set(head, count, true);
        if (state != UNIT_MIXED) std::fill_n(dirty.begin() + head, count, state == UNIT_DIRTY);
        EXPECT_TRUE(first <= head && at(first).is_free && first + at(first).count >= head + count);
    }

    void set(std::uint32_t head, std::uint32_t count, bool to) { std::fill_n(free.begin() + head, count, to); }

    // The longest free runs, by their first units.
    [[nodiscard]] std::map<std::uint32_t, std::uint32_t> free_runs() const {
        std::map<std::uint32_t, std::uint32_t> found;
        for (std::uint32_t at = 0; at < units_in_all; at++) {
            if (!free[at]) continue;
            std::uint32_t end = at;
            while (end < units_in_all && free[end]) end++;
            found[at] = end - at;
            at = end;
        }
        return found;
    }

    [[nodiscard]] std::map<std::uint32_t, std::uint32_t> listed_runs() const {
        std::map<std::uint32_t, std::uint32_t> found;
        for (std::size_t list = 0; list < RUN_LISTS; list++) {
            const bool occupied = (runs.occupied[list / 64] >> list % 64 & 1) != 0;
            EXPECT_EQ(occupied, runs.lists[list] != NO_UNIT);
            std::uint32_t before = NO_UNIT;
            for (std::uint32_t head = runs.lists[list]; head != NO_UNIT; head = at(head).next) {
                EXPECT_EQ(at(head).previous, before);
                before = head;
                EXPECT_TRUE(found.emplace(head, at(head).count).second) << "listed twice";
                std::uint32_t count = 0;
                for (std::uint32_t i = head; i < head + at(head).count; i++) {
                    EXPECT_EQ((runs.in.dirty_bits[i / 64] >> i % 64 & 1) != 0, dirty[i]) << i;
                    if (dirty[i]) count++;
                }
                EXPECT_EQ(at(head).dirty, count);
                if (count != 0 && at(head).count > 1) {
                    EXPECT_EQ(at(head).first_dirty, first_that_is(true, head, head + at(head).count)) << head;
                }
            }
        }
        return found;
    }

    [[nodiscard]] std::uint32_t first_that_is(bool sought, std::uint32_t at, std::uint32_t end) const {
        while (at < end && dirty[at] != sought) at++;
        return at;
    }

    // The queue holds each run with dirty units once, and the counts match the lists.
    void expect_counts(const std::map<std::uint32_t, std::uint32_t> &listed) const {
        std::uint32_t all = 0, all_dirty = 0;
        std::set<std::uint32_t> with_dirt, queued;
        for (const auto &[head, count] : listed) {
            all += count;
            all_dirty += at(head).dirty;
            if (at(head).dirty != 0) with_dirt.insert(head);
        }
        std::uint32_t older = NO_UNIT;
        for (std::uint32_t head = runs.oldest; head != NO_UNIT; head = at(head).queue.newer) {
            EXPECT_EQ(at(head).queue.older, older);
            older = head;
            EXPECT_TRUE(queued.insert(head).second) << "queued twice";
        }
        EXPECT_EQ(runs.newest, older);
        EXPECT_EQ(queued, with_dirt);
        EXPECT_EQ(runs.free, all);
        EXPECT_EQ(runs.dirty, all_dirty);
    }

    // The first unit of each used run has its count, and no used run passes for a free one.
    void expect_used() const {
        for (const auto &[head, count] : used) {
            EXPECT_TRUE(!at(head).is_free && at(head).count == count) << head;
            EXPECT_EQ(flat_runs_ending(&runs, head + count - 1), NO_UNIT) << head;
        }
    }

    // Whether a free run must serve: one an eighth longer or, up to 16 units, as long.
    [[nodiscard]] bool must_serve(std::uint32_t count) const {
        const auto found = free_runs();
        return std::any_of(found.begin(), found.end(),
                           [&](const auto &run) { return run.second >= (count <= 16 ? count : count + count / 8); });
    }

    void take(std::uint32_t count) {
        const bool must = must_serve(count);
        unit_state state{};
        const std::uint32_t head = flat_runs_take(&runs, count, &state);
        if (head == NO_UNIT) {
            EXPECT_FALSE(must) << count;
            return;
        }
        EXPECT_EQ(at(head).count, count);
        bool any_dirty = false;
        for (std::uint32_t i = 0; i < count; i++) {
            EXPECT_TRUE(free[head + i]);
            any_dirty = any_dirty || dirty[head + i];
        }
        EXPECT_EQ(state, any_dirty ? UNIT_DIRTY : UNIT_CLEAN);
        set(head, count, false);
        used[head] = count;
    }

    // A run that is long enough serves by its first units, whatever list it is in.
    void take_first(std::uint32_t head, std::uint32_t length, std::uint32_t count) {
        EXPECT_EQ(flat_runs_ending(&runs, head + length - 1), head);
        if (length < count) return;
        const bool any_dirty = first_that_is(true, head, head + count) != head + count;
        EXPECT_EQ(flat_runs_take_first(&runs, head, count), any_dirty ? UNIT_DIRTY : UNIT_CLEAN);
        set(head, count, false);
        used[head] = count;
    }

    void take_aligned(std::uint32_t count, run_alignment alignment) {
        const bool must = must_serve(count + alignment.to - 1);
        const std::uint32_t head = flat_runs_take_aligned(&runs, count, alignment);
        if (head == NO_UNIT) {
            EXPECT_FALSE(must) << count;
            return;
        }
        EXPECT_EQ((head + alignment.bias) % alignment.to, 0U);
        EXPECT_EQ(at(head).count, count);
        for (std::uint32_t i = 0; i < count; i++) EXPECT_TRUE(free[head + i]);
        set(head, count, false);
        used[head] = count;
    }

    void find_clean_part(std::uint32_t from, std::uint32_t end) const {
        const std::uint32_t first = first_that_is(false, from, end), behind = first_that_is(true, first, end);
        const run_part found = flat_runs_clean_part(&runs, from, end);
        EXPECT_EQ(found.first, first);
        EXPECT_EQ(found.count, behind - first);
    }

    void cut(std::map<std::uint32_t, std::uint32_t>::iterator run, std::uint32_t before, std::uint32_t count) {
        const auto [head, all] = *run;
        const unit_state state = (before + count) % 2 == 0 ? UNIT_CLEAN : UNIT_DIRTY;
        flat_runs_cut(&runs, head, {before, count, state}, bounds);
        used.erase(run);
        used[head + before] = count;
        set(head, all, true);
        for (std::uint32_t i = 0; i < all; i++) {
            if (i < before || i >= before + count) dirty[head + i] = state == UNIT_DIRTY;
        }
        set(head + before, count, false);
    }

    // Splits a used run into two.
    void part(std::map<std::uint32_t, std::uint32_t>::iterator run, std::uint32_t before) {
        const auto [head, all] = *run;
        flat_runs_part(&runs, head + before);
        flat_runs_set_used(&runs, head, before);
        flat_runs_set_used(&runs, head + before, all - before);
        run->second = before;
        used[head + before] = all - before;
    }

    void extend(std::map<std::uint32_t, std::uint32_t>::iterator run, std::uint32_t more) {
        const std::uint32_t behind = run->first + run->second;
        bool possible = behind + more <= units_in_all;
        for (std::uint32_t i = 0; possible && i < more; i++) possible = free[behind + i];
        EXPECT_EQ(flat_runs_extend(&runs, run->first, more, bounds), possible);
        if (!possible) return;
        EXPECT_EQ(at(run->first).count, run->second + more);
        set(behind, more, false);
        run->second += more;
    }

    // Makes the first clean units of a free run dirty.
    void make_dirty(std::uint32_t first, std::uint32_t most) {
        std::uint32_t count = 0;
        while (count < most && first + count < units_in_all && free[first + count] && !dirty[first + count]) count++;
        EXPECT_EQ(flat_runs_make_dirty(&runs, first, most), count);
        std::fill_n(dirty.begin() + first, count, true);
    }

    // Units taken for cleaning are dirty, and are given back clean.
    void clean(std::uint32_t most) {
        const std::uint32_t before = runs.dirty;
        const run_part part = flat_runs_take_dirty(&runs, most);
        EXPECT_EQ(part.count == 0, before == 0);
        EXPECT_LE(part.count, most);
        if (part.count == 0) return;
        EXPECT_EQ(at(part.first).count, part.count);
        for (std::uint32_t i = 0; i < part.count; i++) EXPECT_TRUE(free[part.first + i] && dirty[part.first + i]);
        give(part.first, part.count, UNIT_CLEAN);
        EXPECT_EQ(runs.dirty, before - part.count);
    }
};

TEST(malloc_runs, are_what_a_plain_map_says_after_every_step) {
    const std::uint64_t seed = test::seed();
    SCOPED_TRACE(testing::Message() << "FLATLINE_TEST_SEED=" << seed);
    test::random_source random(seed);
    model m;
    for (std::size_t step = 0; step < test::scaled(20000); step++) {
        const auto below = [&](std::size_t end) { return static_cast<std::uint32_t>(random.below(end)); };
        const std::uint32_t what = below(17);
        const std::uint32_t count = below(2) == 0 ? 1 + below(20) : 1 + below(150);
        auto run = m.used.begin();
        if (!m.used.empty()) std::advance(run, below(m.used.size()));
        if (what < 4 || m.used.empty()) {
            m.take(count);
        } else if (what < 7) {
            const auto [head, all] = *run;
            m.used.erase(run);
            m.give(head, all, std::array{UNIT_CLEAN, UNIT_DIRTY, UNIT_MIXED}[below(3)]);
        } else if (what < 8) {
            const std::uint32_t before = below(run->second);
            m.cut(run, before, 1 + below(run->second - before));
        } else if (what < 10) {
            m.extend(run, count);
        } else if (what < 11) {
            m.clean(count);
        } else if (what < 13) {
            const std::uint32_t to = 1U << below(6);
            m.take_aligned(count, {to, below(to)});
        } else if (what < 14) {
            const std::uint32_t from = below(units_in_all);
            m.find_clean_part(from, from + below(units_in_all - from + 1));
        } else if (what < 15) {
            if (run->second > 1) m.part(run, 1 + below(run->second - 1));
        } else if (const auto found = m.free_runs(); !found.empty() && what < 16) {
            const auto [head, length] = *std::next(found.begin(), below(found.size()));
            m.take_first(head, length, count);
        } else if (!found.empty()) {
            m.make_dirty(std::next(found.begin(), below(found.size()))->first, count);
        }
        const auto listed = m.listed_runs();
        ASSERT_EQ(listed, m.free_runs()) << "step " << step;
        m.expect_counts(listed);
        m.expect_used();
        ASSERT_FALSE(testing::Test::HasFailure()) << "step " << step;
    }
}

// flat_runs_take() promises to find a run of up to 16 units, or one that is an eighth longer than the request.
TEST(malloc_runs, that_are_an_eighth_longer_are_found) {
    for (std::uint32_t count = 1; count <= units_in_all / 2; count++) {
        const std::uint32_t longer = count <= 16 ? count : count + count / 8;
        tables of(longer);
        run_set runs;
        flat_runs_init(&runs, of.all());
        flat_runs_give(&runs, 0, {longer, UNIT_CLEAN}, {0, longer});
        unit_state state{};
        EXPECT_EQ(flat_runs_take(&runs, count, &state), 0U) << count;
    }
}

// Dirty units are taken before clean ones that fit better, if some of them became free last; but a few are not taken
// from very many.
TEST(malloc_runs, whose_memory_is_there_are_taken_first) {
    constexpr std::uint32_t clean = 0, dirty = 100, fits = 200, many = 300, few = 3;
    const auto taken = [](std::uint32_t count, run_alignment alignment) {
        model m;
        m.take(units_in_all);
        m.used.clear();
        for (const std::uint32_t first : {clean, dirty, fits}) {
            flat_runs_set_used(&m.runs, first, first == dirty ? 90 : 20);
            m.give(first, first == dirty ? 90 : 20, first == clean ? UNIT_CLEAN : UNIT_DIRTY);
        }
        if (count == few) {
            flat_runs_set_used(&m.runs, many, few * 100);
            m.give(many, few * 100, UNIT_DIRTY);
        }
        if (count != 19) m.take_first(fits, 20, 20);
        return flat_runs_take_aligned(&m.runs, count, alignment);
    };
    EXPECT_EQ(taken(20, {1, 0}), dirty);
    EXPECT_EQ(taken(20, {32, 0}), 128U);
    EXPECT_EQ(taken(19, {1, 0}), fits);
    EXPECT_EQ(taken(few, {1, 0}), clean);
}

TEST(malloc_runs, that_are_used_are_not_made_dirty) {
    model m;
    m.take(units_in_all / 2);
    EXPECT_EQ(flat_runs_make_dirty(&m.runs, 0, 5), 0U);
    EXPECT_EQ(m.runs.dirty, 0U);
}

// A table of which only the written parts take memory.
template <typename Entry> class sparse_table {
  public:
    explicit sparse_table(std::size_t count)
        : bytes_(count * sizeof(Entry)),
          start_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
        if (start_ == MAP_FAILED) throw std::bad_alloc();
    }
    ~sparse_table() { (void)munmap(start_, bytes_); }
    sparse_table(const sparse_table &) = delete;
    sparse_table &operator=(const sparse_table &) = delete;
    Entry *data() { return static_cast<Entry *>(start_); }

  private:
    std::size_t bytes_;
    void *start_;
};

TEST(malloc_runs, of_every_length_can_be_given_and_taken) {
    for (const std::uint32_t count : {1U, 16U, 17U, 18U, 31U, 32U, 1023U, 1024U, 65535U, RUN_MAX - 1, RUN_MAX}) {
        sparse_table<unit> units(count);
        sparse_table<long_run> runs_of_many(count / LONG_RUN + 1);
        sparse_table<std::uint64_t> bits(count / 64 + 1);
        run_set runs;
        flat_runs_init(&runs, {units.data(), runs_of_many.data(), bits.data()});
        flat_runs_give(&runs, 0, {count, UNIT_CLEAN}, {0, count});
        const std::uint32_t served = count <= 16 ? count : count - count / 9;
        unit_state state{};
        EXPECT_EQ(flat_runs_take(&runs, served, &state), 0U) << count;
        EXPECT_EQ(state, UNIT_CLEAN);
    }
}

// Long runs are described in a table of their own: no unit's entry is written for them.
TEST(malloc_runs, of_many_units_leave_the_units_alone) {
    model m;
    while (!m.free_runs().empty()) m.take(LONG_RUN);
    ASSERT_EQ(m.used.size(), units_in_all / LONG_RUN);
    for (const auto &[head, count] : m.used) m.give(head, count, UNIT_DIRTY);
    const unit untouched{};
    for (std::uint32_t i = 0; i < units_in_all; i++) {
        EXPECT_EQ(std::memcmp(&m.runs.in.units[i], &untouched, sizeof untouched), 0) << i;
    }
}

TEST(malloc_runs, merge_with_nothing_outside_their_bounds) {
    tables of(30);
    run_set runs;
    flat_runs_init(&runs, of.all());
    flat_runs_give(&runs, 0, {10, UNIT_CLEAN}, {0, 10});
    flat_runs_give(&runs, 20, {10, UNIT_CLEAN}, {20, 30});
    flat_runs_give(&runs, 10, {10, UNIT_CLEAN}, {10, 20});
    unit_state state{};
    EXPECT_EQ(flat_runs_take(&runs, 11, &state), NO_UNIT);
}

} // namespace
