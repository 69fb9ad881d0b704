#include "plan.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>

#include <fmt/format.h>

namespace flat::plan {
namespace {

void require_whole(const Declaration &declaration) {
    if (!declaration.classes.empty() && !declaration.shares.empty())
        throw std::runtime_error("classes and shares exclude each other: give either counts or percents of a budget");
    if (declaration.shares.empty() != (declaration.budget == 0))
        throw std::runtime_error("shares and the bytes that they divide go together: give both or neither");
}

/// The chosen classes with this and with other margins, to show what bytes buy.
std::vector<Margin> margins_of(const PoolPlan &pool, std::span<const DemandRow> served, unsigned chosen) {
    constexpr std::array<unsigned, 6> usual{0, 10, 20, 50, 100, 200};
    std::vector<unsigned> percents(usual.begin(), usual.end());
    if (std::ranges::find(percents, chosen) == percents.end()) percents.push_back(chosen);
    std::ranges::sort(percents);
    std::vector<Margin> margins;
    for (const unsigned percent : percents) {
        try {
            const PoolPlan other = with_other_margin(pool, served, percent);
            margins.push_back({percent, other.bytes(), fit(other, served).growth});
        } catch (const std::runtime_error &) {
            break; // a class would have too many blocks, as it would with every greater margin
        }
    }
    return margins;
}

void recommend(Plan &plan, const Wishes &wishes) {
    plan.choice =
        Recommendation{wishes.margin_percent, choose_classes(plan.demand, wishes.margin_percent, wishes.most_classes)};
    const Choices &choices = plan.choice->choices;
    if (choices.by_count.empty()) return;
    plan.pool = plan_pool(choices.by_count[choices.best].classes);
    std::vector<DemandRow> served = plan.demand;
    std::erase_if(served,
                  [&](const DemandRow &row) { return std::ranges::find(choices.beyond, row) != choices.beyond.end(); });
    plan.margins = margins_of(*plan.pool, served, wishes.margin_percent);
}

} // namespace

void require_legal(const Arena &arena) {
    if (arena.bytes == 0 || arena.bytes > most_bytes)
        throw std::runtime_error(fmt::format("an arena of {} bytes: give 1 to {}", arena.bytes, most_bytes));
    if (!std::has_single_bit(arena.alignment) || arena.alignment > most_alignment)
        throw std::runtime_error(
            fmt::format("an arena aligned to {}: give a power of two up to {}", arena.alignment, most_alignment));
}

HeapPlan plan_heap(const flat_heap_demand &demand) {
    if (demand.smallest == 0 || demand.smallest > demand.largest || demand.largest > demand.live)
        throw std::runtime_error(
            fmt::format("a heap for {} bytes live in requests of {} to {}: give 1 <= smallest <= largest <= live",
                        demand.live, demand.smallest, demand.largest));
    if (demand.alignment > most_alignment || (demand.alignment & (demand.alignment - 1)) != 0)
        throw std::runtime_error(fmt::format("a heap with requests aligned to {}: give a power of two up to {}",
                                             demand.alignment, most_alignment));
    HeapPlan heap{demand, 0, {}};
    std::size_t bytes = 0;
    if (flat_heap_bound(&demand, &bytes) != FLAT_OK || flat_heap_footprint(bytes, &heap.footprint) != FLAT_OK)
        throw std::runtime_error(
            fmt::format("a heap for {} bytes live in requests of {} to {}, aligned to {}, would "
                        "be over {} bytes: give fewer bytes, requests nearer in size or a smaller alignment",
                        demand.live, demand.smallest, demand.largest, std::max<std::size_t>(demand.alignment, 1),
                        FLAT_HEAP_MAX_BYTES));
    heap.bytes = bytes;
    heap.footprint.block_alignment = std::max(heap.footprint.block_alignment, demand.alignment);
    return heap;
}

void require_something(const Declaration &declaration) {
    if (declaration.classes.empty() && declaration.shares.empty() && !declaration.arena && !declaration.heap &&
        !declaration.engine && declaration.demand.empty())
        throw std::runtime_error(
            "nothing to plan: declare classes (--class), shares, an arena, a heap, an engine or the sizes you expect");
}

Plan make_plan(const Declaration &declaration, const Wishes &wishes) {
    require_something(declaration);
    require_whole(declaration);
    Plan plan;
    plan.demand = ordered(declaration.demand);
    if (plan.demand.empty() && !declaration.demand.empty())
        throw std::runtime_error("no block is live: give at least one size and count");
    plan.arena = declaration.arena;
    if (plan.arena) require_legal(*plan.arena);
    if (declaration.heap) plan.heap = plan_heap(*declaration.heap);
    if (declaration.engine) {
        plan.declared_engine = *declaration.engine;
        plan.engine = plan_engine(EngineOptions(*declaration.engine).get(), use_of(*declaration.engine));
    }
    if (!declaration.classes.empty()) {
        plan.pool = plan_pool(declaration.classes);
    } else if (!declaration.shares.empty()) {
        plan.budget = declaration.budget;
        plan.pool = plan_pool(classes_from_shares(declaration.budget, declaration.shares));
    } else if (!plan.demand.empty()) {
        recommend(plan, wishes);
    }
    if (plan.pool && !plan.demand.empty()) plan.fit = fit(*plan.pool, plan.demand);
    return plan;
}

} // namespace flat::plan
