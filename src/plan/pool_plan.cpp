#include "pool_plan.hpp"

#include "core/pool_layout.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include <fmt/format.h>

namespace flat::plan {
namespace {

std::uint64_t round_up(std::uint64_t value, std::uint64_t to) { return (value + to - 1) / to * to; }

/// Refuses what the pool would refuse, but says which class it was.
template <typename Sized> void require_sizes(const std::vector<Sized> &ascending) {
    if (ascending.empty()) throw std::runtime_error("no class: declare at least one, such as 64:1000");
    if (ascending.size() > FLAT_POOL_MAX_CLASSES)
        throw std::runtime_error(fmt::format(
            "{} classes: a pool has at most {}; leave some out, and the next larger class serves their requests",
            ascending.size(), FLAT_POOL_MAX_CLASSES));
    for (std::size_t i = 0; i < ascending.size(); ++i) {
        const std::uint64_t size = ascending[i].block_size;
        if (size == 0 || size > FLAT_POOL_MAX_BLOCK_SIZE)
            throw std::runtime_error(fmt::format("a class of {} bytes: give 1 to {}", size, FLAT_POOL_MAX_BLOCK_SIZE));
        if (i > 0 && round_up(ascending[i - 1].block_size, FLAT_POOL_GRANULE) >= round_up(size, FLAT_POOL_GRANULE))
            throw std::runtime_error(fmt::format("classes of {} and {} bytes: both are rounded up to {}, so make them "
                                                 "one",
                                                 ascending[i - 1].block_size, size, round_up(size, FLAT_POOL_GRANULE)));
    }
}

void require_counts(const std::vector<flat_class> &classes) {
    for (const flat_class &each : classes) {
        if (each.block_count == 0 || each.block_count > FLAT_POOL_MAX_BLOCK_COUNT)
            throw std::runtime_error(fmt::format("{} blocks of {} bytes: give 1 to {}", each.block_count,
                                                 each.block_size, FLAT_POOL_MAX_BLOCK_COUNT));
    }
}

const PlannedClass *class_for(const PoolPlan &pool, const DemandRow &row) {
    const auto serves = [&](const PlannedClass &each) {
        return each.size >= row.size && each.alignment >= row.alignment;
    };
    const auto found = std::ranges::find_if(pool.classes, serves);
    return found == pool.classes.end() ? nullptr : &*found;
}

/// Whether class `a` runs out before class `b`: its capacity over its demand is less. No overflow: a class has at most
/// 2^24 blocks, and at most most_live are requested.
bool sooner(const PoolPlan &pool, const Fit &fit, std::size_t a, std::size_t b) {
    return pool.classes[a].declared.block_count * fit.loads[b].live <
           pool.classes[b].declared.block_count * fit.loads[a].live;
}

void find_first(const PoolPlan &pool, Fit &fit) {
    for (std::size_t i = 0; i < pool.classes.size(); ++i) {
        if (fit.loads[i].live == 0) continue;
        if (!fit.first.empty() && sooner(pool, fit, i, fit.first.front())) fit.first.clear();
        if (fit.first.empty() || !sooner(pool, fit, fit.first.front(), i)) fit.first.push_back(i);
    }
    if (!fit.unserved.empty() || fit.first.empty()) return;
    fit.growth = static_cast<double>(pool.classes[fit.first.front()].declared.block_count) /
                 static_cast<double>(fit.loads[fit.first.front()].live);
}

} // namespace

std::uint64_t PoolPlan::blocks() const {
    return std::accumulate(classes.begin(), classes.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const PlannedClass &each) { return sum + each.declared.block_count; });
}

std::uint64_t PoolPlan::buffer_bytes() const {
    return round_up(footprint.block_bytes, footprint.metadata_alignment) + footprint.metadata_bytes;
}

PoolPlan plan_pool(std::vector<flat_class> classes) {
    std::ranges::sort(classes, {}, &flat_class::block_size);
    require_sizes(classes);
    require_counts(classes);
    PoolPlan pool;
    flat_pool_options options{};
    options.classes = classes.data();
    options.class_count = classes.size();
    pool_layout place;
    if (flat_pool_footprint(&options, &pool.footprint) != FLAT_OK ||
        !flat_pool_lay_out(&place, classes.data(), classes.size()))
        throw std::runtime_error(fmt::format("the pool would be over {} bytes: give fewer blocks", most_bytes));
    std::uint64_t end = 0;
    for (std::size_t i = 0; i < classes.size(); ++i) {
        const std::uint64_t size = round_up(classes[i].block_size, FLAT_POOL_GRANULE);
        pool.classes.push_back(
            {classes[i], size, pool_alignment(size), place.class_start[i], place.class_start[i] - end});
        pool.padding += pool.classes.back().padding;
        end = place.class_start[i] + pool.classes.back().bytes();
    }
    return pool;
}

std::vector<flat_class> classes_from_shares(std::uint64_t bytes, std::vector<flat_share> shares) {
    std::ranges::sort(shares, {}, &flat_share::block_size);
    require_sizes(shares);
    unsigned total = 0;
    for (const flat_share &share : shares) {
        if (share.percent == 0 || share.percent > 100)
            throw std::runtime_error(
                fmt::format("a share of {} % for {} bytes: give 1 to 100", share.percent, share.block_size));
        total += share.percent;
    }
    if (total != 100) throw std::runtime_error(fmt::format("the shares come to {} %: make them 100", total));
    std::vector<flat_class> classes(shares.size());
    switch (flat_classes_from_shares(bytes, shares.data(), shares.size(), classes.data())) {
    case FLAT_OK: return classes;
    case FLAT_OUT_OF_MEMORY:
        throw std::runtime_error(
            fmt::format("{} bytes are too few for one block of each class: give more bytes or fewer classes", bytes));
    default:
        throw std::runtime_error(
            fmt::format("a share holds more than the {} blocks that a class can have: give fewer bytes or more classes",
                        FLAT_POOL_MAX_BLOCK_COUNT));
    }
}

Fit fit(const PoolPlan &pool, std::span<const DemandRow> rows) {
    Fit found;
    found.loads.resize(pool.classes.size());
    for (const DemandRow &row : rows) {
        const PlannedClass *serving = class_for(pool, row);
        if (serving == nullptr) {
            found.unserved.push_back(row);
            continue;
        }
        Load &load = found.loads[static_cast<std::size_t>(serving - pool.classes.data())];
        load.live += row.count;
        load.requested += row.size * row.count;
        found.requested += row.size * row.count;
        found.waste += (serving->size - row.size) * row.count;
    }
    find_first(pool, found);
    return found;
}

} // namespace flat::plan
