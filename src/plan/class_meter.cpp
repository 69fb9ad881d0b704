#include "class_meter.hpp"

#include "core/pool_layout.h"

#include <algorithm>

namespace flat::plan {

ClassMeter::ClassMeter(const Choices &choices) {
    for (const DemandRow &row : choices.beyond) beyond_.push_back(row.size);
    if (choices.by_count.empty()) return;
    for (const flat_class &each : choices.by_count[choices.best].classes)
        classes_.push_back({each, pool_alignment(each.block_size), 0, 0, false, {}, {}});
}

std::optional<std::size_t> ClassMeter::class_of(std::uint64_t size, std::uint64_t alignment) const {
    const std::uint64_t rounded = (size + FLAT_POOL_GRANULE - 1) / FLAT_POOL_GRANULE * FLAT_POOL_GRANULE;
    if (std::ranges::find(beyond_, rounded) != beyond_.end()) return std::nullopt;
    auto found =
        std::ranges::lower_bound(classes_, rounded, {}, [](const Class &each) { return each.declared.block_size; });
    while (found != classes_.end() && found->alignment < alignment) ++found;
    if (found == classes_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - classes_.begin());
}

void ClassMeter::take(std::uint64_t size, std::uint64_t alignment) {
    const std::optional<std::size_t> index = class_of(size, alignment);
    if (!index) {
        ++unserved_;
        return;
    }
    Class &each = classes_[*index];
    DemandRow &row = each.sizes.try_emplace(size, DemandRow{size, 0, 1}).first->second;
    ++row.count;
    row.alignment = std::max(row.alignment, alignment);
    if (++each.live <= each.peak) return;
    each.peak = each.live;
    each.at_peak = true;
}

void ClassMeter::give(std::uint64_t size, std::uint64_t alignment) {
    const std::optional<std::size_t> index = class_of(size, alignment);
    if (!index) return;
    Class &each = classes_[*index];
    if (each.at_peak) each.fullest = live_in(each);
    each.at_peak = false;
    --each.live;
    --each.sizes.find(size)->second.count;
}

std::vector<DemandRow> ClassMeter::live_in(const Class &each) {
    std::vector<DemandRow> rows;
    for (const auto &[size, row] : each.sizes)
        if (row.count > 0) rows.push_back(row);
    return rows;
}

void ClassMeter::finish() {
    std::erase_if(classes_, [](const Class &each) { return each.peak == 0; });
}

std::vector<flat_class> ClassMeter::classes() const {
    std::vector<flat_class> exact;
    for (const Class &each : classes_) exact.push_back({each.declared.block_size, each.peak});
    return exact;
}

std::vector<DemandRow> ClassMeter::demand() const {
    std::vector<DemandRow> all;
    for (const Class &each : classes_) {
        const std::vector<DemandRow> rows = each.at_peak ? live_in(each) : each.fullest;
        all.insert(all.end(), rows.begin(), rows.end());
    }
    return ordered(std::move(all));
}

} // namespace flat::plan
