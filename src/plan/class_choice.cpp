// The search. A pool is a partition of the ascending sizes into groups of neighbours: each group is a class. Each
// class's start is rounded up to a multiple of the span, a power of two (src/core/pool_setup.c), and the span depends
// on the whole pool. So:
//
//   - With a fixed span, the blocks of the first j sizes in c classes end earliest if those before the last class end
//     earliest, since rounding up and adding keep the order: end[c][j] follows from end[c-1][i], i < j.
//   - The pool takes the least span with which its blocks need no more spans than its map has entries. The number of
//     entries depends on the number of classes and blocks only. A greater span never makes the blocks end earlier. So
//     for each number of classes, the least span whose least end is few enough spans gives the least end of all.
//   - The metadata depend on the number of classes and blocks only.
#include "class_choice.hpp"

#include "core/pool_layout.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

namespace flat::plan {
namespace {

constexpr std::uint64_t unreachable = std::numeric_limits<std::uint64_t>::max();

/// Requests that no class boundary can separate: they are rounded up to the same size.
struct SizeStep {
    std::uint64_t size = 0;      // a multiple of the granule
    std::uint64_t count = 0;     // blocks, margin included
    std::uint64_t alignment = 1; // the largest asked for
};

std::uint64_t round_up(std::uint64_t value, std::uint64_t to) { return (value + to - 1) / to * to; }

/// The rows from `at` on that are rounded up to the same size.
std::span<const DemandRow> same_step(std::span<const DemandRow> rows, std::size_t at) {
    std::size_t end = at;
    while (end < rows.size() &&
           round_up(rows[end].size, FLAT_POOL_GRANULE) == round_up(rows[at].size, FLAT_POOL_GRANULE))
        ++end;
    return rows.subspan(at, end - at);
}

std::vector<SizeStep> steps_of(std::span<const DemandRow> rows, unsigned margin_percent,
                               std::vector<DemandRow> &beyond) {
    std::vector<SizeStep> steps;
    for (std::size_t at = 0; at < rows.size();) {
        const std::span<const DemandRow> same = same_step(rows, at);
        at += same.size();
        SizeStep step{round_up(same.front().size, FLAT_POOL_GRANULE), 0, 1};
        for (const DemandRow &row : same) {
            step.count += row.count;
            step.alignment = std::max(step.alignment, row.alignment);
        }
        step.count = with_margin(step.count, margin_percent);
        if (step.size > FLAT_POOL_MAX_BLOCK_SIZE || step.alignment > FLAT_POOL_MAX_ALIGNMENT ||
            step.count > FLAT_POOL_MAX_BLOCK_COUNT) {
            beyond.insert(beyond.end(), same.begin(), same.end());
        } else {
            steps.push_back(step);
        }
    }
    return steps;
}

/// The block size and block count of a class made of neighbouring steps.
struct ClassGroup {
    std::uint64_t size = 0, count = 0;
};

class Search {
  public:
    Search(const std::vector<SizeStep> &steps, std::size_t most) : steps_(steps), most_(std::min(most, steps.size())) {
        for (const SizeStep &step : steps_) {
            blocks_ += step.count;
            least_bytes_ += step.size * step.count;
        }
        found_.resize(most_ + 1);
    }

    /// The best classes for each number of classes that can serve all steps.
    std::vector<std::vector<flat_class>> run() {
        std::uint32_t shift = 4;
        while (least_bytes_ >> shift > flat_pool_map_length(FLAT_POOL_MAX_CLASSES, blocks_)) ++shift;
        // Once a span is so large that every padding fits, all numbers of classes are settled.
        for (bool all = false; !all; ++shift) {
            fill(shift);
            all = settle(shift);
        }
        std::erase_if(found_, [](const auto &classes) { return classes.empty(); });
        return std::move(found_);
    }

  private:
    std::uint64_t &end(std::size_t classes, std::size_t steps) { return ends_[classes * (steps_.size() + 1) + steps]; }
    std::size_t &before(std::size_t classes, std::size_t steps) {
        return befores_[classes * (steps_.size() + 1) + steps];
    }

    /// end[c][j]: the earliest end of the blocks of the first j steps, in c classes, with spans of 1 << shift bytes.
    void fill(std::uint32_t shift) {
        ends_.assign((most_ + 1) * (steps_.size() + 1), unreachable);
        befores_.assign(ends_.size(), 0);
        end(0, 0) = 0;
        for (std::size_t last = 1; last <= steps_.size(); ++last) extend(last, std::uint64_t{1} << shift);
    }

    /// Tries every class that ends with step `last - 1`. Each begins one step earlier than the one before. It has more
    /// blocks, which may be larger and more strictly aligned, until they are too many or it would also serve the next
    /// size.
    void extend(std::size_t last, std::uint64_t span) {
        ClassGroup group;
        std::uint64_t alignment = 1;
        for (std::size_t first = last; first-- > 0;) {
            alignment = std::max(alignment, steps_[first].alignment);
            group.size = round_up(steps_[last - 1].size, alignment);
            group.count += steps_[first].count;
            if (group.count > FLAT_POOL_MAX_BLOCK_COUNT) return;
            if (last < steps_.size() && group.size >= steps_[last].size) return;
            const std::uint64_t start_at = std::max(pool_alignment(group.size), span);
            for (std::size_t classes = 1; classes <= std::min(most_, first + 1); ++classes) {
                const std::uint64_t so_far = end(classes - 1, first);
                if (so_far == unreachable) continue;
                const std::uint64_t here = round_up(so_far, start_at) + group.size * group.count;
                if (here >= end(classes, last)) continue;
                end(classes, last) = here;
                before(classes, last) = first;
            }
        }
    }

    /// Keeps the pools that this span fits; returns whether none is left to look for.
    bool settle(std::uint32_t shift) {
        bool all = true;
        for (std::size_t classes = 1; classes <= most_; ++classes) {
            const std::uint64_t bytes = end(classes, steps_.size());
            if (!found_[classes].empty() || bytes == unreachable) continue;
            const std::uint64_t spans = round_up(bytes, std::uint64_t{1} << shift) >> shift;
            // The blocks of a single class end at the same place with any span.
            if (classes == 1 || spans <= flat_pool_map_length(classes, blocks_)) {
                found_[classes] = classes_of(classes);
            } else {
                all = false;
            }
        }
        return all;
    }

    std::vector<flat_class> classes_of(std::size_t count) {
        std::vector<flat_class> classes;
        std::size_t last = steps_.size();
        for (std::size_t left = count; left > 0; --left) {
            const std::size_t first = before(left, last);
            std::uint64_t alignment = 1, blocks = 0;
            for (std::size_t i = first; i < last; ++i) {
                alignment = std::max(alignment, steps_[i].alignment);
                blocks += steps_[i].count;
            }
            classes.push_back({round_up(steps_[last - 1].size, alignment), blocks});
            last = first;
        }
        std::ranges::reverse(classes);
        return classes;
    }

    const std::vector<SizeStep> &steps_;
    std::size_t most_;
    std::uint64_t blocks_ = 0, least_bytes_ = 0;
    std::vector<std::uint64_t> ends_;
    std::vector<std::size_t> befores_;
    std::vector<std::vector<flat_class>> found_; // by the number of classes
};

} // namespace

Choices choose_classes(std::span<const DemandRow> rows, unsigned margin_percent, std::size_t most) {
    if (rows.size() > most_sizes)
        throw std::runtime_error(
            fmt::format("{} sizes: classes are chosen for at most {}; round some up", rows.size(), most_sizes));
    Choices choices;
    const std::vector<SizeStep> steps = steps_of(rows, margin_percent, choices.beyond);
    if (steps.empty()) return choices;
    for (std::vector<flat_class> &classes : Search(steps, most).run()) {
        const std::uint64_t bytes = plan_pool(classes).bytes();
        choices.by_count.push_back({std::move(classes), bytes});
    }
    if (choices.by_count.empty())
        throw std::runtime_error(fmt::format(
            "{} classes of at most {} blocks each cannot hold the demand: allow more classes or plan two pools", most,
            FLAT_POOL_MAX_BLOCK_COUNT));
    const auto best = std::ranges::min_element(choices.by_count, {}, &Choice::bytes);
    choices.best = static_cast<std::size_t>(best - choices.by_count.begin());
    return choices;
}

PoolPlan with_other_margin(const PoolPlan &pool, std::span<const DemandRow> rows, unsigned margin_percent) {
    std::vector<DemandRow> beyond;
    std::vector<DemandRow> planned;
    for (const SizeStep &step : steps_of(rows, margin_percent, beyond))
        planned.push_back({step.size, step.count, step.alignment});
    if (!beyond.empty())
        throw std::runtime_error("a class would need more blocks than it can have: give a smaller margin");
    const Fit taken = fit(pool, planned);
    std::vector<flat_class> classes;
    for (std::size_t i = 0; i < pool.classes.size(); ++i) {
        if (taken.loads[i].live > 0) classes.push_back({pool.classes[i].declared.block_size, taken.loads[i].live});
    }
    return plan_pool(classes);
}

} // namespace flat::plan
